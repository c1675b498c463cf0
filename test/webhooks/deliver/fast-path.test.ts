import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvents } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createWaitBudget } from '#src/webhooks/deliver/wait-budget.ts';
import { quick } from '#src/webhooks/pacing/concurrency-limit.ts';
import { createSlots, type Full, type Slot } from '#src/webhooks/pacing/slots.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { draftOf, type Engine, startEngine } from '../harness/engine.ts';
import { untilAtRest, untilDispatcherWaits } from '../harness/fast-path.ts';
import { type Killable, spawnWorker } from '../harness/spawn-worker.ts';
import { isFastPathOff } from '../harness/test-settings.ts';

/** For tests about deliveries that take the fast path. */
const testFast = test.skipIf(isFastPathOff);

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;
const children: Killable[] = [];

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  ({ endpointUid: uid } = await engine.addEndpoint(receiver.url));
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await engine.close();
  await receiver.close();
});

const finished = async (count: number): Promise<boolean> =>
  (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === count;

const knownCount = 4;

/** Delivers some events, so that the endpoint is known to answer and may have several attempts at once. */
const becomeKnown = async (): Promise<void> => {
  for (let count = 1; count <= knownCount; count += 1) {
    await engine.record({ entity: `cus_known_${count}`, seq: 1 });
    await until(() => finished(count));
  }
  await untilAtRest(engine);
};

/**
 * Returns whether the delivery of this entity was leased in the transaction that inserted it, or claimed afterwards.
 */
const wayOf = async (entity: string): Promise<'leased' | 'claimed' | undefined> => {
  const { rows } = await sql<{ same: boolean }>`
    select delivery.xmin = placed.xmin as same from webhooks.deliveries as delivery
    join outbox.places as placed using (event_id)
    where delivery.entity = ${entity} and lease_until is not null`.execute(engine.db);
  return rows[0] === undefined ? undefined : rows[0].same ? 'leased' : 'claimed';
};

const entityOf = (body: string): string => (JSON.parse(body) as { customer: { uid: string } }).customer.uid;
const receivedOf = (entity: string) => receiver.received.filter(({ body }) => entityOf(body) === entity);
const arrived = (entity: string) => () => receivedOf(entity).length > 0;

testFast(
  'the fast deliveries of a killed worker are sent again within 30 s, in sequence and under the same webhook-id',
  async () => {
    const child = spawnWorker('deliver', engine.url, engine.masterKey.toString('base64'));
    children.push(child);
    await becomeKnown();
    receiver.behave(() => undefined);
    await engine.record({ entity: 'cus_1', seq: 1 });
    await until(arrived('cus_1'));
    expect(await wayOf('cus_1')).toBe('leased');
    await engine.record({ entity: 'cus_1', seq: 2 });
    await until(async () => (await engine.deliveries()).length === knownCount + 2);
    // A live worker looks at the endpoint within seconds, although no new event comes for it.
    const { rows } = await sql<{ soon: boolean }>`
    select due_at <= now() + interval '5 seconds' as soon from webhooks.ready where endpoint_uid = ${uid}`.execute(
      engine.db,
    );
    expect(rows).toEqual([{ soon: true }]);
    await child.kill();

    receiver.behave(status(204));
    engine.startWorker();
    engine.advance(30_000);
    await until(() => finished(knownCount + 2));
    const ofEntity = receivedOf('cus_1');
    expect(ofEntity.map(({ body }) => (JSON.parse(body) as { seq: number }).seq)).toEqual([1, 1, 2]);
    for (const name of ['webhook-id', 'x-orderpass-delivery', 'x-orderpass-attempt'])
      expect(ofEntity[1]?.headers[name]).toBe(ofEntity[0]?.headers[name]);
  },
);

testFast(
  'the leases of fast deliveries are returned when their worker stops, so that the next one sends at once',
  async () => {
    const stop = engine.startWorker();
    await becomeKnown();
    receiver.behave(() => undefined);
    await engine.record({ entity: 'cus_1', seq: 1 });
    await until(arrived('cus_1'));
    expect(await wayOf('cus_1')).toBe('leased');
    await stop();
    receiver.behave(status(204));
    engine.startWorker();
    await until(() => finished(knownCount + 1));
  },
);

test('A-138 of two events of one entity in one batch the second is not sent before the first was answered', async () => {
  const worker = engine.startWorker();
  await becomeKnown();
  let answer: (() => void) | undefined;
  receiver.behave((response, { body }) => {
    const end = (): void => void response.writeHead(204).end();
    if (entityOf(body) === 'cus_twice' && answer === undefined) answer = end;
    else end();
  });
  const twice = { entity: 'cus_twice' };
  await inTransaction(engine.db, (tx) =>
    recordEvents(tx, [
      draftOf({ ...twice, seq: 1 }, engine.clock.now()),
      draftOf({ ...twice, seq: 2 }, engine.clock.now()),
    ]),
  );
  await until(() => answer !== undefined);
  await engine.record({ entity: 'cus_later', seq: 1 });
  await until(arrived('cus_later'));
  expect(receivedOf('cus_twice')).toHaveLength(1);
  answer?.();
  await until(() => finished(knownCount + 3));
  expect(receivedOf('cus_twice').map(({ body }) => (JSON.parse(body) as { seq: number }).seq)).toEqual([1, 2]);
  await worker();
});

test('deliveries to an endpoint with a rate and to one that the breaker holds are claimed', async () => {
  engine.startWorker();
  await becomeKnown();
  receiver.behave(() => undefined);
  await sql`update webhooks.endpoints set max_per_second = 1000 where uid = ${uid}`.execute(engine.db);
  await engine.record({ entity: 'cus_paced', seq: 1 });
  await until(arrived('cus_paced'));
  expect(await wayOf('cus_paced')).toBe('claimed');

  await sql`update webhooks.endpoints set max_per_second = null where uid = ${uid}`.execute(engine.db);
  await sql`update webhooks.endpoint_health set failures_count = 20, failing_since = ${engine.clock.now()}
    where endpoint_uid = ${uid}`.execute(engine.db);
  await engine.record({ entity: 'cus_probe', seq: 1 });
  await until(arrived('cus_probe'));
  expect(await wayOf('cus_probe')).toBe('claimed');
});

/**
 * Records an event for the endpoint, whose schedule is due, and keeps claims away from it until the dispatcher has read that.
 * `onLocked`: called when no claim can reach the endpoint any more.
 */
const recordWhileDue = async (
  entity: string,
  onLocked: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> => {
  await sql`update webhooks.ready set due_at = ${engine.clock.now()} where endpoint_uid = ${uid}`.execute(engine.db);
  const client = await engine.pool.connect();
  try {
    await client.query('begin');
    await client.query('select from webhooks.ready where endpoint_uid = $1 for no key update', [uid]);
    await onLocked();
    await engine.record({ entity, seq: 1 });
    await untilDispatcherWaits(engine);
    expect(receivedOf(entity)).toEqual([]);
    await client.query('commit');
  } finally {
    client.release(true);
  }
  await until(arrived(entity));
};

testFast('a delivery is leased although the schedule of its endpoint is due, when no earlier one is', async () => {
  engine.startWorker();
  await becomeKnown();
  receiver.behave(() => undefined);
  await recordWhileDue('cus_alone');
  expect(await wayOf('cus_alone')).toBe('leased');
});

test('a delivery goes behind an earlier one that is due at its endpoint', async () => {
  engine.startWorker({ settings: { endpoint_concurrency_max: 1 } });
  await becomeKnown();
  await recordWhileDue('cus_behind', () =>
    sql`
      update webhooks.deliveries set state = 'pending', next_attempt_at = ${engine.clock.now()}, finished = null
      where entity = 'cus_known_1'`.execute(engine.db),
  );
  await until(() => receiver.received.length === knownCount + 2);
  const last = receiver.received.slice(knownCount).map(({ body }) => entityOf(body));
  expect(last).toEqual(['cus_known_1', 'cus_behind']);
});

testFast(
  'a delivery is claimed after an earlier one that is due at its endpoint, also when the schedule does not know that',
  async () => {
    engine.startWorker({ settings: { endpoint_concurrency_max: 1 } });
    await becomeKnown();
    receiver.behave(() => undefined);
    await sql`
      update webhooks.deliveries set state = 'pending', next_attempt_at = ${engine.clock.now()}, finished = null
      where entity = 'cus_known_1'`.execute(engine.db);
    await engine.record({ entity: 'cus_behind', seq: 1 });
    await until(() => receivedOf('cus_known_1').length === 2);
    expect(await wayOf('cus_behind')).not.toBe('leased');
    expect(receivedOf('cus_behind')).toEqual([]);
  },
);

testFast.each(['at rest', 'due'])(
  'with one endpoint %s and one whose deliveries are claimed, a dispatch locks schedules in the order of their uids',
  async (schedule) => {
    const { endpointUid } = await engine.addEndpoint(receiver.url);
    const [lower, higher] = [uid, endpointUid].sort();
    engine.startWorker();
    await engine.record({ entity: 'cus_known_1', seq: 1 });
    await until(() => finished(2));
    await untilAtRest(engine, 2);
    await sql`update webhooks.endpoints set max_per_second = 1000 where uid = ${lower}`.execute(engine.db);
    if (schedule === 'due')
      await sql`update webhooks.ready set due_at = ${engine.clock.now()} where endpoint_uid = ${higher}`.execute(
        engine.db,
      );
    const client = await engine.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from webhooks.ready where endpoint_uid = $1 for no key update', [lower]);
      await engine.record({ entity: 'cus_both', seq: 1 });
      await untilDispatcherWaits(engine);
      // Held by it, the higher one would never become free, and two such transactions could deadlock. A claim holds it briefly.
      await until(async () => {
        const { rows } = await sql`
          select from webhooks.ready where endpoint_uid = ${higher} for no key update skip locked`.execute(engine.db);
        return rows.length === 1;
      });
      await client.query('commit');
    } finally {
      client.release(true);
    }
    await until(() => receivedOf('cus_both').length === 2);
  },
);

testFast('a fast delivery that fails after its endpoint was disabled is cancelled, not retried', async () => {
  engine.startWorker();
  await becomeKnown();
  let answer = (): void => undefined;
  receiver.behave((response) => {
    answer = () => void response.writeHead(500).end();
  });
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(arrived('cus_1'));
  expect(await wayOf('cus_1')).toBe('leased');
  await sql`
    update webhooks.endpoints set enabled = false, disabled_reason = 'owner', cancel_through = ${engine.clock.now()}
    where uid = ${uid}`.execute(engine.db);
  answer();
  await until(async () => (await engine.deliveries()).at(-1)?.state === 'cancelled');
  expect(receivedOf('cus_1')).toHaveLength(1);
  expect(await engine.attempts((await engine.deliveries()).at(-1)?.uid ?? '')).toMatchObject([{ status: 500 }]);
});

test('while receivers that answer have every slot, fast deliveries wait for one of theirs, and the reserve is left to claims', async () => {
  const slots = createSlots({ slotsMax: 8, slowSlotsMax: 8, perEndpointMax: 2, slowMs: 1_000, shortMs: 50 });
  const never = new AbortController().signal;
  const begun: string[] = [];
  const take = (endpointUid: string): Slot => {
    const slot = slots.tryTake({ endpointUid, endpointClass: quick, recoveredMs: 0 });
    if ('isFull' in slot) throw new Error(`${endpointUid} has no slot`);
    void slot.waitForSlot(never).then(() => begun.push(endpointUid));
    return slot;
  };
  const taken = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(take);
  await Promise.resolve();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  expect(slots.room(performance.now())).toMatchObject({ free: 1, reserve: 1 });
  expect(slots.tryTake({ endpointUid: 'a', endpointClass: quick, recoveredMs: 0 })).toMatchObject({
    endpointUid: 'a',
  });

  for (const [index, slot] of taken.slice(0, 2).entries()) {
    slot.answered();
    slot.release({ tookMs: 5, failed: false });
    await Promise.resolve();
    expect(begun.length).toBe(8 + index);
  }
  expect(begun.slice(7)).toEqual(['h', 'i']);
});

test('a fast delivery that waits behind a receiver that hangs gets a slot of the reserve after a moment', async () => {
  const slots = createSlots({ slotsMax: 16, slowSlotsMax: 0, perEndpointMax: 2, slowMs: 1_000, shortMs: 50 });
  const over = new AbortController();
  const begun: string[] = [];
  const take = (endpointUid: string): Slot => {
    const slot = slots.tryTake({ endpointUid, endpointClass: quick, recoveredMs: 0 });
    if ('isFull' in slot) throw new Error(`${endpointUid} has no slot`);
    void slot.waitForSlot(over.signal).then(() => begun.push(endpointUid));
    return slot;
  };
  const uids = Array.from({ length: 18 }, (_, index) => `whe_${index}`);
  const taken = uids.map(take);
  const startMs = performance.now();
  slots.room(startMs);
  await Promise.resolve();
  expect(begun).toEqual(uids.slice(0, 14));
  slots.room(startMs + 60);
  await Promise.resolve();
  // Two slots are the reserve. The other attempts wait while both are in use.
  expect(begun).toEqual(uids.slice(0, 16));
  expect(slots.room(startMs + 120)).toMatchObject({ free: 0, reserve: 0 });
  expect(begun).toHaveLength(16);
  for (const index of [15, 14]) {
    taken[index]?.answered();
    taken[index]?.release({ tookMs: 5, failed: false });
    slots.room(startMs + 180);
    await Promise.resolve();
  }
  expect(begun).toEqual(uids);
});

test('while a claim has left due deliveries, slots that become free go in turn to fast deliveries and to the next claim', async () => {
  const slots = createSlots({ slotsMax: 16, slowSlotsMax: 8, perEndpointMax: 2, slowMs: 60_000, shortMs: 60_000 });
  const begun: number[] = [];
  const taken = Array.from({ length: 20 }, (_, index) => {
    const slot = slots.tryTake({ endpointUid: `whe_${index}`, endpointClass: quick, recoveredMs: 0 });
    if ('isFull' in slot) throw new Error(`${index} has no slot`);
    void slot.waitForSlot(new AbortController().signal).then(() => begun.push(index));
    return slot;
  });
  await Promise.resolve();
  // Two slots are the reserve.
  expect(begun).toHaveLength(14);
  const begunAfter = async (act: () => void): Promise<number> => {
    act();
    await Promise.resolve();
    return begun.length;
  };
  const end = (index: number) => (): void => taken[index]?.release({ tookMs: 5, failed: false });
  expect(await begunAfter(end(0))).toBe(15);
  expect(await begunAfter(() => slots.claimed(true))).toBe(15);
  expect(await begunAfter(end(1))).toBe(16);
  expect(await begunAfter(end(2))).toBe(16);
  expect(await begunAfter(end(3))).toBe(17);
  expect(await begunAfter(end(4))).toBe(17);
  // No more than an eighth of all slots is kept, beside the reserve.
  expect(await begunAfter(end(5))).toBe(18);
  expect(slots.room(performance.now())).toMatchObject({ free: 4 });
  expect(await begunAfter(() => slots.claimed(false))).toBe(20);
});

test('an attempt that takes long loses its slot to a fast delivery', async () => {
  const slots = createSlots({ slotsMax: 8, slowSlotsMax: 10, perEndpointMax: 2, slowMs: 1_000, shortMs: 50 });
  const over = new AbortController();
  const ask = (endpointUid: string) => slots.tryTake({ endpointUid, endpointClass: quick, recoveredMs: 0 });
  const begun: string[] = [];
  const take = (endpointUid: string): void => {
    const slot = ask(endpointUid);
    if ('isFull' in slot) throw new Error(`${endpointUid} has no slot`);
    void slot.waitForSlot(over.signal).then(() => begun.push(endpointUid));
  };
  const hanging = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  for (const uid of hanging) take(uid);
  await Promise.resolve();
  expect(begun).toEqual(hanging);
  await new Promise((resolve) => setTimeout(resolve, 60));
  for (const uid of ['h', 'i', 'j', 'k', 'l', 'm', 'n']) take(uid);
  await Promise.resolve();
  expect(begun).toEqual([...hanging, 'h', 'i', 'j', 'k', 'l', 'm', 'n']);
  // As many as there are slow slots, without those that are kept for endpoints known as slow, and no more.
  await new Promise((resolve) => setTimeout(resolve, 60));
  take('o');
  expect(ask('p')).toEqual({ isFull: true, endpointUid: undefined, isBrief: false });
});

test('events wait for slots only while receivers accept thousands of deliveries a second', () => {
  let ended = 0;
  const waitBudget = createWaitBudget({ endedCount: () => ended });
  const full: Full = { isFull: true, endpointUid: 'a', isBrief: true };
  for (let nowMs = 0; nowMs < 5_000; nowMs += 10) {
    expect(waitBudget.mayWait(full, nowMs)).toBe(true);
    ended += 40;
  }
  // The receivers slow down: the budget is soon used up, and then hardly any event waits.
  const waited: number[] = [];
  for (let nowMs = 5_000; nowMs < 6_000; nowMs += 10) {
    if (waitBudget.mayWait(full, nowMs)) waited.push(nowMs);
    ended += 10;
  }
  expect(waited.length).toBeGreaterThan(0);
  expect(waited.filter((nowMs) => nowMs > 5_200).length).toBeLessThan(10);
  waitBudget.reset();
  expect(waitBudget.mayWait({ ...full, isBrief: false }, 10_000)).toBe(false);
  expect(waitBudget.mayWait(full, 10_000)).toBe(true);
});

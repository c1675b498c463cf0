import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { placeAfter, placeBefore, readFeed } from '#src/platform/db/outbox/event-feed.ts';
import { recordEvent, recordEvents, setKinds } from '#src/platform/db/outbox/outbox.ts';
import {
  claimEvents,
  createQueueFloor,
  type DispatchQueue,
  dispatchQueues,
  lockDispatch,
  markDispatched,
} from '#src/platform/db/outbox/outbox-queue.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { createEndpoint } from '#src/webhooks/index.ts';
import { until } from '../../support/until.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { draftOf, type Engine, startEngine, tenant } from '../harness/engine.ts';

const [whole] = dispatchQueues(1) as [DispatchQueue];

const entitiesOf = (events: readonly { entity: string }[]): string[] => events.map(({ entity }) => entity);

test('an event whose insert did not queue it is queued by the trigger and delivered', async () => {
  const engine = await startEngine();
  const receiver = await startReceiver();
  try {
    await engine.addEndpoint(receiver.url);
    engine.startWorker();
    await sql`
      insert into outbox.events (id, tenant, kind, event, entity, seq, previous_seq, created, body)
      values (${newId('evt')}, ${tenant}, 'customers', 'customer.changed', 'cus_1', 1, null, now(), '{"by":"trigger"}')
      returning pg_notify('orderpass_outbox', '')`.execute(engine.db);
    await until(() => receiver.received.length === 1);
    expect(receiver.received[0]?.body).toBe('{"by":"trigger"}');
  } finally {
    await engine.close();
    await receiver.close();
  }
});

test('only one dispatcher at a time reads the queue, and events that it does not commit keep their place', async () => {
  const engine = await startEngine();
  try {
    for (let seq = 1; seq <= 3; seq += 1) await engine.record({ entity: 'cus_1', seq });
    const seqs = (events: readonly { seq: number }[]): number[] => events.map(({ seq }) => seq);
    const undone = inTransaction(engine.db, async (tx) => {
      expect(await lockDispatch(tx, whole)).toBe(true);
      const events = await claimEvents(tx, whole, { limit: 2, floor: 0 });
      expect(seqs(events)).toEqual([1, 2]);
      await inTransaction(engine.db, async (other) => {
        expect(
          await Promise.all([lockDispatch(other, whole), claimEvents(other, whole, { limit: 2, floor: 0 })]),
        ).toEqual([false, []]);
      });
      await markDispatched(
        tx,
        events.map(({ position }) => position),
      );
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    await inTransaction(engine.db, async (tx) => {
      expect(await lockDispatch(tx, whole)).toBe(true);
      expect(seqs(await claimEvents(tx, whole, { limit: 100, floor: 0 }))).toEqual([1, 2, 3]);
    });
  } finally {
    await engine.close();
  }
});

test('claims do not step over dispatched events, and an event that is committed late is still found', async () => {
  const engine = await startEngine();
  let commit = (): void => undefined;
  try {
    const floor = createQueueFloor(whole);
    let nowMs = 0;
    const look = (): Promise<void> => {
      nowMs += 1_000;
      return inTransaction(engine.db, (tx) => floor.look(tx, nowMs));
    };
    // Other tests write to this server as well, and the floor waits for them.
    const lookUntil = (isThere: () => boolean): Promise<void> =>
      until(async () => {
        await look();
        return isThere();
      });
    const dispatchAll = async (): Promise<{ entity: string; position: number }[]> =>
      inTransaction(engine.db, async (tx) => {
        expect(await lockDispatch(tx, whole)).toBe(true);
        const events = await claimEvents(tx, whole, { limit: 100, floor: floor.get() });
        await markDispatched(
          tx,
          events.map(({ position }) => position),
        );
        return events;
      });
    // Before the first event of all.
    for (let count = 0; count < 5; count += 1) await look();
    const client = await engine.pool.connect();
    await client.query('begin isolation level repeatable read; select from outbox.waiting');
    for (let number = 1; number <= 20; number += 1) await engine.record({ entity: `cus_${number}`, seq: number });
    const dispatched = await dispatchAll();
    expect(dispatched).toHaveLength(20);
    const last = dispatched.at(-1)?.position ?? 0;
    // An open snapshot keeps dead rows, but not the floor.
    await lookUntil(() => floor.get() === last + 1);
    await client.query('rollback');
    client.release();

    const isToCommit = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let position = 0;
    const late = inTransaction(engine.db, async (tx) => {
      await recordEvent(tx, draftOf({ entity: 'cus_late', seq: 1 }, engine.clock.now()));
      const { rows } = await sql<{ position: number }>`select max(position) as position from outbox.waiting`.execute(
        tx,
      );
      position = rows[0]?.position ?? 0;
      await isToCommit;
    });
    await until(() => position > last);
    await engine.record({ entity: 'cus_early', seq: 1 });
    expect(entitiesOf(await dispatchAll())).toEqual(['cus_early']);
    for (let count = 0; count < 5; count += 1) await look();
    expect(floor.get()).toBeLessThanOrEqual(position);
    commit();
    await late;
    // Also when it is not dispatched for a long time.
    await lookUntil(() => floor.get() === position);
    for (let count = 0; count < 5; count += 1) await look();
    expect(floor.get()).toBe(position);
    expect(entitiesOf(await dispatchAll())).toEqual(['cus_late']);
    await lookUntil(() => floor.get() > position + 1);

    // Committed below the floor after all: its writer stood still long after it had drawn its position.
    await sql`
      insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
      select position, id, tenant, kind, event, entity, created from outbox.events where entity = 'cus_1'`.execute(
      engine.db,
    );
    expect(await dispatchAll()).toEqual([]);
    await lookUntil(() => floor.get() < last);
    expect(entitiesOf(await dispatchAll())).toEqual(['cus_1']);
  } finally {
    commit();
    await engine.close();
  }
});

test('two dispatchers take turns at a long queue: every event is delivered, and gets one place, in the sequence of its entity', async () => {
  const engine = await startEngine();
  const receiver = await startReceiver();
  const [entities, rounds, eachRound] = [15, 20, 5];
  const total = entities * rounds * eachRound;
  try {
    await engine.addEndpoint(receiver.url);
    const record = async (round: number): Promise<void> => {
      for (let entity = 0; entity < entities; entity += 1) {
        const draft = (number: number) =>
          draftOf({ entity: `cus_${entity}`, seq: round * eachRound + number + 1 }, engine.clock.now());
        const more = Array.from({ length: eachRound - 1 }, (_, number) => draft(number + 1));
        await inTransaction(engine.db, (tx) => recordEvents(tx, [draft(0), ...more]));
      }
    };
    for (let round = 0; round < rounds / 2; round += 1) await record(round);
    engine.startWorker();
    const stop = engine.startWorker();
    for (let round = rounds / 2; round < rounds; round += 1) await record(round);
    await stop();
    engine.startWorker();
    const isDone = async (): Promise<boolean> => {
      const deliveries = await engine.deliveries();
      return deliveries.length === total && deliveries.every(({ state }) => state === 'succeeded');
    };
    await until(isDone);

    const { events } = await readFeed(engine.db, { tenant, kinds: ['customers'], after: 0, limit: total + 1 });
    expect(new Set(events.map(({ id }) => id)).size).toBe(total);
    expect(events).toHaveLength(total);
    const inSequence = Array.from({ length: rounds * eachRound }, (_, index) => index + 1);
    const sent = receiver.received.map(({ body }) => JSON.parse(body) as { customer: { uid: string }; seq: number });
    for (let entity = 0; entity < entities; entity += 1) {
      const uid = `cus_${entity}`;
      expect(events.filter((event) => event.entity === uid).map(({ seq }) => seq)).toEqual(inSequence);
      const seqs = sent.filter(({ customer }) => customer.uid === uid).map(({ seq }) => seq);
      expect([...new Set(seqs)]).toEqual(inSequence);
    }
  } finally {
    await engine.close();
    await receiver.close();
  }
});

/** Dispatches what waits in a queue; returns the tenants of its events. */
const dispatchQueue = (engine: Engine, queue: DispatchQueue): Promise<string[]> =>
  inTransaction(engine.db, async (tx) => {
    expect(await lockDispatch(tx, queue)).toBe(true);
    const events = await claimEvents(tx, queue, { limit: 1_000, floor: 0 });
    await markDispatched(
      tx,
      events.map(({ position }) => position),
    );
    return events.map((event) => event.tenant);
  });

const tenants = Array.from({ length: 40 }, (_, number) => `rst_${number}`);

test('queues divide the tenants: each event waits in one of them, and two dispatchers work at the same time on two', async () => {
  const engine = await startEngine();
  try {
    for (const one of tenants)
      await inTransaction(engine.db, async (tx) => {
        await setKinds(tx, one, { customers: true });
        await recordEvents(tx, [
          draftOf({ tenant: one, entity: 'cus_1', seq: 1 }, engine.clock.now()),
          draftOf({ tenant: one, entity: 'cus_1', seq: 2 }, engine.clock.now()),
        ]);
      });
    const [first, second, ...others] = dispatchQueues(4) as [DispatchQueue, DispatchQueue, ...DispatchQueue[]];
    const lockOf = (queue: DispatchQueue): Promise<boolean> =>
      inTransaction(engine.db, (tx) => lockDispatch(tx, queue));
    const found: string[][] = [];
    await inTransaction(engine.db, async (tx) => {
      expect(await lockDispatch(tx, first)).toBe(true);
      // Also a worker that divides them otherwise works on none of these tenants.
      const [of16, nextOf16] = dispatchQueues(16) as [DispatchQueue, DispatchQueue];
      expect(await Promise.all([first, whole, of16, nextOf16].map(lockOf))).toEqual([false, false, false, true]);
      found.push(await dispatchQueue(engine, second));
    });
    for (const queue of [first, ...others]) found.push(await dispatchQueue(engine, queue));
    expect(found.flat().toSorted()).toEqual([...tenants, ...tenants].toSorted());
    // The hash spreads 40 tenants over all four.
    expect(found.every((of) => of.length > 0)).toBe(true);
    expect(await dispatchQueue(engine, whole)).toEqual([]);
  } finally {
    await engine.close();
  }
});

test('a batch of groups in turn is full while events wait, however few groups they are of, and takes of each group the oldest', async () => {
  const engine = await startEngine();
  const limit = 40;
  /** The seqs of the events of each tenant; all of a tenant belong to one entity. */
  const batch = async (): Promise<Record<string, number[]>> => {
    const events = await inTransaction(engine.db, (tx) => claimEvents(tx, whole, { limit, floor: 0, isInTurn: true }));
    const ofTenants = Map.groupBy(events, (event) => event.tenant);
    return Object.fromEntries([...ofTenants].map(([of, its]) => [of, its.map(({ seq }) => seq)]));
  };
  const recordMany = (of: string, count: number): Promise<void> =>
    inTransaction(engine.db, async (tx) => {
      await setKinds(tx, of, { customers: true });
      const [seq = 1, ...later] = first(count);
      const draft = (number: number) => draftOf({ tenant: of, entity: 'cus_1', seq: number }, engine.clock.now());
      await recordEvents(tx, [draft(seq), ...later.map(draft)]);
    });
  const first = (count: number): number[] => Array.from({ length: count }, (_, number) => number + 1);
  try {
    const { rows } = await sql<{ name: string }>`
      select distinct on (hashtextextended(name, 0) & 15) name from unnest(${tenants}::text[]) as name
      order by hashtextextended(name, 0) & 15, name`.execute(engine.db);
    const ofGroups = rows.map(({ name }) => name);
    const [one = '', two = '', ...others] = ofGroups;
    expect(others.length).toBeGreaterThan(8);
    await recordMany(one, 60);
    expect(await batch()).toEqual({ [one]: first(40) });
    await recordMany(two, 3);
    expect(await batch()).toEqual({ [one]: first(37), [two]: first(3) });
    for (const other of others) await recordMany(other, 2);
    const left = limit - 3 - 2 * others.length;
    expect(await batch()).toEqual({
      [one]: first(left),
      [two]: first(3),
      ...Object.fromEntries(others.map((other) => [other, first(2)])),
    });
  } finally {
    await engine.close();
  }
});

test('a dispatcher of version 1.0, which works on all tenants, and those of queues exclude each other', async () => {
  const engine = await startEngine();
  try {
    const [queue] = dispatchQueues(16) as [DispatchQueue];
    const lockOf10 = sql<{ held: boolean }>`select pg_try_advisory_xact_lock(7203517001::bigint) as held`;
    await inTransaction(engine.db, async (tx) => {
      await lockOf10.execute(tx);
      expect(await inTransaction(engine.db, (other) => lockDispatch(other, queue))).toBe(false);
    });
    await inTransaction(engine.db, async (tx) => {
      expect(await lockDispatch(tx, queue)).toBe(true);
      expect((await inTransaction(engine.db, (other) => lockOf10.execute(other))).rows).toEqual([{ held: false }]);
    });
  } finally {
    await engine.close();
  }
});

test('a queue that is behind hides no event of another one from a search by time', async () => {
  const engine = await startEngine();
  try {
    const queues = dispatchQueues(16);
    const hourMs = 3_600_000;
    const now = engine.clock.now().getTime();
    const since = new Date(now - hourMs);
    const record = (one: string, agoMs: number): Promise<unknown> =>
      inTransaction(engine.db, async (tx) => {
        await setKinds(tx, one, { customers: true });
        await recordEvent(tx, draftOf({ tenant: one, entity: 'cus_1', seq: 1 }, new Date(now - agoMs)));
      });
    const eventsOf = (one: string) => ({ tenant: one, kinds: ['customers'] });
    // The old event is dispatched after all new ones.
    await record('rst_old', 2 * hourMs);
    for (const one of tenants) await record(one, 0);
    const late = await Promise.all(
      queues.map((queue) => inTransaction(engine.db, (tx) => claimEvents(tx, queue, { limit: 100, floor: 0 }))),
    );
    const isBehind = late.findIndex((events) => events.some((event) => event.tenant === 'rst_old'));
    const inTime = queues.filter((_, index) => index !== isBehind);
    const early = (await Promise.all(inTime.map((queue) => dispatchQueue(engine, queue)))).flat();
    await dispatchQueue(engine, queues[isBehind] as DispatchQueue);
    for (const one of [...early, 'rst_old']) {
      const read = await readFeed(engine.db, {
        tenant: one,
        kinds: ['customers'],
        after: await placeBefore(engine.db, eventsOf(one), since),
        since,
        limit: 10,
      });
      expect([one, read.events.length]).toEqual([one, one === 'rst_old' ? 0 : 1]);
    }
    expect(await placeAfter(engine.db, eventsOf(early[0] as string), since)).toBeGreaterThan(0);
    expect(await placeAfter(engine.db, eventsOf('rst_old'), since)).toBeUndefined();
  } finally {
    await engine.close();
  }
});

test('two workers with four queues deliver every event of 40 tenants once, in the sequence of its entity and of the feed', async () => {
  const engine = await startEngine();
  const receiver = await startReceiver();
  const [rounds, eachRound] = [4, 5];
  const { db, box, clock } = engine;
  const inSequence = Array.from({ length: rounds * eachRound }, (_, index) => index + 1);
  try {
    for (const one of tenants) {
      await createEndpoint(
        { db, box, clock, kinds: ['customers'], rules: { allowPrivate: true, allowedOrigins: [] } },
        { tenant: one, url: `${receiver.url}/${one}`, owner: { kind: 'panel', id: 'test' } },
      );
      await inTransaction(db, (tx) => setKinds(tx, one, { customers: true }));
    }
    const record = async (round: number): Promise<void> => {
      for (const one of tenants) {
        const draft = (number: number) =>
          draftOf({ tenant: one, entity: `cus_${one}`, seq: round * eachRound + number + 1 }, clock.now());
        const more = Array.from({ length: eachRound - 1 }, (_, number) => draft(number + 1));
        await inTransaction(db, (tx) => recordEvents(tx, [draft(0), ...more]));
      }
    };
    await record(0);
    engine.startWorker({ settings: { dispatch_queues: 4 } });
    const stop = engine.startWorker({ settings: { dispatch_queues: 4 } });
    for (let round = 1; round < rounds - 1; round += 1) await record(round);
    await stop();
    // A worker with another number of queues joins, as during a rolling change of the setting.
    engine.startWorker({ settings: { dispatch_queues: 2 } });
    await record(rounds - 1);
    await until(async () => {
      const deliveries = await engine.deliveries();
      return (
        deliveries.length === tenants.length * inSequence.length &&
        deliveries.every(({ state }) => state === 'succeeded')
      );
    });
    const sent = Map.groupBy(
      receiver.received.map(({ body }) => JSON.parse(body) as { customer: { uid: string }; seq: number }),
      ({ customer }) => customer.uid,
    );
    for (const one of tenants) {
      expect([...new Set(sent.get(`cus_${one}`)?.map(({ seq }) => seq))]).toEqual(inSequence);
      const { events } = await readFeed(db, { tenant: one, kinds: ['customers'], after: 0, limit: 100 });
      expect(events.map(({ seq }) => seq)).toEqual(inSequence);
    }
  } finally {
    await engine.close();
    await receiver.close();
  }
});

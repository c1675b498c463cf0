/** More deliveries are due than a worker can send, for as long as each test lasts. */
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quick, slow } from '#src/webhooks/pacing/concurrency-limit.ts';
import { until } from '../../support/until.ts';
import { type Behaviour, startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { addTried, fill, recordFor } from '../harness/backlog.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
const receivers: WebhookReceiver[] = [];

const open = async (...behaviour: Parameters<typeof startReceiver>): Promise<WebhookReceiver> => {
  const receiver = await startReceiver(...behaviour);
  receivers.push(receiver);
  return receiver;
};

beforeEach(async () => {
  engine = await startEngine();
});

afterEach(async () => {
  await engine.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

const answerLate: Behaviour = async (response) => {
  await setTimeout(40);
  response.writeHead(204).end();
};

/** Endpoints that answered in time until now, each with deliveries that have been due for a minute. */
const addBehind = async (url: string, count: number, each: number): Promise<string[]> => {
  const uids = await addTried(engine, { url, count, endpointClass: quick });
  for (const uid of uids) await fill(engine, uid, each, -60_000);
  return uids;
};

const isAnyWaiting = async (): Promise<boolean> =>
  (await sql`select from outbox.waiting limit 1`.execute(engine.db)).rows.length > 0;

test('A-687 an endpoint gets its turn while others that are a minute behind get new events', async () => {
  const busy = await open(answerLate);
  const behind = await addBehind(busy.url, 30, 40);
  const other = await open();
  const [uid = ''] = await addTried(engine, { url: other.url, count: 1, endpointClass: quick });
  engine.startWorker({ settings: { concurrency_max: 1 } });
  let number = 0;
  let sentBefore: number | undefined;
  await until(async () => {
    if (sentBefore === undefined && busy.received.length > 30) {
      sentBefore = busy.received.length;
      await fill(engine, uid, 1);
    }
    // A third of them at a time: while an event is dispatched, its endpoints are locked, and a claim would serve the others.
    number += 1;
    if (!(await isAnyWaiting()))
      await recordFor(
        engine,
        behind.filter((_, index) => index % 3 === number % 3),
        number,
      );
    return other.received.length === 1;
  });
  // Each of the others has had its turn once; a few more, since a locked endpoint is passed over.
  expect(busy.received.length - (sentBefore ?? 0)).toBeLessThan(50);
});

test('A-688 endpoints that are slow get their turn while attempts to others take long and use every slot that they may', async () => {
  // Of one host or tenant they would leave slow slots to others.
  const hanging: WebhookReceiver[] = [];
  for (let index = 0; index < 50; index += 1) hanging.push(await open(() => undefined));
  for (const { url } of hanging) await addBehind(url, 2, 1);
  const hangingCount = (): number => hanging.reduce((sum, { received }) => sum + received.length, 0);
  const other = await open();
  const uids = await addTried(engine, { url: other.url, count: 10, endpointClass: slow });
  // Longer than the test waits, so that no attempt to a receiver that hangs ends meanwhile.
  engine.startWorker({ settings: { concurrency_max: 4 }, attemptTimeoutMs: 120_000 });
  // The usual slots, and those slow slots that are not kept for slow endpoints.
  await until(() => hangingCount() === 4 + 14);
  await recordFor(engine, uids, 1);
  await until(() => other.received.length === uids.length);
  expect(hangingCount()).toBe(4 + 14);
});

test('A-689 a delivery that has to be claimed gets its turn while new events for other endpoints use every slot', async () => {
  const busy = await open(answerLate);
  const uids = await addTried(engine, { url: busy.url, count: 6_000, endpointClass: quick });
  const other = await open();
  const [uid = ''] = await addTried(engine, { url: other.url, count: 1, endpointClass: quick });
  await fill(engine, uid, 1);
  const dueAt = (at: Date): Promise<unknown> =>
    sql`update webhooks.ready set due_at = ${at} where endpoint_uid = ${uid}`.execute(engine.db);
  const lookMs = 600_000;
  await dueAt(new Date(engine.clock.now().getTime() + lookMs));
  engine.startWorker({ settings: { concurrency_max: 16 } });
  // Each endpoint has nothing else to do, so its event takes the fast path as soon as there is a slot.
  await recordFor(engine, uids, 1);
  await until(() => busy.received.length > 100);
  await dueAt(new Date(engine.clock.now().getTime() - lookMs));
  const sentBefore = busy.received.length;
  await until(() => other.received.length === 1);
  expect(busy.received.length - sentBefore).toBeLessThan(100);
});

test('A-724 later events of an entity are sent in their turn, and not behind events of others that were recorded after them', async () => {
  const isDispatched = Promise.withResolvers<void>();
  const receiver = await open(async (response) => {
    await isDispatched.promise;
    response.writeHead(204).end();
  });
  await engine.addEndpoint(receiver.url);
  const later = 400;
  for (let seq = 1; seq <= 5; seq += 1) await engine.record({ entity: 'cus_queue', seq });
  for (let index = 0; index < later; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  engine.startWorker({ settings: { concurrency_max: 8, endpoint_concurrency_max: 1 } });
  await until(async () => (await engine.deliveries()).length === 5 + later);
  isDispatched.resolve();
  await until(() => receiver.received.length === 5 + later);
  const places = receiver.received.flatMap(({ body }, place) => (body.includes('"cus_queue"') ? [place] : []));
  expect(places).toHaveLength(5);
  // A few go before each of them, since a worker holds deliveries ahead.
  expect(places.at(-1)).toBeLessThan(300);
});

/** A burst of events of one tenant, and then an event of another one. Returns how many of the burst come before it in the feed. */
const countBefore = async (burst: number, recorded: Date): Promise<number> => {
  const receiver = await open();
  const [busy = '', other = ''] = await addTried(engine, { url: receiver.url, count: 2, endpointClass: quick });
  await sql`
    insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
    select platform.id_bound('evt', ${recorded}) || uid || n, 'rst_' || uid, 'customers', 'customer.changed', 'cus_' || n, 1,
      ${recorded}, '{}'
    from (
      (select ${busy} as uid, n from generate_series(1, ${burst}::int) as n order by n) union all select ${other}, 0
    ) as made`.execute(engine.db);
  engine.startWorker();
  await until(async () => !(await isAnyWaiting()));
  const { rows } = await sql<{ before: number }>`
    select count(*)::int as before from outbox.places
    where place < (select place from outbox.places where tenant = 'rst_' || ${other})`.execute(engine.db);
  return rows[0]?.before ?? 0;
};

test('A-726 an event is dispatched among the first of a burst of another tenant that was recorded before it', async () => {
  // The first batch is in the order of recording.
  expect(await countBefore(2_000, engine.clock.now())).toBeLessThan(1_000);
});

test('A-726 events that have waited for long are dispatched in the order of recording', async () => {
  expect(await countBefore(600, new Date(engine.clock.now().getTime() - 600_000))).toBe(600);
});

test('A-727 a delivery whose attempt the end of its worker cuts keeps its turn before the rest of the backlog', async () => {
  const receiver = await open(() => undefined);
  const { endpointUid: uid } = await engine.addEndpoint(receiver.url);
  await fill(engine, uid, 20, -60_000);
  const stop = engine.startWorker();
  await until(() => receiver.received.length === 1);
  const before = await engine.deliveries();
  await stop();
  expect(await engine.deliveries()).toEqual(before);
  receiver.behave(status(204));
  engine.startWorker();
  await until(() => receiver.received.length === 21);
});

/** Longer than a test waits, so that no attempt to a receiver that hangs ends meanwhile. */
const forLong = { settings: { concurrency_max: 4 }, attemptTimeoutMs: 120_000 };

/** One event after the other arrives at an endpoint that answers, while `record` records others. */
const arriveMeanwhile = async (
  endpointClass: typeof quick | typeof slow,
  record: (number: number) => Promise<void>,
) => {
  const other = await open();
  const [uid = ''] = await addTried(engine, { url: other.url, count: 1, endpointClass });
  for (let number = 1; number <= 10; number += 1) {
    await record(number);
    await recordFor(engine, [uid], number);
    await until(() => other.received.length === number);
  }
};

test('A-820 an endpoint gets its events while many endpoints of one host, which answered in time until now, hang and get new ones', async () => {
  const held: ServerResponse[] = [];
  const hanging = await open((response) => void held.push(response));
  const uids = await addTried(engine, { url: hanging.url, count: 500, endpointClass: quick });
  engine.startWorker(forLong);
  await recordFor(engine, uids.slice(0, 300), 0);
  await until(() => hanging.received.length >= 8);
  await arriveMeanwhile(quick, (number) =>
    recordFor(engine, uids.slice(300 + 20 * (number - 1), 300 + 20 * number), number),
  );
  expect(hanging.received.length).toBeLessThan(20);
  hanging.behave(status(204));
  for (const response of held) response.writeHead(204).end();
  await until(() => hanging.received.length === uids.length);
});

test('A-820 an endpoint gets its events while endpoints of one tenant at several hosts hang', async () => {
  const behind: string[] = [];
  for (let index = 0; index < 20; index += 1) {
    const { url } = await open(() => undefined);
    behind.push(...(await addBehind(url, 2, 1)));
  }
  await sql`update webhooks.endpoints set tenant = ${tenant} where uid = any(${behind}::text[])`.execute(engine.db);
  engine.startWorker(forLong);
  const hangingCount = (): number => receivers.reduce((sum, { received }) => sum + received.length, 0);
  await until(() => hangingCount() >= 8);
  await arriveMeanwhile(quick, async () => undefined);
});

test('A-820 an endpoint gets its events while endpoints with deliveries ahead stop answering', async () => {
  const busy = await open();
  const uids = await addTried(engine, { url: busy.url, count: 4, endpointClass: quick });
  for (const uid of uids) await fill(engine, uid, 400);
  engine.startWorker(forLong);
  await until(() => busy.received.length >= 100);
  busy.behave(() => undefined);
  await arriveMeanwhile(quick, async () => undefined);
  expect(
    (await engine.deliveries()).filter(({ attempts_count: count, state }) => count > 0 && state === 'pending'),
  ).toEqual([]);
});

test('A-821 an endpoint that is slow gets its events while many slow endpoints of one host hang', async () => {
  const hanging = await open(() => undefined);
  const uids = await addTried(engine, { url: hanging.url, count: 200, endpointClass: slow });
  engine.startWorker(forLong);
  await recordFor(engine, uids, 0);
  await until(() => hanging.received.length >= 8);
  await arriveMeanwhile(slow, async () => undefined);
});

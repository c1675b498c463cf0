import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { removeEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { retain } from '#src/webhooks/upkeep/retain-deliveries.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

const day = 86_400_000;
const never = new AbortController().signal;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  await engine.addEndpoint(receiver.url);
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

const retainNow = (): Promise<number[]> =>
  retain({ db: engine.db, clock: engine.clock, log: pino({ level: 'silent' }) }, never);

const counts = async (): Promise<unknown> => {
  const { rows } = await sql`
    select (select count(*) from outbox.events) as events, (select count(*) from outbox.waiting) as waiting,
      (select count(*) from outbox.places) as places, (select count(*) from webhooks.deliveries) as deliveries,
      (select count(*) from webhooks.attempts) as attempts`.execute(engine.db);
  return rows[0];
};

const inDefault = async (): Promise<unknown> => {
  const { rows } = await sql`
    select (select count(*) from outbox.events_default) + (select count(*) from outbox.places_default) + (select count(*) from webhooks.deliveries_default)
      + (select count(*) from webhooks.attempts_default) as count`.execute(engine.db);
  return rows[0];
};

const finished = (count: number): Promise<void> =>
  until(async () => (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === count);

test('events, deliveries and attempts are kept for 30 days and then dropped with their week, and not a day sooner', async () => {
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await finished(1);
  await stop();
  expect(await inDefault()).toEqual({ count: 0 });

  engine.advance(30 * day - 60_000);
  await retainNow();
  expect(await counts()).toEqual({ events: 1, waiting: 0, places: 1, deliveries: 1, attempts: 1 });
  const second = engine.startWorker();
  await engine.record({ entity: 'cus_2', seq: 1 });
  await finished(2);
  await second();
  expect(await inDefault()).toEqual({ count: 0 });
  expect(await counts()).toEqual({ events: 2, waiting: 0, places: 2, deliveries: 2, attempts: 2 });

  // A week is dropped when its last day is old enough.
  engine.advance(7 * day + day / 12);
  expect((await retainNow()).length).toBeGreaterThan(0);
  expect(await counts()).toEqual({ events: 1, waiting: 0, places: 1, deliveries: 1, attempts: 1 });
  expect((await engine.deliveries())[0]?.entity).toBe('cus_2');
});

test('unfinished deliveries are cancelled before their week is dropped, and deliveries behind them are sent', async () => {
  receiver.behave(status(500));
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  await until(async () => (await engine.deliveries())[0]?.attempts_count === 1);
  await stop();
  engine.advance(20 * day);
  await engine.record({ entity: 'cus_1', seq: 2 });
  await retainNow();
  // Dispatched behind the first one, which is not sent, because no worker runs.
  const dispatching = engine.startWorker({ attemptTimeoutMs: 200 });
  await until(async () => (await engine.deliveries()).length === 2);
  await dispatching();
  await sql`update webhooks.deliveries set state = 'pending', next_attempt_at = ${new Date(engine.clock.now().getTime() + 60 * day)}
    where seq = 1`.execute(engine.db);
  receiver.behave(status(204));

  engine.advance(18 * day);
  expect((await retainNow()).length).toBeGreaterThan(0);
  engine.startWorker();
  await until(async () => {
    const rows = await engine.deliveries();
    return rows.length === 1 && rows[0]?.seq === 2 && rows[0].state === 'succeeded';
  });
});

test('events that were never dispatched are dropped with their week, and later events are delivered', async () => {
  await engine.record({ entity: 'cus_1', seq: 1 });
  expect(await counts()).toEqual({ events: 1, waiting: 1, places: 0, deliveries: 0, attempts: 0 });
  engine.advance(29 * day);
  await retainNow();
  await engine.record({ entity: 'cus_2', seq: 1 });
  engine.advance(10 * day);
  expect((await retainNow()).length).toBeGreaterThan(0);
  expect(await counts()).toEqual({ events: 1, waiting: 1, places: 0, deliveries: 0, attempts: 0 });
  engine.startWorker();
  await finished(1);
  expect(receiver.received).toHaveLength(1);
});

test('old rows outside of the weekly partitions are dropped too', async () => {
  // A clock far ahead of the weeks that were made, so no partition exists for it.
  engine.advance(200 * day);
  await engine.record({ entity: 'cus_1', seq: 1 });
  const stop = engine.startWorker();
  await finished(1);
  await stop();
  expect(await inDefault()).not.toEqual({ count: 0 });
  engine.advance(29 * day);
  await retainNow();
  expect(await counts()).toMatchObject({ events: 1 });
  engine.advance(2 * day);
  await retainNow();
  expect(await inDefault()).toEqual({ count: 0 });
  expect(await counts()).toMatchObject({ events: 0 });
  // The worker may have made a week for what it writes later, places among it, which goes with that week.
  engine.advance(7 * day);
  await retainNow();
  expect(await counts()).toEqual({ events: 0, waiting: 0, places: 0, deliveries: 0, attempts: 0 });
});

test('A-595 a removed endpoint is deleted when the log has no delivery of it any more', async () => {
  const { endpointUid: used } = await engine.addEndpoint(receiver.url, { kinds: ['customers'] });
  const { endpointUid: unused } = await engine.addEndpoint(receiver.url, { kinds: ['menu'] });
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await finished(2);
  for (const uid of [used, unused])
    await inTransaction(engine.db, (tx) => removeEndpoint(tx, { tenant, client: undefined }, uid, engine.clock.now()));
  const uidsIn = async (table: string, column = 'endpoint_uid'): Promise<string[]> => {
    const { rows } = await sql<{ uid: string }>`
      select ${sql.id(column)} as uid from webhooks.${sql.id(table)}`.execute(engine.db);
    return rows.map(({ uid }) => uid);
  };
  const cancelling = () => sql`select from webhooks.endpoints where cancel_through is not null`.execute(engine.db);
  await until(async () => (await cancelling()).rows.length === 0);
  await stop();
  const [stays = ''] = (await uidsIn('endpoints', 'uid')).filter((uid) => uid !== used && uid !== unused);

  await retainNow();
  expect(await uidsIn('endpoints', 'uid')).toHaveLength(3);
  engine.advance(2 * day);
  await retainNow();
  expect((await uidsIn('endpoints', 'uid')).toSorted()).toEqual([stays, used].toSorted());
  engine.advance(36 * day);
  await retainNow();
  expect(await counts()).toMatchObject({ deliveries: 0 });
  expect(await uidsIn('endpoints', 'uid')).toEqual([stays]);
  for (const table of ['ready', 'digests', 'endpoint_health']) expect(await uidsIn(table)).not.toContain(used);
});

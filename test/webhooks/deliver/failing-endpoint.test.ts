import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;

const hour = 3_600_000;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver(status(500));
  ({ endpointUid: uid } = await engine.addEndpoint(receiver.url));
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

type Row = {
  enabled: boolean;
  disabled_reason: string | null;
  failing_since: Date | null;
  failures_count: number;
  warned: Date | null;
};

const endpoint = async (): Promise<Row> => {
  const { rows } = await sql<Row>`
    select enabled, disabled_reason, failing_since, failures_count, warned
    from webhooks.endpoints join webhooks.endpoint_health on endpoint_uid = uid where uid = ${uid}`.execute(engine.db);
  const [row] = rows;
  if (row === undefined) throw new Error('nothing was sent yet');
  return row;
};

const attemptsMade = async (): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*) as count from webhooks.attempts`.execute(engine.db);
  return rows[0]?.count ?? 0;
};

let seq = 0;

/** One more event of another customer and its attempt; retries of other events may run beside it. */
const attemptOnce = async (): Promise<void> => {
  seq += 1;
  const event = await engine.record({ entity: `cus_${seq}`, seq: 1 });
  await until(async () => {
    const { rows } = await sql`select from webhooks.attempts where event_id = ${event?.id ?? ''}`.execute(engine.db);
    return rows.length > 0;
  });
};

test('A-136 an endpoint that only failed for five days, in at least ten attempts, is disabled as failing; from the third day its owner is warned', async () => {
  engine.startWorker();
  await attemptOnce();
  expect(await endpoint()).toMatchObject({ enabled: true, warned: null });
  const since = (await endpoint()).failing_since?.getTime() ?? 0;

  engine.advance(3 * 24 * hour - 60_000);
  await attemptOnce();
  expect((await endpoint()).warned).toBeNull();
  engine.advance(120_000);
  await attemptOnce();
  expect((await endpoint()).warned).not.toBeNull();
  expect((await endpoint()).failing_since?.getTime()).toBe(since);
  expect((await endpoint()).enabled).toBe(true);

  engine.advance(2 * 24 * hour);
  while ((await attemptsMade()) < 10) await attemptOnce();
  await until(async () => !(await endpoint()).enabled);
  expect(await endpoint()).toMatchObject({ disabled_reason: 'failing' });
  expect((await endpoint()).failures_count).toBeGreaterThanOrEqual(10);
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'cancelled'));

  // No delivery is made or sent while it is disabled; enabling it starts over.
  const before = receiver.received.length;
  await engine.record({ entity: 'cus_missed', seq: 1 });
  await until(async () => {
    const { rows } = await sql`select 1 from outbox.waiting`.execute(engine.db);
    return rows.length === 0;
  });
  receiver.behave(status(204));
  const viewer = { tenant, client: undefined };
  await inTransaction(engine.db, (tx) => updateEndpoint(tx, viewer, uid, { enabled: true }, engine.clock.now()));
  expect(await endpoint()).toMatchObject({ failing_since: null, failures_count: 0, warned: null });
  await engine.record({ entity: 'cus_after', seq: 1 });
  await until(() => receiver.received.some(({ body }) => body.includes('cus_after')));
  expect(receiver.received.slice(before).some(({ body }) => body.includes('cus_missed'))).toBe(false);
});

test('A-136 one success in between starts the five days over, and fewer than ten failures do not disable', async () => {
  engine.startWorker();
  await attemptOnce();
  engine.advance(4 * 24 * hour);
  await until(async () => (await endpoint()).failures_count >= 2);
  receiver.behave(status(204));
  engine.advance(60_000);
  await until(async () => (await endpoint()).failing_since === null);
  expect(await endpoint()).toMatchObject({ failures_count: 0, warned: null, enabled: true });

  // All retries have arrived: from here on failures count from zero.
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
  receiver.behave(status(500));
  await attemptOnce();
  engine.advance(2 * 24 * hour);
  await attemptOnce();
  await until(async () => (await endpoint()).failures_count >= 3);
  expect(await endpoint()).toMatchObject({ enabled: true, warned: null });

  // Six days, but the retries so far are few: this many failures in all.
  await sql`update webhooks.endpoint_health set failures_count = 3`.execute(engine.db);
  engine.advance(4 * 24 * hour);
  await attemptOnce();
  await until(async () => (await endpoint()).failures_count >= 4);
  expect((await endpoint()).failures_count).toBeLessThan(10);
  expect((await endpoint()).enabled).toBe(true);
});

test('A-507 a success that ends a hold of the breaker locks the schedule of its endpoint before its health, as a failure does', async () => {
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  await until(async () => (await engine.deliveries())[0]?.attempts_count === 1);
  await stop();
  await sql`update webhooks.endpoint_health set failures_count = 40`.execute(engine.db);
  receiver.behave(status(204));
  engine.advance(hour);
  await inTransaction(engine.db, async (tx) => {
    await sql`select from webhooks.endpoint_health for update`.execute(tx);
    engine.startWorker();
    await until(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%endpoint_health%'`.execute(
        engine.db,
      );
      return rows.length > 0;
    });
    const { rows } = await sql`select from webhooks.ready for update skip locked`.execute(engine.db);
    expect(rows).toEqual([]);
  });
  await until(async () => (await engine.deliveries())[0]?.state === 'succeeded');
});

test('the delivery after an exhausted one is due from then on, so that the breaker holds it however old its event is', async () => {
  for (const number of [1, 2]) await engine.record({ entity: 'cus_1', seq: number });
  const stop = engine.startWorker();
  await until(async () => (await engine.deliveries()).length === 2 && (await attemptsMade()) === 1);
  await stop();
  const now = engine.clock.now();
  const before = new Date(now.getTime() - hour);
  await sql`
    update webhooks.deliveries set created = ${before}, attempts_count = case when state = 'pending' then 14 else 0 end,
      next_attempt_at = case when state = 'pending' then ${before}::timestamptz end`.execute(engine.db);
  await sql`update webhooks.endpoint_health set failures_count = 25`.execute(engine.db);
  await sql`
    update webhooks.ready set due_at = ${now}, gate = ${new Date(now.getTime() + hour)}`.execute(engine.db);
  engine.startWorker();
  await until(async () => (await engine.deliveries())[0]?.state === 'exhausted');
  const [, next] = await engine.deliveries();
  expect(next).toMatchObject({ state: 'pending', attempts_count: 0 });
  expect(next?.next_attempt_at?.getTime()).toBeGreaterThanOrEqual(now.getTime());
});

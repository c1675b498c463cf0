import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim } from '#src/webhooks/deliver/claim.ts';
import { quick, unknown } from '#src/webhooks/pacing/concurrency-limit.ts';
import { createSlots, type Slots } from '#src/webhooks/pacing/slots.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  ({ endpointUid: uid } = await engine.addEndpoint(receiver.url));
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

/** Due deliveries of an endpoint whose schedule is due. */
const leaveDue = async (count: number): Promise<void> => {
  receiver.behave(() => undefined);
  const stop = engine.startWorker();
  for (let number = 1; number <= count; number += 1) await engine.record({ entity: `cus_${number}`, seq: 1 });
  await until(async () => (await engine.deliveries()).length === count);
  await stop();
  engine.advance(60_000);
  await sql`update webhooks.ready set class = ${unknown}, due_at = ${engine.clock.now()}`.execute(engine.db);
};

const claimWith = (slots: Slots) => claim(engine.db, engine.clock.now(), slots, randomUUID());

const bounds = { slotsMax: 8, slowSlotsMax: 8, perEndpointMax: 1, slowMs: 1_000, shortMs: 50 };

test('a claim reports whether due deliveries were left for want of a slot, and only then it is repeated', async () => {
  await leaveDue(2);
  const slots = createSlots(bounds);
  const first = await claimWith(slots);
  expect(first.deliveries).toHaveLength(1);
  expect(first.isWhole).toBe(false);
  // The endpoint has all its slots, and one more delivery is due.
  const second = await claimWith(slots);
  expect([second.deliveries, second.isWhole]).toEqual([[], false]);

  // As if that delivery had been sent: the endpoint still has no slot, and no other one is due.
  await sql`update webhooks.ready set due_at = 'infinity' where endpoint_uid = ${uid}`.execute(engine.db);
  const third = await claimWith(slots);
  expect([third.deliveries, third.isWhole]).toEqual([[], true]);

  // Other endpoints have all slots: the due delivery is left, and the claim reports that.
  const taken = createSlots(bounds);
  for (let number = 0; number < bounds.slotsMax; number += 1) taken.take(`whe_${number}`, false);
  expect((await claimWith(taken)).isWhole).toBe(true);
  await sql`update webhooks.ready set class = ${quick}, due_at = ${engine.clock.now()}`.execute(engine.db);
  expect((await claimWith(taken)).isWhole).toBe(false);
});

test('a delivery that is recorded while a claim leases it does not leave the others of its endpoint behind', async () => {
  await leaveDue(2);
  const [recorded, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // A worker whose lease has ended records its attempt.
  const recording = engine.db.transaction().execute(async (tx) => {
    await sql`
      update webhooks.deliveries set state = 'succeeded', next_attempt_at = null, lease_token = null, lease_until = null
      where uid = (select uid from webhooks.deliveries order by next_attempt_at limit 1)`.execute(tx);
    recorded.resolve();
    await released.promise;
  });
  await recorded.promise;
  const claiming = claimWith(createSlots(bounds));
  await until(async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(engine.db);
    return rows.length > 0;
  });
  released.resolve();
  await recording;
  expect((await claiming).deliveries).toEqual([]);
  expect((await claimWith(createSlots(bounds))).deliveries).toHaveLength(1);
});

/** Rows of deliveries that were updated, and those that were fetched by an index. A connection adds both at the same moment. */
const deliveriesRead = async (): Promise<{ updated: number; fetched: number }> => {
  const { rows } = await sql<{ updated: number; fetched: number }>`
    select coalesce(sum(n_tup_upd), 0)::integer as updated, coalesce(sum(idx_tup_fetch), 0)::integer as fetched
    from pg_stat_user_tables where schemaname = 'webhooks' and relname like 'deliveries%'`.execute(engine.db);
  const [read] = rows;
  if (read === undefined) throw new Error('a sum without a row');
  return read;
};

test('A-854 each delivery of an event for hundreds of endpoints costs as many reads as one of an event for few', async () => {
  const count = 300;
  // An owner has 20 endpoints at most.
  for (let number = 1; number < count; number += 1)
    await engine.addEndpoint(receiver.url, { owner: { kind: 'panel', id: `usr_${number % 20}` } });
  await engine.record({ entity: 'cus_1', seq: 1 });
  const stop = engine.startWorker();
  await until(async () => {
    const states = (await engine.deliveries()).map(({ state }) => state);
    return states.length === count && states.every((state) => state === 'succeeded');
  });
  await stop();
  await until(async () => (await deliveriesRead()).updated >= count);
  // Found by the event alone, each delivery would be found among all of the event: 300 reads, once when it is claimed and once when its result is written.
  expect((await deliveriesRead()).fetched).toBeLessThan(count * 50);
});

/** An attempt that waited before it was sent, for longer than its lease or the permission of its worker lasted. */
import type { PoolClient } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordEvent, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createEndpoint, failNextDeliveries, type OwnerRights } from '#src/webhooks/index.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { draftOf, type Engine, kinds, startEngine } from '../harness/engine.ts';

const sandbox = 'rst_test_webhooks';
/** Less than a read may take, which then fails. */
const belowReadMs = 20_000;

let engine: Engine;
let receiver: WebhookReceiver;
const holders: PoolClient[] = [];

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
});

afterEach(async () => {
  for (const holder of holders.splice(0)) holder.release(true);
  await engine.close();
  await receiver.close();
});

/** Each statement that reads or writes the table waits until the transaction ends. */
const lock = async (table: string): Promise<{ end(): Promise<void> }> => {
  const holder = await engine.pool.connect();
  holders.push(holder);
  await holder.query('set idle_in_transaction_session_timeout = 0');
  await holder.query('begin');
  await holder.query(`lock table ${table} in access exclusive mode`);
  return { end: async () => void (await holder.query('commit')) };
};

const leaseToken = async (): Promise<string | null> => {
  const { rows } = await engine.pool.query<{ token: string | null }>(
    'select lease_token as token from webhooks.deliveries',
  );
  return rows[0]?.token ?? null;
};

/** Resolves when the delivery has another lease than `first`. */
const untilLeasedAgain = (first: string | null): Promise<void> =>
  until(async () => ![null, first].includes(await leaseToken()));

const isSucceeded = async (): Promise<boolean> => (await engine.deliveries())[0]?.state === 'succeeded';

/** What an attempt would need that is on its way. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 500));

test('A-636 an attempt uses the keys that its worker knows while a read of newer ones hangs', async () => {
  await engine.addEndpoint(receiver.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(isSucceeded);
  const keys = await lock('webhooks.signing_keys');
  engine.advance(61_000);
  await engine.record({ entity: 'cus_2', seq: 1 });
  await until(() => receiver.received.length === 2, belowReadMs);
  await keys.end();
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
  expect(receiver.received).toHaveLength(2);
});

test('A-636 a delivery whose first attempt waited for keys until it was leased again is sent once', async () => {
  await engine.addEndpoint(receiver.url);
  const keys = await lock('webhooks.signing_keys');
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await leaseToken()) !== null);
  const startedMs = Date.now();
  const first = await leaseToken();
  engine.advance(24_000);
  engine.startWorker();
  await untilLeasedAgain(first);
  // A worker measures the time of its leases by a clock that no test moves.
  await until(() => Date.now() - startedMs > 6_000);
  await keys.end();
  await until(isSucceeded);
  await settle();
  expect(receiver.received).toHaveLength(1);
});

test('A-636 an attempt that waited while its worker was cut is not sent before the worker is confirmed again', async () => {
  await engine.addEndpoint(receiver.url);
  const keys = await lock('webhooks.signing_keys');
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await leaseToken()) !== null);
  const workers = await lock('webhooks.workers');
  const lockedMs = Date.now();
  await until(() => Date.now() - lockedMs > 3_500);
  await keys.end();
  await settle();
  expect(receiver.received).toHaveLength(0);
  await workers.end();
  await until(isSucceeded);
  expect(receiver.received).toHaveLength(1);
});

test('A-636 an attempt that waited while another worker took over its lease is not sent by the new identity of its worker', async () => {
  await engine.addEndpoint(receiver.url);
  const keys = await lock('webhooks.signing_keys');
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await leaseToken()) !== null);
  const first = await leaseToken();
  // As another worker does that finds this one dead.
  const { rows: dead } = await engine.pool.query<{ uid: string }>('delete from webhooks.workers returning uid');
  await engine.pool.query('update webhooks.deliveries set lease_token = null, lease_until = null');
  await until(async () => {
    const { rows } = await engine.pool.query<{ uid: string }>('select uid from webhooks.workers');
    return rows.length === 1 && rows[0]?.uid !== dead[0]?.uid;
  });
  await engine.pool.query('update webhooks.ready set due_at = $1', [engine.clock.now()]);
  engine.startWorker();
  await untilLeasedAgain(first);
  await keys.end();
  await until(isSucceeded);
  await settle();
  expect(receiver.received).toHaveLength(1);
});

test('A-636 an attempt that waited while its owner lost the right to read the event is not sent', async () => {
  let readable: readonly string[] = kinds;
  const rights: OwnerRights = {
    kinds,
    changesSince: async () => ({ version: String(readable.length), changed: 'all' }),
    kindsOf: async (owners) => owners.map(() => readable),
  };
  await engine.addEndpoint(receiver.url, { owner: { kind: 'api_client', id: 'opc_till' } });
  const keys = await lock('webhooks.signing_keys');
  engine.startWorker({ rights });
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await leaseToken()) !== null);
  readable = ['orders'];
  await until(async () => {
    const { rows } = await engine.pool.query(`select from webhooks.endpoints where 'customers' = any(withheld_kinds)`);
    return rows.length === 1;
  });
  await keys.end();
  await until(async () => (await engine.deliveries())[0]?.state === 'cancelled');
  expect(receiver.received).toHaveLength(0);
});

test('A-636 a delivery of a sandbox waits a second at most for whether it has to fail', async () => {
  await inTransaction(engine.db, (tx) => setKinds(tx, sandbox, Object.fromEntries(kinds.map((kind) => [kind, true]))));
  await createEndpoint(
    { ...engine, kinds, rules: { allowPrivate: true, allowedOrigins: [] } },
    { tenant: sandbox, url: receiver.url, owner: { kind: 'panel', id: 'test' } },
  );
  const record = (entity: string) =>
    inTransaction(engine.db, (tx) => recordEvent(tx, draftOf({ tenant: sandbox, entity, seq: 1 }, engine.clock.now())));
  expect(await failNextDeliveries(engine.db, sandbox, 1)).toBe(1);
  engine.startWorker();
  await record('cus_failing');
  await until(async () => (await engine.deliveries())[0]?.attempts_count === 1);
  expect(receiver.received).toHaveLength(0);
  const facts = await lock('platform.facts');
  await record('cus_2');
  await until(() => receiver.received.length === 1, belowReadMs);
  await facts.end();
  await until(async () => (await engine.deliveries())[1]?.state === 'succeeded');
  expect(receiver.received).toHaveLength(1);
});

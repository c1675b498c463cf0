import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { listDisabled } from '#src/webhooks/index.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type DeliveryRow, type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
const receivers: WebhookReceiver[] = [];

beforeEach(async () => {
  engine = await startEngine();
});

afterEach(async () => {
  await engine.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

const open = async (...behaviour: Parameters<typeof startReceiver>): Promise<WebhookReceiver> => {
  const receiver = await startReceiver(...behaviour);
  receivers.push(receiver);
  return receiver;
};

/** The one delivery once it has had `count` attempts. */
const afterAttempts = async (count: number): Promise<DeliveryRow> => {
  let row: DeliveryRow | undefined;
  await until(async () => {
    [row] = await engine.deliveries();
    return row !== undefined && row.attempts_count >= count;
  });
  if (row === undefined) throw new Error('no delivery');
  return row;
};

test('A-132 any 2xx is a success: the delivery succeeds and its attempt is stored', async () => {
  const receiver = await open(status(204));
  await engine.addEndpoint(receiver.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  const delivery = await afterAttempts(1);
  expect(delivery).toMatchObject({ state: 'succeeded', next_attempt_at: null });
  expect(await engine.attempts(delivery.uid)).toEqual([{ number: 1, status: 204, failure: null, response: '' }]);
});

test('A-132 a redirect is a failure and is not followed', async () => {
  const elsewhere = await open();
  const receiver = await open(status(302, { location: elsewhere.url }));
  await engine.addEndpoint(receiver.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  const delivery = await afterAttempts(1);
  expect(delivery.state).toBe('pending');
  expect((await engine.attempts(delivery.uid))[0]).toMatchObject({ status: 302, failure: 'redirect' });
  expect(elsewhere.connections()).toBe(0);
});

test('A-132 500, a reset connection, a port that refuses and a silent receiver are failures of their kind, to be retried', async () => {
  const cases: [string, Parameters<typeof startReceiver>[0]][] = [
    ['status', status(500)],
    ['reset', (response) => response.socket?.resetAndDestroy()],
    ['timeout', () => undefined],
  ];
  for (const [, behaviour] of cases) await engine.addEndpoint((await open(behaviour)).url);
  const closed = await startReceiver();
  await closed.close();
  await engine.addEndpoint(closed.url);
  engine.startWorker({ attemptTimeoutMs: 3_000 });
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await engine.deliveries()).filter((row) => row.attempts_count === 1).length === 4);
  const failures: (string | null | undefined)[] = [];
  for (const { uid, state } of await engine.deliveries()) {
    expect(state).toBe('pending');
    failures.push((await engine.attempts(uid))[0]?.failure);
  }
  expect(failures.sort()).toEqual(['connect', 'reset', 'status', 'timeout']);
});

test('16 KiB of a long response are stored, and a receiver that answered 200 has the event even if its body never ends', async () => {
  const long = await open((response) => void response.writeHead(500).end('x'.repeat(1_000_000)));
  const endless = await open((response) => void response.writeHead(200, { 'content-length': '100' }).write('x'));
  await engine.addEndpoint(long.url);
  await engine.addEndpoint(endless.url);
  engine.startWorker({ attemptTimeoutMs: 3_000 });
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await engine.deliveries()).filter((row) => row.attempts_count === 1).length === 2);
  const rows = await engine.deliveries();
  expect(rows.map(({ state }) => state).sort()).toEqual(['pending', 'succeeded']);
  const failed = rows.find(({ state }) => state === 'pending');
  expect((await engine.attempts(failed?.uid ?? ''))[0]?.response).toHaveLength(16 * 1024);
});

test('A-135 410 disables the endpoint at once: unfinished deliveries are cancelled and nothing more is sent', async () => {
  const gone = await open(status(410));
  const alive = await open();
  const { endpointUid: uid } = await engine.addEndpoint(gone.url);
  await engine.addEndpoint(alive.url);
  await engine.record({ entity: 'cus_1', seq: 1 });
  await engine.record({ entity: 'cus_1', seq: 2 });
  engine.startWorker();
  await until(async () => {
    const { rows } = await sql<{ enabled: boolean }>`select enabled from webhooks.endpoints where uid = ${uid}`.execute(
      engine.db,
    );
    return rows[0]?.enabled === false;
  });
  await engine.record({ entity: 'cus_1', seq: 3 });
  await until(async () => (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === 3);
  expect(alive.received).toHaveLength(3);
  expect(gone.received).toHaveLength(1);
  const states = (await engine.deliveries()).map(({ state }) => state).sort();
  expect(states).toEqual(['cancelled', 'cancelled', 'succeeded', 'succeeded', 'succeeded']);
  const { rows } = await sql<{
    disabled_reason: string;
  }>`select disabled_reason from webhooks.endpoints where uid = ${uid}`.execute(engine.db);
  expect(rows[0]?.disabled_reason).toBe('gone');
});

const viewer = { tenant, client: undefined };

test('A-502 a 410 of an address that the endpoint has no more leaves it enabled, and the delivery goes to the new address', async () => {
  let answer = (): void => undefined;
  const old = await open((response) => {
    answer = () => void response.writeHead(410).end();
  });
  const next = await open();
  const { endpointUid: uid } = await engine.addEndpoint(old.url);
  await engine.record({ entity: 'cus_1', seq: 1 });
  engine.startWorker();
  await until(() => old.received.length === 1);
  await inTransaction(engine.db, (tx) => updateEndpoint(tx, viewer, uid, { url: next.url }, engine.clock.now()));
  answer();
  const delivery = await afterAttempts(1);
  expect(delivery.state).toBe('pending');
  expect((await engine.attempts(delivery.uid))[0]).toMatchObject({ status: 410, failure: 'status' });
  expect(await listDisabled(engine.db, new Date(0), { limit: 10, skip: 0 })).toEqual([]);
  engine.advance(6_000);
  await until(() => next.received.length === 1);
  expect((await afterAttempts(2)).state).toBe('succeeded');
  expect(old.received).toHaveLength(1);
});

test('A-503 a 410 to an attempt from before its owner disabled and enabled the endpoint leaves it enabled', async () => {
  let answer = (): void => undefined;
  const receiver = await open((response, _, number) => {
    answer = () => void response.writeHead(410).end();
    if (number > 1) response.writeHead(204).end();
  });
  const { endpointUid: uid } = await engine.addEndpoint(receiver.url);
  await engine.record({ entity: 'cus_1', seq: 1 });
  engine.startWorker();
  await until(() => receiver.received.length === 1);
  for (const enabled of [false, true])
    await inTransaction(engine.db, (tx) => updateEndpoint(tx, viewer, uid, { enabled }, engine.clock.now()));
  answer();
  await until(async () => (await engine.deliveries())[0]?.state === 'cancelled');
  await engine.record({ entity: 'cus_1', seq: 2 });
  await until(() => receiver.received.length === 2);
  expect(await listDisabled(engine.db, new Date(0), { limit: 10, skip: 0 })).toEqual([]);
});

test('a failure that is recorded after an endpoint was disabled does not make it look disabled anew', async () => {
  const gone = await open(status(410));
  const { endpointUid: uid } = await engine.addEndpoint(gone.url);
  await engine.record({ entity: 'cus_1', seq: 1 });
  engine.startWorker();
  const disabled = () => listDisabled(engine.db, new Date(0), { limit: 10, skip: 0 });
  await until(async () => (await disabled()).length === 1);
  const before = await disabled();
  // As of an attempt that ran beside the one with 410.
  await sql`
    update webhooks.endpoint_health set last_failure = last_failure + interval '10 s'
    where endpoint_uid = ${uid}`.execute(engine.db);
  expect(await disabled()).toEqual(before);
});

test('an endpoint receives each event of its kinds once, with any number of workers', async () => {
  const all = await open();
  const some = await open();
  await engine.addEndpoint(all.url);
  await engine.addEndpoint(some.url, { kinds: ['orders'] });
  for (let worker = 0; worker < 3; worker += 1) engine.startWorker();
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? engine.record({ entity: `cus_${index}`, seq: 1 })
        : engine.record({
            entity: `ord_${index}`,
            seq: 1,
            kind: 'orders',
            event: 'order.new',
            object: 'order',
            trailing: {},
          }),
    ),
  );
  await until(async () => (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === 60);
  const ids = (receiver: WebhookReceiver): string[] =>
    receiver.received.map(({ headers }) => String(headers['webhook-id']));
  expect(new Set(ids(all)).size).toBe(40);
  expect(ids(all)).toHaveLength(40);
  expect(ids(some)).toHaveLength(20);
  expect(some.received.every(({ body }) => (JSON.parse(body) as { event: string }).event === 'order.new')).toBe(true);
});

test('a receiver that hangs delays no other receiver, and a stopping worker does not wait for its answers', async () => {
  const hanging = await open(() => undefined);
  const healthy = await open();
  await engine.addEndpoint(hanging.url);
  await engine.addEndpoint(healthy.url);
  const stop = engine.startWorker();
  for (let index = 0; index < 100; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  await until(() => healthy.received.length === 100);
  // Never more attempts at once than one endpoint may have.
  expect(hanging.received.length).toBeLessThanOrEqual(8);
  const asked = Date.now();
  await stop();
  // Attempts in flight get 2 s of the 15 s that they may take.
  expect(Date.now() - asked).toBeLessThan(15_000);
});

test('an attempt shows its address, the time of each part and the response, without secrets in the response', async () => {
  let secret = '';
  const key = `opk_${'a'.repeat(12)}_${'b'.repeat(40)}`;
  const echoing = await open((response) => {
    const answer = { note: 'kept', secret: 'of its own', sent: secret, key, auth: 'Bearer abcdefghijklmnop' };
    response.writeHead(500).end(JSON.stringify(answer));
  });
  ({ secret } = await engine.addEndpoint(echoing.url));
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  const delivery = await afterAttempts(1);
  const { rows } = await sql<Record<string, unknown> & { response: string }>`
    select address, status, failure, response, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms
    from webhooks.attempts where delivery_uid = ${delivery.uid}`.execute(engine.db);
  const [attempt] = rows;
  expect(attempt).toMatchObject({ address: '127.0.0.1', status: 500, failure: 'status', tls_ms: null });
  for (const name of ['dns_ms', 'connect_ms', 'first_byte_ms', 'total_ms'])
    expect(attempt?.[name]).toBeTypeOf('number');
  expect(delivery.next_attempt_at?.getTime()).toBeGreaterThan(engine.clock.now().getTime());
  expect(JSON.parse(attempt?.response ?? '')).toEqual({
    note: 'kept',
    secret: '[redacted]',
    sent: '[redacted]',
    key: '[redacted]',
    auth: 'Bearer [redacted]',
  });
});

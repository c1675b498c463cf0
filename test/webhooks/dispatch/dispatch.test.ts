import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createEndpoint } from '#src/webhooks/index.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, kinds, startEngine, tenant } from '../harness/engine.ts';

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

/** Many events, each of an entity of its own. */
const recordMany = async (count: number): Promise<void> => {
  await sql`
    insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
    select 'evt_many_' || n, ${tenant}, 'customers', 'customer.changed', 'cus_many_' || n, 1, ${engine.clock.now()}, '{}'
    from generate_series(1, ${count}::int) as n`.execute(engine.db);
};

const entities = (receiver: WebhookReceiver): string[] =>
  receiver.received.map(({ body }) => (JSON.parse(body) as { customer: { uid: string } }).customer.uid).sort();

test('an event goes once to every enabled endpoint of its tenant, however often it is dispatched', async () => {
  const [left, right, off, foreign] = [await open(), await open(), await open(), await open()];
  await engine.addEndpoint(left.url);
  await engine.addEndpoint(right.url);
  const disabled = await engine.addEndpoint(off.url);
  await sql`update webhooks.endpoints set enabled = false where uid = ${disabled.endpointUid}`.execute(engine.db);
  const { db, box, clock } = engine;
  await createEndpoint(
    { db, box, clock, kinds, rules: { allowPrivate: true, allowedOrigins: [] } },
    { tenant: 'rst_other', url: foreign.url, owner: { kind: 'panel', id: 'test' } },
  );
  await inTransaction(db, (tx) => setKinds(tx, 'rst_other', { customers: true }));
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === 2);

  // As after a restore: the events look new again.
  await sql`
    insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
    select nextval('outbox.event_positions'), id, tenant, kind, event, entity, created from outbox.events`.execute(db);
  await engine.record({ entity: 'cus_2', seq: 1 });
  await engine.record({ entity: 'cus_foreign', seq: 1, tenant: 'rst_other' });
  await until(async () => (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === 5);
  expect([entities(left), entities(right), entities(off), entities(foreign)]).toEqual([
    ['cus_1', 'cus_2'],
    ['cus_1', 'cus_2'],
    [],
    ['cus_foreign'],
  ]);
});

test('an event without a subscriber makes no delivery; an endpoint receives events recorded after it was made', async () => {
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*) as waiting from outbox.waiting`.execute(engine.db);
    return rows[0]?.waiting === 0;
  });
  const receiver = await open();
  await engine.addEndpoint(receiver.url);
  await engine.record({ entity: 'cus_2', seq: 1 });
  await until(() => receiver.received.length === 1);
  expect(entities(receiver)).toEqual(['cus_2']);
});

test('known entities of a tenant with many endpoints are dispatched, though all their queues need more locks than PostgreSQL has', async () => {
  const receiver = await open();
  const { endpointUid } = await engine.addEndpoint(receiver.url);
  const { rows } = await sql<{ locks: number }>`
    select current_setting('max_locks_per_transaction')::int
      * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int + 40) as locks`.execute(
    engine.db,
  );
  const endpoints = Math.ceil((1.6 * (rows[0]?.locks ?? 0)) / 200);
  await sql`
    insert into webhooks.endpoints select (jsonb_populate_record(one, jsonb_build_object('uid', one.uid || n))).*
    from webhooks.endpoints one, generate_series(2, ${endpoints}::int) n where uid = ${endpointUid}`.execute(engine.db);
  await sql`
    insert into outbox.events (id, tenant, kind, event, entity, seq, previous_seq, created, body)
    select 'evt_known_' || n, ${tenant}, 'customers', 'customer.changed', 'cus_known_' || n, 2, 1, ${engine.clock.now()}, '{}'
    from generate_series(1, 200) as n`.execute(engine.db);
  engine.startWorker();
  await until(async () => {
    const { rows: made } = await sql<{ count: number }>`select count(*)::int from webhooks.deliveries`.execute(
      engine.db,
    );
    return made[0]?.count === 200 * endpoints;
  });
});

test('a worker whose database connections are all cut goes on', async () => {
  const receiver = await open();
  await engine.addEndpoint(receiver.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`.execute(engine.db);
  await until(() =>
    engine.record({ entity: 'cus_2', seq: 1 }).then(
      () => true,
      () => false,
    ),
  );
  await until(() => entities(receiver).includes('cus_2'));
  // The dispatcher listens again on a new connection.
  await until(async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'webhook-dispatch'`.execute(engine.db);
    return rows[0]?.count === 1;
  });
});

test('a long backlog of one endpoint does not hold up another', async () => {
  const backlog = 3_000;
  // Slow enough that its backlog still exists when the other event is recorded.
  const busy = await open((response) => void setTimeout(() => response.writeHead(204).end(), 50));
  await engine.addEndpoint(busy.url, { kinds: ['customers'] });
  await recordMany(backlog);
  engine.startWorker();
  await until(() => busy.received.length > 50);
  const quiet = await open();
  await engine.addEndpoint(quiet.url, { kinds: ['orders'] });
  await engine.record({ entity: 'ord_1', seq: 1, kind: 'orders', event: 'order.new', object: 'order' });
  await until(() => quiet.received.length === 1);
  const passed = busy.received.length;
  // Behind the backlog it would arrive after all of it.
  expect(passed).toBeLessThan(backlog / 2);
  await until(() => busy.received.length > passed + 50);
});

test('an owner has at most 20 endpoints, also when they are made at the same time; each owner has its own 20', async () => {
  const { db, box, clock } = engine;
  const make = (id: string) =>
    createEndpoint(
      { db, box, clock, kinds, rules: { allowPrivate: true, allowedOrigins: [] } },
      { tenant, url: 'http://127.0.0.1:2/hook', owner: { kind: 'api_client', id } },
    );
  const made = await Promise.allSettled(Array.from({ length: 25 }, () => make('one')));
  const refused = made.filter((result) => result.status === 'rejected');
  expect(refused).toHaveLength(5);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'CONFLICT' });
  await expect(make('two')).resolves.toHaveProperty('secret');
});

test('an owner may bring the secret; one that is too short or no base64 is refused', async () => {
  const { db, box, clock } = engine;
  const make = (secret: string) =>
    createEndpoint(
      { db, box, clock, kinds, rules: { allowPrivate: true, allowedOrigins: [] } },
      { tenant, url: 'http://127.0.0.1:2/hook', owner: { kind: 'panel', id: 'test' }, secret },
    );
  const good = [`whsec_${Buffer.alloc(24, 7).toString('base64')}`, 'a'.repeat(24), '~'.repeat(128)];
  for (const secret of good) expect(await make(secret)).toMatchObject({ secret });
  const bad = [
    '',
    'a'.repeat(23),
    'a'.repeat(129),
    `${'a'.repeat(24)} `,
    `whsec_${Buffer.alloc(23).toString('base64')}`,
  ];
  for (const secret of [...bad, `whsec_${'*'.repeat(40)}`]) {
    await expect(make(secret), secret).rejects.toMatchObject({ errors: [{ pointer: 'secret', code: 'FORMAT' }] });
  }
});

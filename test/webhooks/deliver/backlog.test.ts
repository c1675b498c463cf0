import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { openLoop } from '#src/webhooks/queue/loop-connection.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { fill } from '../harness/backlog.ts';
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

const states = async (endpointUid: string): Promise<Record<string, number>> => {
  const { rows } = await sql<{ state: string; count: number }>`
    select state, count(*) as count from webhooks.deliveries where endpoint_uid = ${endpointUid} group by state`.execute(
    engine.db,
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
};

test('A-135 a long backlog is cancelled in pieces after a 410, nothing of it is sent, and other endpoints receive meanwhile', async () => {
  const gone = await open(status(410));
  const { endpointUid: uid } = await engine.addEndpoint(gone.url);
  await fill(engine, uid, 5_000);
  engine.startWorker();
  await until(async () => (await states(uid)).cancelled === 5_000);
  const sent = gone.received.length;
  expect(sent).toBeLessThanOrEqual(8);
  // The result of an attempt is written, also when its delivery was cancelled meanwhile.
  const { rows } = await sql<{ count: number }>`select count(*) as count from webhooks.attempts`.execute(engine.db);
  expect(rows[0]?.count).toBe(sent);

  const alive = await open();
  await engine.addEndpoint(alive.url);
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => alive.received.length === 1);
  expect(gone.received.length).toBe(sent);
});

test('an endpoint that is enabled again while its backlog is being cancelled gets later events and no earlier ones', async () => {
  const receiver = await open(status(410));
  const { endpointUid: uid } = await engine.addEndpoint(receiver.url);
  await fill(engine, uid, 3_000);
  const stop = engine.startWorker();
  await until(() => receiver.received.length > 0);
  await until(async () => {
    const { rows } = await sql<{ enabled: boolean }>`select enabled from webhooks.endpoints`.execute(engine.db);
    return rows[0]?.enabled === false;
  });
  await stop();
  const before = receiver.received.length;
  receiver.behave(status(204));
  engine.advance(1_000);
  const viewer = { tenant, client: undefined };
  await inTransaction(engine.db, (tx) => updateEndpoint(tx, viewer, uid, { enabled: true }, engine.clock.now()));
  // One entity has an event in the backlog too; its later events must not wait for it.
  await engine.record({ entity: `cus_${uid}2999`, seq: 2 });
  await engine.record({ entity: 'cus_new', seq: 1 });
  engine.advance(30_000);
  engine.startWorker();
  await until(async () => (await states(uid)).succeeded === 2);
  await until(async () => (await states(uid)).cancelled === 3_000);
  expect(receiver.received.slice(before).filter(({ body }) => body.includes('backlog'))).toEqual([]);
});

test('A-686 an endpoint that was never tried gets its turn while backlogs of known endpoints use every slot', async () => {
  const known = await open();
  const uids = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => (await engine.addEndpoint(`${known.url}/${index}`)).endpointUid),
  );
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  // All have answered in time.
  await until(() => known.received.length === uids.length);
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
  await stop();

  const fresh = await open();
  const { endpointUid } = await engine.addEndpoint(fresh.url);
  await fill(engine, endpointUid, 1);
  for (const uid of uids) await fill(engine, uid, 500);
  await sql`update webhooks.ready set due_at = ${engine.clock.now()}`.execute(engine.db);
  engine.startWorker({ settings: { concurrency_max: 4 } });
  await until(() => fresh.received.length === 1);
  expect(known.received.length).toBeLessThan(3_000);
});

test('a claim beside a backlog of 200,000 reads a few pages by index, and a fresh delivery of another endpoint does not wait for it', async () => {
  // Its rate allows nothing for a while, and it has been due for longest: a claim by the oldest due rows would see only
  // these.
  const busy = await open(status(204));
  const { endpointUid: uid } = await engine.addEndpoint(busy.url);
  await sql`update webhooks.endpoints set max_per_second = 1 where uid = ${uid}`.execute(engine.db);
  await fill(engine, uid, 200_000);
  const fresh = await open();
  const { endpointUid: freshUid } = await engine.addEndpoint(fresh.url, { kinds: ['orders'] });
  engine.startWorker();
  await until(() => busy.received.length > 0);
  // The backlog alone takes more than two days at its rate.
  for (let index = 0; index < 20; index += 1) {
    await engine.record({ entity: `ord_${index}`, seq: 1, kind: 'orders', event: 'order.new', object: 'order' });
    await until(() => fresh.received.length === index + 1);
  }
  expect(freshUid).not.toBe(uid);

  // The statements of a claim: no scan of a table and no sorting of a backlog, whatever statistics the planner has.
  const loop = await openLoop(engine.pool);
  try {
    const now = engine.clock.now();
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain (analyze, buffers, summary off, timing off)
      select event_id, uid from webhooks.deliveries as delivery
      where state = 'pending' and (delivery.endpoint_uid, next_attempt_at) >= (${uid}, '-infinity')
        and (delivery.endpoint_uid, next_attempt_at) <= (${uid}, ${now}) and (lease_until is null or lease_until <= ${now})
      order by delivery.endpoint_uid, next_attempt_at limit 8 for no key update skip locked`.execute(loop.db);
    const [plan = ''] = rows
      .map((row) => row['QUERY PLAN'])
      .join('\n')
      .split('\nPlanning:');
    expect(plan).not.toMatch(/Seq Scan|-> +(Incremental )?Sort|Bitmap/);
    const buffers = [...plan.matchAll(/shared hit=(\d+)(?: read=(\d+))?/g)].map(
      ([, hit, read]) => Number(hit) + Number(read ?? 0),
    );
    expect(Math.max(...buffers)).toBeLessThan(200);
  } finally {
    loop.release();
  }
});

import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStoreLine } from '../../gateway/harness/store-line.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { type Killable, spawnWorker } from '../harness/spawn-worker.ts';
import { isFastPathOff } from '../harness/test-settings.ts';

let engine: Engine;
let receiver: WebhookReceiver;
const children: Killable[] = [];

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  await engine.addEndpoint(receiver.url);
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await engine.close();
  await receiver.close();
});

const spawn = (): Killable => {
  const child = spawnWorker('deliver', engine.url, engine.masterKey.toString('base64'));
  children.push(child);
  return child;
};

const seqsOf = (entity: string): number[] =>
  receiver.received
    .map(({ body }) => JSON.parse(body) as { customer: { uid: string }; seq: number })
    .filter(({ customer }) => customer.uid === entity)
    .map(({ seq }) => seq);

const header = (index: number, name: string): string => String(receiver.received[index]?.headers[name]);

const finished = async (count: number): Promise<boolean> =>
  (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === count;

const workerUids = async (): Promise<string[]> =>
  (await engine.pool.query<{ uid: string }>('select uid from webhooks.workers')).rows.map(({ uid }) => uid);

test('F-60 the deliveries of a killed worker are sent again under the same webhook-id, long before their leases end', async () => {
  receiver.behave(() => undefined);
  // Both run before the kill, because on a busy machine a process may take longer to start than a lease lasts.
  const first = spawn();
  await until(async () => (await workerUids()).length === 1);
  const [uid = ''] = await workerUids();
  const second = spawn();
  await until(async () => (await workerUids()).length === 2);
  await engine.record({ entity: 'cus_1', seq: 1 });
  await engine.record({ entity: 'cus_1', seq: 2 });
  await until(() => receiver.received.length === 1);
  // Longer than the test waits: a worker that waits for the end of the leases would not send them.
  await engine.pool.query(
    `update webhooks.deliveries set lease_until = lease_until + interval '5 minutes' where lease_until is not null`,
  );
  const { rows } = await engine.pool.query<{ token: string }>(
    'select lease_token as token from webhooks.deliveries where lease_token is not null',
  );
  await (rows[0]?.token.startsWith(uid) ? first : second).kill();

  receiver.behave(status(204));
  await until(() => finished(2));
  expect(seqsOf('cus_1')).toEqual([1, 1, 2]);
  for (const name of ['webhook-id', 'x-orderpass-delivery', 'x-orderpass-attempt'])
    expect(header(1, name)).toBe(header(0, name));
  expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
});

test('F-60 while the lock of a killed worker is still held, its deliveries wait for the end of their leases', async () => {
  receiver.behave(() => undefined);
  const child = spawn();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  const holder = await engine.pool.connect();
  const { rows } = await holder.query<{ uid: string; key: string }>(
    'select uid, lock_key::text as key from webhooks.workers',
  );
  const [dead] = rows;
  await child.kill();
  await holder.query('select pg_advisory_lock($1::bigint)', [dead?.key]);

  receiver.behave(status(204));
  engine.startWorker();
  await engine.record({ entity: 'cus_2', seq: 1 });
  await until(() => finished(1));
  // Workers look for dead ones all the time; this one sends no heartbeat for longer than they wait.
  await until(async () => {
    const found = await engine.pool.query(
      `select from webhooks.workers where uid = $1 and seen < clock_timestamp() - interval '6 s'`,
      [dead?.uid],
    );
    return found.rowCount === 1;
  });
  expect(seqsOf('cus_1')).toEqual([1]);
  engine.advance(30_000);
  await until(() => finished(2));
  expect(seqsOf('cus_1')).toEqual([1, 1]);
  holder.release(true);
});

test('F-60 a worker that loses its connection for a moment goes on, and no other worker sends its deliveries', async () => {
  let answer: (() => void) | undefined;
  receiver.behave((response, { body }) => {
    const end = (): void => void response.writeHead(204).end();
    if (body.includes('cus_held') && answer === undefined) answer = end;
    else end();
  });
  engine.startWorker();
  await engine.record({ entity: 'cus_held', seq: 1 });
  await until(() => answer !== undefined);
  const workers = async (): Promise<{ uid: string; seen: Date }[]> =>
    (await engine.pool.query<{ uid: string; seen: Date }>('select uid, seen from webhooks.workers order by uid')).rows;
  const [first] = await workers();
  engine.startWorker();
  await until(async () => (await workers()).length === 2);
  await engine.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'webhook-worker' and datname = current_database()`,
  );
  const cutAt = Date.now();
  // Longer than other workers wait for a heartbeat: they would have taken over by then.
  await until(async () => {
    const found = await workers();
    return (
      found.length === 2 && found[0]?.uid === first?.uid && found.every(({ seen }) => seen.getTime() > cutAt + 6_000)
    );
  });
  expect(seqsOf('cus_held')).toEqual([1]);
  answer?.();
  await until(() => finished(1));
  expect((await engine.deliveries())[0]).toMatchObject({ state: 'succeeded', attempts_count: 1 });
  expect(seqsOf('cus_held')).toEqual([1]);
});

test('F-60 a worker that stood still until others found it dead cuts its attempts, and goes on with a new identity', async () => {
  receiver.behave(() => undefined);
  const frozen = spawn();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  const { rows } = await engine.pool.query<{ uid: string }>('select uid from webhooks.workers');
  frozen.signal('SIGSTOP');
  await engine.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'webhook-worker' and datname = current_database()`,
  );
  receiver.behave(status(204));
  const stop = engine.startWorker();
  // It may stand still within a transaction, whose locks last until the server ends the session.
  await until(() => finished(1));
  await stop();
  frozen.signal('SIGCONT');
  await engine.record({ entity: 'cus_2', seq: 1 });
  await until(() => finished(2));
  expect(seqsOf('cus_1')).toEqual([1, 1]);
  expect(seqsOf('cus_2')).toEqual([1]);
  const [delivery] = await engine.deliveries();
  expect(await engine.attempts(delivery?.uid ?? '')).toMatchObject([{ number: 1, status: 204 }]);
  const now = await engine.pool.query<{ uid: string }>('select uid from webhooks.workers');
  expect(now.rows.map(({ uid }) => uid)).not.toContain(rows[0]?.uid);
});

test('A-138 workers that are killed one after the other lose no event and keep the sequence of each entity', async () => {
  receiver.behave((response, _request, number) => {
    setTimeout(() => response.writeHead(204).end(), (number * 7) % 12);
  });
  const entities = 6;
  const eventsEach = 30;
  const producing = Promise.all(
    Array.from({ length: entities }, async (_, entity) => {
      for (let seq = 1; seq <= eventsEach; seq += 1) await engine.record({ entity: `cus_${entity}`, seq });
    }),
  );
  for (let kill = 1; kill <= 3; kill += 1) {
    const before = receiver.received.length;
    const child = spawn();
    await until(() => receiver.received.length >= before + 10);
    await child.kill();
    // The clock cannot be moved in another process, so the leases are moved instead.
    await sql`update webhooks.deliveries set lease_until = lease_until - interval '30 seconds'
      where lease_until is not null`.execute(engine.db);
  }
  await producing;
  engine.startWorker();
  await until(() => finished(entities * eventsEach));
  for (let entity = 0; entity < entities; entity += 1) {
    const steps = seqsOf(`cus_${entity}`).filter((seq, index, all) => seq !== all[index - 1]);
    expect(steps).toEqual(Array.from({ length: eventsEach }, (_, index) => index + 1));
  }
});

test('when one of two worker processes is killed, the other one takes over its deliveries within 30 s', async () => {
  receiver.behave(() => undefined);
  const doomed = spawn();
  for (let index = 0; index < 5; index += 1) await engine.record({ entity: 'cus_held', seq: index + 1 });
  await until(() => receiver.received.length === 1);
  // The other worker runs all the time; it may not send deliveries leased to the first one.
  spawn();
  receiver.behave(status(204));
  await engine.record({ entity: 'cus_other', seq: 1 });
  await until(() => seqsOf('cus_other').length === 1);
  const killed = Date.now();
  await doomed.kill();
  await until(() => finished(6));
  expect(seqsOf('cus_held')).toEqual([1, 1, 2, 3, 4, 5]);
  const second = receiver.received.filter(({ body }) => body.includes('cus_held'))[1];
  expect((second?.at ?? 0) - killed).toBeLessThan(30_000);
});

test('a worker that others found dead cannot overwrite the result of the worker that took over', async () => {
  let answerLate: (() => void) | undefined;
  receiver.behave((response, _request, number) => {
    if (number === 1) answerLate = () => response.writeHead(500).end();
    else response.writeHead(204).end();
  });
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => answerLate !== undefined);
  engine.advance(26_000);
  engine.startWorker();
  await until(() => finished(1));
  answerLate?.();
  await engine.record({ entity: 'cus_1', seq: 2 });
  await until(() => finished(2));
  const [first] = await engine.deliveries();
  expect(first).toMatchObject({ state: 'succeeded', attempts_count: 1 });
  expect(await engine.attempts(first?.uid ?? '')).toMatchObject([{ number: 1, status: 204, failure: null }]);
});

test('a stopping worker lets a running attempt finish, and cuts one that hangs without counting it', async () => {
  receiver.behave((response, { body }) => {
    if (body.includes('cus_late')) setTimeout(() => response.writeHead(204).end(), 500);
  });
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_late', seq: 1 });
  await engine.record({ entity: 'cus_hanging', seq: 1 });
  await until(() => receiver.received.length === 2);
  await stop();
  const [late, hanging] = await engine.deliveries();
  expect(late).toMatchObject({ entity: 'cus_late', state: 'succeeded', attempts_count: 1 });
  expect(hanging).toMatchObject({ entity: 'cus_hanging', state: 'pending', attempts_count: 0 });

  // Its lease was returned: the next worker sends it without waiting for the lease to end.
  receiver.behave(status(204));
  engine.startWorker();
  await until(() => finished(2));
  expect(header(2, 'x-orderpass-attempt')).toBe('1');
});

test.skipIf(isFastPathOff)(
  'A-855 deliveries of a batch are sent at once when the answer to its commit was lost with the connection',
  async () => {
    const line = await openStoreLine(engine.url);
    children.push(spawnWorker('deliver', line.url, engine.masterKey.toString('base64')));
    try {
      // Deliveries to endpoints that are known and at rest take the fast path.
      await engine.record({ entity: 'cus_1', seq: 1 });
      await until(async () => {
        const { rows } = await engine.pool.query(`select from webhooks.ready where due_at = 'infinity'`);
        return rows.length === 1 && (await finished(1));
      });
      // The insertion of a delivery is the first statement with its uid.
      line.silence('dlv_');
      await engine.record({ entity: 'cus_2', seq: 1 });
      const lengthened = async (): Promise<boolean> => {
        // Longer than the test waits: a worker that waits for the end of the lease would not send it.
        const { rowCount } = await engine.pool.query(
          `update webhooks.deliveries set lease_until = lease_until + interval '5 minutes' where lease_until is not null`,
        );
        return rowCount === 1;
      };
      await until(lengthened);
      expect(receiver.received).toHaveLength(1);
      line.breakSilent();
      await until(() => finished(2));
      expect(receiver.received).toHaveLength(2);
    } finally {
      await Promise.all(children.splice(0).map((child) => child.kill()));
      await line.close();
    }
  },
);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openAdmin } from '#src/app/admin/admin.ts';
import { loadSettings } from '#src/app/settings/config.ts';
import type { Clock } from '#src/platform/clock.ts';
import { openDatabaseClock } from '#src/platform/db/database-clock.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { type Service, supervise } from '#src/platform/supervisor.ts';
import { openStoreLine } from '../../gateway/harness/store-line.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let answers: (() => void)[] = [];
let closers: (() => Promise<unknown>)[] = [];

const log = pino({ level: 'silent' });

const idsReceived = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']));

beforeEach(async () => {
  engine = await startEngine();
  answers = [];
  receiver = await startReceiver((response, { body }) => {
    if (body.includes('cus_hanging')) answers.push(() => response.writeHead(204).end());
    else response.writeHead(204).end();
  });
});

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const close of closers.splice(0)) await close();
  await engine.close();
  await receiver.close();
});

const hourMs = 3_600_000;

const databaseMs = async (): Promise<number> => {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(engine.db);
  return rows[0]?.now.getTime() ?? 0;
};

/** How far the clock is from that of the database, in milliseconds. */
const errorMs = async (clock: Clock): Promise<number> => {
  const before = await databaseMs();
  const now = clock.now().getTime();
  const after = await databaseMs();
  return Math.max(before - now, now - after, 0);
};

/** From now on this clock of the machine is so many milliseconds ahead. */
const setAhead = (of: 'wall' | 'monotonic', ms: number): void => {
  const clock = of === 'wall' ? Date : performance;
  const now = clock.now.bind(clock);
  vi.spyOn(clock, 'now').mockImplementation(() => now() + ms);
};

/** Keeps a clock right until the end of the test. */
const keepRight = (service: Service): (() => Promise<void>) => {
  const ended = new AbortController();
  const supervised = supervise([service], ended.signal, log);
  const end = async (): Promise<void> => {
    ended.abort();
    await supervised;
  };
  closers.unshift(end);
  return end;
};

test('workers use the clock of the database, wherever the clock of their machine is set', async () => {
  const { clock } = await openDatabaseClock(engine.pool, log);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  const later = await openDatabaseClock(engine.pool, log);
  for (const one of [clock, later.clock]) {
    const before = await databaseMs();
    const now = one.now().getTime();
    expect(now).toBeGreaterThan(before - 1_000);
    expect(now).toBeLessThan((await databaseMs()) + 1_000);
  }
});

test('two workers on machines whose clocks differ by an hour never send the same attempt at once', async () => {
  await engine.addEndpoint(receiver.url);
  engine.startWorker({ clock: (await openDatabaseClock(engine.pool, log)).clock });
  const hanging = await engine.record({ entity: 'cus_hanging', seq: 1 });
  await until(() => answers.length === 1);

  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  const second = engine.startWorker({ clock: (await openDatabaseClock(engine.pool, log)).clock });
  for (let index = 0; index < 5; index += 1) {
    await engine.record({ entity: `cus_${index}`, seq: 1 });
    await until(() => receiver.received.length === index + 2);
  }
  expect(idsReceived().filter((id) => id === hanging?.id)).toHaveLength(1);
  await second();

  // By its own clock the lease is over, and it sends the delivery whose attempt is in flight.
  engine.startWorker({ clock: { now: () => new Date() } });
  await until(() => answers.length === 2);
  expect(idsReceived().filter((id) => id === hanging?.id)).toHaveLength(2);
  for (const answer of answers) answer();
});

test('the time of the database is right where a question waits for a free connection', async () => {
  const pool = createPool({ connection: engine.url, max: 1, applicationName: 'test-clock' }, log);
  closers = [() => pool.end()];
  let isBusy = true;
  const work = async (): Promise<void> => {
    while (isBusy) await pool.query('select pg_sleep(0.8)');
  };
  const working = [work(), work()];
  let slowestMs = 0;
  const timed = {
    connect: async () => {
      const client = await pool.connect();
      const query = async (text: string): Promise<unknown> => {
        const askedMs = performance.now();
        const answer = await client.query(text);
        slowestMs = Math.max(slowestMs, performance.now() - askedMs);
        return answer;
      };
      return { query, release: () => client.release() };
    },
  };
  const { clock } = await openDatabaseClock(timed as unknown as Pool, log);
  isBusy = false;
  await Promise.all(working);
  // With the wait it would be off by 400 ms at least. A reading is as precise as half of its question, which a busy machine makes slow.
  expect(await errorMs(clock)).toBeLessThan(Math.max(250, slowestMs / 2 + 50));
});

test('a slow answer of the database replaces an earlier time only where that is wrong, and the question is asked again', async () => {
  const line = await openStoreLine(engine.url);
  closers = [line.close];
  // The first reading is a little off, to the other side than those that follow.
  line.slow(80, 'questions');
  const { clock, service } = await openDatabaseClock(line.pool, log);
  line.slow(0, 'questions');
  let firstMs = 0;
  for (let n = 0; n < 5; n += 1) firstMs = Math.max(firstMs, await errorMs(clock));
  keepRight(service);
  const asked = vi.spyOn(line.pool, 'connect');
  line.slow(600);
  // A wall clock that is set makes the program ask at once.
  setAhead('wall', hourMs);
  let worstMs = 0;
  const isAsking = (): boolean => line.pool.waitingCount > 0 || line.pool.idleCount < line.pool.totalCount;
  // Until slow answers are there, and none is on its way: no monotonic clock is set back during a question.
  while (asked.mock.calls.length < 2 || isAsking()) {
    worstMs = Math.max(worstMs, await errorMs(clock));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // A slow answer is off by 300 ms; the first reading by 40 ms, and by more on a busy machine.
  expect(worstMs).toBeLessThan(Math.max(200, firstMs + 50));
  // The monotonic clock stood still while the machine slept: half of the slowness is better than an hour.
  setAhead('monotonic', -hourMs);
  expect(await errorMs(clock)).toBeGreaterThan(hourMs / 2);
  await until(async () => (await errorMs(clock)) < 700);
  line.slow(0);
  await until(async () => (await errorMs(clock)) < 100);
});

test('a question during which the machine slept does not count as the fastest one', async () => {
  let questions = 0;
  const query = async (): Promise<object> => {
    questions += 1;
    const ms = await databaseMs();
    // Slower than the first one.
    if (questions > 1) await new Promise((resolve) => setTimeout(resolve, 200));
    if (questions > 1) return { rows: [{ ms }] };
    // Its answer came before the sleep, of which the monotonic clock shows nothing.
    setAhead('wall', hourMs);
    return { rows: [{ ms: ms - hourMs }] };
  };
  const pool = { connect: async () => ({ query, release: () => undefined }) };
  const { clock } = await openDatabaseClock(pool as unknown as Pool, log);
  expect(questions).toBeGreaterThan(1);
  expect(await errorMs(clock)).toBeLessThan(hourMs / 2);
});

test('a new connection, which may lead to another server, makes the program ask for the time at once', async () => {
  const pool = createPool({ connection: engine.url, applicationName: 'test-clock' }, log);
  closers = [() => pool.end()];
  const listeners = pool.listenerCount('connect');
  const { clock, service } = await openDatabaseClock(pool, log);
  const end = keepRight(service);
  // As if the clock of the new server were an hour ahead: nothing on this machine shows it.
  setAhead('monotonic', -hourMs);
  setAhead('wall', -hourMs);
  expect(await errorMs(clock)).toBeGreaterThan(hourMs / 2);
  const clients = await Promise.all([pool.connect(), pool.connect()]);
  for (const client of clients) client.release();
  await expect.poll(() => errorMs(clock)).toBeLessThan(1_000);
  await end();
  expect(pool.listenerCount('connect')).toBe(listeners);
});

test('a command that runs long has the right time after its machine slept', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'orderpass-clock-'));
  const settings = loadSettings({
    env: {
      DATABASE_URL: engine.url,
      ORDERPASS_MASTER_KEY: engine.masterKey.toString('base64'),
      ORDERPASS_DATA_DIR: dataDir,
    },
  });
  const admin = await openAdmin(settings, log);
  closers = [admin.close, async () => rmSync(dataDir, { recursive: true, force: true })];
  const { clientId } = await admin.createClient({ name: 'Till', tenants: [] });
  setAhead('monotonic', -hourMs);
  const revoke = async (): Promise<number> => {
    const before = await admin.credentials.revokeClientTokens(clientId);
    return Math.abs((await databaseMs()) - before.getTime());
  };
  await expect.poll(revoke).toBeLessThan(1_000);
});

import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openDatabaseClock } from '#src/platform/db/database-clock.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let answers: (() => void)[] = [];

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
  await engine.close();
  await receiver.close();
});

test('workers use the clock of the database, wherever the clock of their machine is set', async () => {
  const { clock } = await openDatabaseClock(engine.pool, log);
  const databaseMs = async (): Promise<number> => {
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(engine.db);
    return rows[0]?.now.getTime() ?? 0;
  };
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

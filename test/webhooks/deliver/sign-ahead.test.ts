import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { untilAtRest, untilDispatcherWaits } from '../harness/fast-path.ts';
import { isFastPathOff } from '../harness/test-settings.ts';

const testFast = test.skipIf(isFastPathOff);

let engine: Engine;
let receiver: WebhookReceiver;
let endpointUid: string;
let secret: string;
/** The time of the worker while its clock stands still. Undefined: it goes on. */
let stoppedAtMs: number | undefined;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  ({ endpointUid, secret } = await engine.addEndpoint(receiver.url));
  stoppedAtMs = undefined;
  engine.startWorker({ clock: { now: () => new Date(stoppedAtMs ?? engine.clock.now()) } });
  await engine.record({ entity: 'cus_known', seq: 1 });
  await until(async () => (await engine.deliveries())[0]?.state === 'succeeded');
  await untilAtRest(engine);
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

/** Records an event, and calls `meanwhile` while the dispatcher waits for its transaction, all of which it has sent. */
const recordAndHold = async (meanwhile: () => unknown): Promise<void> => {
  const client = await engine.pool.connect();
  try {
    const before = receiver.received.length;
    await client.query('begin; lock table webhooks.deliveries in share mode');
    await engine.record({ entity: `cus_${before}`, seq: 1 });
    await untilDispatcherWaits(engine, 'insert into webhooks.deliveries');
    expect(receiver.received).toHaveLength(before);
    await meanwhile();
    await client.query('commit');
  } finally {
    client.release(true);
  }
};

const arrived = (): Promise<void> => until(() => receiver.received.length === 2);

/** Of the delivery that arrived last. */
const verifiedTimestamp = (): number => {
  const last = receiver.received.at(-1);
  if (last === undefined) return Number.NaN;
  new Webhook(secret).verify(last.body, last.headers as Record<string, string>);
  return Number(last.headers['webhook-timestamp']);
};

const startMs = (): number => Math.floor(engine.clock.now().getTime() / 1_000) * 1_000;

testFast('a delivery is signed while the database commits its dispatch', async () => {
  // A delivery is left to a claim where a heartbeat of the worker is late, as on a busy machine.
  await until(async () => {
    const before = receiver.received.length;
    const beganMs = startMs();
    stoppedAtMs = beganMs;
    await recordAndHold(() => {
      stoppedAtMs = beganMs + 1_000;
    });
    await until(() => receiver.received.length === before + 1);
    return verifiedTimestamp() === beganMs / 1_000;
  });
});

testFast(
  'a delivery is signed again when its dispatch was committed more than a second after it was signed',
  async () => {
    const beganMs = startMs();
    stoppedAtMs = beganMs;
    await recordAndHold(() => {
      stoppedAtMs = beganMs + 2_000;
    });
    await arrived();
    expect(verifiedTimestamp()).toBe(beganMs / 1_000 + 2);
  },
);

testFast('a delivery that was signed for a dispatch that failed is sent once, by the next dispatch', async () => {
  await recordAndHold(() =>
    sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'webhook-dispatch'`.execute(engine.db),
  );
  await arrived();
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
  expect(receiver.received.map(({ headers }) => headers['x-orderpass-delivery'])).toEqual(
    (await engine.deliveries()).map(({ uid }) => uid),
  );
  verifiedTimestamp();
});

testFast('a secret that cannot be opened delays its delivery alone, and the worker goes on', async () => {
  const { rows } = await sql<{ secret: Buffer }>`
    select secret from webhooks.endpoints where uid = ${endpointUid}`.execute(engine.db);
  const [kept] = rows;
  const setSecret = (value: Buffer | undefined) =>
    sql`update webhooks.endpoints set secret = ${value} where uid = ${endpointUid}`.execute(engine.db);
  await setSecret(Buffer.alloc(64));
  // Meanwhile nothing awaits the headers, so an unhandled rejection would fail this run.
  await recordAndHold(() => undefined);
  await until(async () => {
    const [, delivery] = await engine.deliveries();
    return delivery !== undefined && Number(delivery.next_attempt_at) > engine.clock.now().getTime();
  });
  expect(receiver.received).toHaveLength(1);
  await setSecret(kept?.secret);
  engine.advance(10_000);
  await arrived();
  verifiedTimestamp();
});

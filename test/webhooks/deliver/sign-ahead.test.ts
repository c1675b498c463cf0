import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { isFastPathOff } from '../harness/test-settings.ts';

const testFast = test.skipIf(isFastPathOff);

let engine: Engine;
let receiver: WebhookReceiver;
let endpointUid: string;
let secret: string;
/** Where the clock of the worker stands. Undefined: it goes. */
let stoppedAtMs: number | undefined;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  ({ endpointUid, secret } = await engine.addEndpoint(receiver.url));
  stoppedAtMs = undefined;
  engine.startWorker({ clock: { now: () => new Date(stoppedAtMs ?? engine.clock.now()) } });
  // From now on the endpoint is known to answer, so its deliveries take the fast path.
  await engine.record({ entity: 'cus_known', seq: 1 });
  await until(async () => (await engine.deliveries())[0]?.state === 'succeeded');
  // A claim that looks at the endpoint during a test would hold its schedule.
  engine.advance(5_000);
  await until(async () => {
    const { rows } = await sql`
      select from webhooks.ready where endpoint_uid = ${endpointUid} and due_at = 'infinity'`.execute(engine.db);
    return rows.length > 0;
  });
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

/** Records an event and calls `meanwhile` when the dispatcher has sent all of its transaction, and waits for the answer. */
const recordAndHold = async (meanwhile: () => unknown): Promise<void> => {
  const client = await engine.pool.connect();
  try {
    await client.query('begin; lock table webhooks.deliveries in share mode');
    await engine.record({ entity: 'cus_1', seq: 1 });
    await until(async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and application_name = 'webhook-dispatch' and wait_event_type = 'Lock'
          and query like '%insert into webhooks.deliveries%'`.execute(engine.db);
      return rows.length > 0;
    });
    expect(receiver.received).toHaveLength(1);
    await meanwhile();
    await client.query('commit');
  } finally {
    client.release(true);
  }
  await until(() => receiver.received.length === 2);
};

const verifiedTimestamp = (): number => {
  const second = receiver.received[1];
  if (second === undefined) return Number.NaN;
  new Webhook(secret).verify(second.body, second.headers as Record<string, string>);
  return Number(second.headers['webhook-timestamp']);
};

const startMs = (): number => Math.floor(engine.clock.now().getTime() / 1_000) * 1_000;

testFast('a delivery is signed while the database commits its dispatch', async () => {
  const beganMs = startMs();
  stoppedAtMs = beganMs;
  await recordAndHold(() => {
    stoppedAtMs = beganMs + 1_000;
  });
  expect(verifiedTimestamp()).toBe(beganMs / 1_000);
});

testFast(
  'a delivery is signed again when its dispatch was committed more than a second after it was signed',
  async () => {
    const beganMs = startMs();
    stoppedAtMs = beganMs;
    await recordAndHold(() => {
      stoppedAtMs = beganMs + 2_000;
    });
    expect(verifiedTimestamp()).toBe(beganMs / 1_000 + 2);
  },
);

testFast('a delivery that was signed for a dispatch that failed is sent once, by the next dispatch', async () => {
  await recordAndHold(() =>
    sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'webhook-dispatch'`.execute(engine.db),
  );
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
  expect(receiver.received.map(({ headers }) => headers['x-orderpass-delivery'])).toEqual(
    (await engine.deliveries()).map(({ uid }) => uid),
  );
  verifiedTimestamp();
});

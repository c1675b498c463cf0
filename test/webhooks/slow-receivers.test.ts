import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endpointSecretLabel } from '#src/webhooks/opened-secrets.ts';
import { until } from '../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from './engine.ts';

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

/** Made at once, past the owner's limit, which is not what is tested. */
const addMany = async (url: string, count: number): Promise<void> => {
  const uids = Array.from({ length: count }, (_, index) => `whe_slow_${index}`);
  const secrets = uids.map((uid) => engine.box.seal('a-secret-of-24-characters', endpointSecretLabel(uid)));
  await sql`
    insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
    select ${tenant}, uid, 'panel', 'test', ${url} || '/' || uid, array['menu'], secret, ${engine.clock.now()}
    from unnest(${uids}::text[], ${secrets}::bytea[]) as made (uid, secret)`.execute(engine.db);
};

/** One delivery that is due for each of them. */
const owe = async (event: string): Promise<void> => {
  const now = engine.clock.now();
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      next_attempt_at, created)
    select ${tenant}, 'dlv_' || ${event} || uid, uid, platform.id_bound('evt', ${now}) || ${event}, 'order.new', 'orders',
      ${event}, 1, 1, '{}', 'pending', ${now}::timestamptz, ${now}::timestamptz
    from webhooks.endpoints where uid like 'whe_slow_%'`.execute(engine.db);
};

test('2,000 receivers that hang hold a bounded number of places and delay nobody who answers', async () => {
  const count = 2_000;
  let hanging = 0;
  let hangingMax = 0;
  const slow = await open((response) => {
    hanging += 1;
    hangingMax = Math.max(hangingMax, hanging);
    response.on('close', () => {
      hanging -= 1;
    });
  });
  const known = await open();
  await engine.addEndpoint(known.url, { kinds: ['customers'] });
  engine.startWorker({ settings: { concurrency_max: 32 } });
  await engine.record({ entity: 'cus_first', seq: 1 });
  await until(() => known.received.length === 1);
  await addMany(slow.url, count);
  await owe('a');
  await until(() => hangingMax >= 32);

  const latencies: number[] = [];
  for (let index = 0; index < 60; index += 1) {
    const recorded = Date.now();
    await engine.record({ entity: `cus_${index}`, seq: 1 });
    await until(() => known.received.length === index + 2);
    latencies.push(Date.now() - recorded);
  }
  latencies.sort((left, right) => left - right);
  expect(latencies[30]).toBeLessThan(500);
  expect(latencies.at(-1)).toBeLessThan(3_000);
  // Half of the usual places for those that are not known, and four waiting ones for each usual place.
  expect(hangingMax).toBeLessThanOrEqual(16 + 4 * 32);

  // Once it is known that they are slow, they are taken for slow by every worker, also one that begins anew.
  await until(async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from webhooks.ready where class = 2`.execute(engine.db);
    return (rows[0]?.count ?? 0) >= 100;
  }, 30_000);
}, 90_000);

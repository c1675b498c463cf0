import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quick, slow } from '#src/webhooks/pacing/concurrency-limit.ts';
import { endpointSecretLabel } from '#src/webhooks/signing/opened-secrets.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

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

const count = 10_000;
const perTenant = 20;

/** Endpoints of as many tenants as needed, each with a due delivery. `known`: they have answered in time before. */
const addSlow = async (url: string, known: boolean): Promise<void> => {
  const uids = Array.from({ length: count }, (_, index) => `whe_slow_${index}`);
  const secrets = uids.map((uid) => engine.box.seal('a-secret-of-24-characters', endpointSecretLabel(uid)));
  const now = engine.clock.now();
  await sql`
    insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
    select 'rst_slow_' || (number / ${perTenant}::int), uid, 'panel', 'test', ${url} || '/' || uid, array['orders'], secret,
      ${now}
    from unnest(${uids}::text[], ${secrets}::bytea[]) with ordinality as made (uid, secret, number)`.execute(engine.db);
  if (known)
    await sql`
      insert into webhooks.ready (endpoint_uid, due_at, class)
      select uid, 'infinity', ${quick}::smallint from unnest(${uids}::text[]) as uid order by uid`.execute(engine.db);
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      next_attempt_at, created)
    select tenant, 'dlv_' || uid, uid, platform.id_bound('evt', ${now}) || uid, 'order.new', 'orders', 'ord_' || uid, 1, 1,
      '{}', 'pending', ${now}::timestamptz, ${now}::timestamptz
    from webhooks.endpoints where uid like 'whe_slow_%'`.execute(engine.db);
};

const arrivalMs = async (receiver: WebhookReceiver, entity: string): Promise<number> => {
  const recorded = Date.now();
  await engine.record({ entity, seq: 1 });
  await until(() => receiver.received.some(({ body }) => body.includes(`"${entity}"`)));
  return Date.now() - recorded;
};

const arrivals = async (receiver: WebhookReceiver, name: string, count: number): Promise<number[]> => {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) times.push(await arrivalMs(receiver, `cus_${name}_${index}`));
  return times;
};

for (const [known, whose, hangingMost] of [
  // Half of the usual slots for unknown endpoints, and four slow slots for each usual one.
  [false, 'that are unknown', 16 + 4 * 32],
  [true, 'that answered in time until now', 32 + 4 * 32],
] as const) {
  test(`10,000 receivers ${whose} and that hang hold a bounded number of slots and delay no receiver that answers`, async () => {
    let hanging = 0;
    let hangingMax = 0;
    const slowOnes = await open((response) => {
      hanging += 1;
      hangingMax = Math.max(hangingMax, hanging);
      response.on('close', () => {
        hanging -= 1;
      });
    });
    const healthy = await open();
    await engine.addEndpoint(healthy.url, { kinds: ['customers'] });
    engine.startWorker({ settings: { concurrency_max: 32 } });
    await arrivalMs(healthy, 'cus_first');
    // What other work of the machine takes, it takes without slow receivers too.
    const usualMs = Math.max(...(await arrivals(healthy, 'usual', 20)));
    await addSlow(slowOnes.url, known);
    await until(() => hangingMax >= 64);

    const latencies = await arrivals(healthy, 'later', 60);
    // A new endpoint without any attempt.
    const late = await open();
    await engine.addEndpoint(late.url, { kinds: ['menu'] });
    const recorded = Date.now();
    await engine.record({ entity: 'men_1', seq: 1, kind: 'menu', event: 'menu.changed', object: 'menu' });
    await until(() => late.received.length === 1);
    latencies.push(Date.now() - recorded);
    latencies.sort((left, right) => left - right);
    expect(latencies[30]).toBeLessThan(500 + 2 * usualMs);
    expect(latencies.at(-1)).toBeLessThan(3_000 + 5 * usualMs);
    expect(hangingMax).toBeLessThanOrEqual(hangingMost);

    // Once they are known as slow, every worker treats them as slow, also a new one.
    await until(async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from webhooks.ready where class = ${slow}`.execute(engine.db);
      return (rows[0]?.count ?? 0) >= 100;
    });
  });
}

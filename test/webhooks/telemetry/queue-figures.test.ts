import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMetrics } from '#src/platform/telemetry/metrics.ts';
import { createReadQueue, watchQueue } from '#src/webhooks/telemetry/watch-queue.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver(status(500));
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

/** The metrics as a scrape sees them now. */
const figures = async (): Promise<{ answering: number; held: number }> => {
  const metrics = createMetrics();
  watchQueue(metrics, createReadQueue(engine), engine.clock);
  const { text } = await metrics.render();
  const value = (name: string): number => Number(new RegExp(`^orderpass_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return { answering: value('webhook_oldest_due_seconds'), held: value('webhook_held_oldest_due_seconds') };
};

test('F-64 metrics distinguish a dead receiver from a slow worker by how long deliveries have been due', async () => {
  await engine.addEndpoint(receiver.url, { kinds: ['customers'] });
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await engine.deliveries())[0]?.attempts_count === 1);
  await stop();
  engine.advance(600_000);
  // Only the endpoint that failed has a due delivery.
  const dead = await figures();
  expect(dead.answering).toBe(0);
  expect(dead.held).toBeGreaterThan(500);

  // A delivery that was never tried is due as well, because no worker runs: that is not the receiver's fault.
  const { endpointUid: uid } = await engine.addEndpoint(receiver.url, { kinds: ['orders'] });
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
      next_attempt_at, created)
    select tenant, 'dlv_due', uid, 'evt_due', 'order.new', 'orders', 'ord_1', 1, 1, 'pending', ${engine.clock.now()},
      ${engine.clock.now()}
    from webhooks.endpoints where uid = ${uid}`.execute(engine.db);
  engine.advance(100_000);
  const both = await figures();
  expect(both.answering).toBeGreaterThanOrEqual(100);
  expect(both.answering).toBeLessThan(500);
  expect(both.held).toBeGreaterThan(600);
  await sql`update webhooks.endpoints set enabled = false where uid = ${uid}`.execute(engine.db);
  expect((await figures()).answering).toBe(0);
});

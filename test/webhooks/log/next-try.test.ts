import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let receiver: WebhookReceiver;
let uid: string;

beforeEach(async () => {
  api = await startWebhookApi();
  receiver = await api.receiver(status(500));
  ({ uid } = await api.endpoint(receiver.url));
});

afterEach(() => api?.close());

type Next = { next_attempt: string | null; next_attempt_iso: string | null };

const nextOf = ({ next_attempt, next_attempt_iso }: Next): Next => ({ next_attempt, next_attempt_iso });
const ofEndpoint = async (): Promise<Next> => nextOf((await api.get('/webhook/endpoint', { uid })).json.endpoint);
/** By seq, newest first; the feed's beside them. */
const ofDeliveries = async (): Promise<Next[]> => {
  const { deliveries } = (await api.get('/webhook/deliveries')).json;
  const { events } = (await api.get('/events/list')).json;
  const inFeed = (events as { seq: number; deliveries: Next[] }[]).toReversed().flatMap((event) => event.deliveries);
  expect(inFeed.map(nextOf)).toEqual(deliveries.map(nextOf));
  for (const delivery of deliveries as (Next & { uid: string })[])
    expect(nextOf((await api.get('/webhook/delivery', { uid: delivery.uid })).json.delivery)).toEqual(nextOf(delivery));
  return deliveries.map(nextOf);
};

const due: Next = { next_attempt: 'due', next_attempt_iso: null };
const behind: Next = { next_attempt: 'behind', next_attempt_iso: null };
const nothing: Next = { next_attempt: null, next_attempt_iso: null };
const plannedAt = (pattern: RegExp) => ({ next_attempt: 'planned', next_attempt_iso: expect.stringMatching(pattern) });

test('F-42 the next try is a time to come, `due` for a delivery that waits to be sent, or `behind` an earlier event', async () => {
  expect(await ofEndpoint()).toEqual(nothing);
  const stop = api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await ofEndpoint()).next_attempt === 'planned');
  api.clock.advance(1_000);
  await api.record({ entity: 'cus_1', seq: 2 });
  await until(async () => (await api.get('/webhook/deliveries')).json.deliveries.length === 2);
  expect(await ofEndpoint()).toEqual(plannedAt(/^2026-03-01T12:00:05/));
  expect(await ofDeliveries()).toEqual([behind, plannedAt(/^2026-03-01T12:00:05/)]);
  await stop();

  // No worker runs, and an hour later the delivery is long due; a time in the past would be wrong.
  api.clock.advance(3_600_000);
  expect(await ofEndpoint()).toEqual(due);
  expect(await ofDeliveries()).toEqual([behind, due]);
});

test('F-42 the next try of an endpoint that the breaker holds is the end of the hold', async () => {
  const stop = api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await ofEndpoint()).next_attempt === 'planned');
  await stop();
  const heldUntil = new Date(api.clock.now().getTime() + 60_000);
  await sql`update webhooks.ready set gate = ${heldUntil} where endpoint_uid = ${uid}`.execute(api.db);
  expect(await ofEndpoint()).toEqual(plannedAt(/^2026-03-01T12:01:00/));
  expect(await ofDeliveries()).toEqual([plannedAt(/^2026-03-01T12:01:00/)]);
  api.clock.advance(30_000);
  expect(await ofEndpoint()).toEqual(plannedAt(/^2026-03-01T12:01:00/));
  // The delivery is due, but another one may be tried first.
  expect(await ofDeliveries()).toEqual([due]);
  api.clock.advance(3_600_000);
  expect(await ofEndpoint()).toEqual(due);
});

test('F-42 a delivery that will be cancelled has no next try', async () => {
  const stop = api.startWorker();
  await api.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await ofEndpoint()).next_attempt === 'planned');
  await stop();
  api.clock.advance(1_000);
  await api.post('/webhook/update', { uid, enabled: false });
  expect(await ofEndpoint()).toEqual(nothing);
  expect(await ofDeliveries()).toEqual([nothing]);
});

import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describedEvents } from '#src/webhooks/index.ts';
import { findDelivery } from '#src/webhooks/log/delivery-log-store.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;
let secret: string;

const hour = 3_600_000;

type Digest = {
  event: string;
  digest: { from: string; to: string; kinds: Record<string, { count: number; sha256: string }> };
  id: string;
  seq: number;
  previous_seq: number | null;
};

const digests = (): Digest[] =>
  receiver.received
    .map(({ body }) => JSON.parse(body) as Digest)
    .filter(({ event }) => event === 'webhook.digest')
    .sort((left, right) => left.seq - right.seq);

/** To five minutes past the next hour. */
const toNextHour = (): void => {
  engine.advance(hour - (engine.clock.now().getTime() % hour) + 5 * 60_000);
};

const known = async (): Promise<boolean> => {
  const { rows } = await sql`select from webhooks.digests where endpoint_uid = ${uid}`.execute(engine.db);
  return rows.length === 1;
};

beforeEach(async () => {
  engine = await startEngine();
  toNextHour();
  receiver = await startReceiver();
  ({ endpointUid: uid, secret } = await engine.addEndpoint(receiver.url, { kinds: ['customers', 'orders'] }));
  await sql`update webhooks.endpoints set digest = true where uid = ${uid}`.execute(engine.db);
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

test('A-143 each hour one signed digest has counts and hashes of the recorded events, with any number of workers', async () => {
  const silent = await startReceiver();
  await engine.addEndpoint(silent.url, { kinds: ['customers'] });
  const stops = [engine.startWorker(), engine.startWorker(), engine.startWorker()];
  await until(known);
  for (let index = 0; index < 7; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  await engine.record({ entity: 'men_1', seq: 1, kind: 'menu', event: 'menu.changed', object: 'menu' });
  await until(() => receiver.received.length === 7);
  const ids = receiver.received.map(({ headers }) => String(headers['webhook-id'])).sort();

  await Promise.all(stops.map((stop) => stop()));
  toNextHour();
  for (let worker = 0; worker < 3; worker += 1) engine.startWorker();
  await until(() => digests().length === 1);
  const [first] = digests();
  const described = describedEvents([]).find(({ event }) => event === 'webhook.digest');
  expect(described?.value.parse(first?.digest)).toEqual(first?.digest);
  const ofNothing = createHash('sha256').update('').digest('hex');
  expect(first?.digest.kinds).toEqual({
    customers: { count: 7, sha256: createHash('sha256').update(ids.join('\n')).digest('hex') },
    orders: { count: 0, sha256: ofNothing },
  });
  expect(Date.parse(first?.digest.to ?? '') - Date.parse(first?.digest.from ?? '')).toBe(hour);
  expect(Date.parse(first?.digest.to ?? '') % hour).toBe(0);
  expect(first?.previous_seq).toBeNull();
  const request = receiver.received.find(({ body }) => body.includes('webhook.digest'));
  // The library uses its own clock and the test has moved the engine's, so the library's time window is not checked.
  const signed = new Webhook(secret).sign(
    String(request?.headers['webhook-id']),
    new Date(Number(request?.headers['webhook-timestamp']) * 1000),
    request?.body ?? '',
  );
  expect(String(request?.headers['webhook-signature']).split(' ')).toContain(signed);
  expect(request?.headers['webhook-id']).toBe(first?.id);
  const delivery = String(request?.headers['x-orderpass-delivery']);
  expect(await findDelivery(engine.db, { tenant, client: undefined }, delivery)).toMatchObject({
    uid: delivery,
    body: request?.body,
  });

  // Only this endpoint gets it: the next event shows that nothing else was sent.
  await engine.record({ entity: 'cus_after', seq: 1 });
  await until(() => silent.received.length === 8);
  await until(() => receiver.received.length === 9);
  expect(digests()).toHaveLength(1);
  expect(silent.received.every(({ body }) => !body.includes('webhook.digest'))).toBe(true);
  await silent.close();
});

test('digests of hours without a worker are sent later, for a day at most, each once, with a sequence that shows gaps', async () => {
  const stop = engine.startWorker();
  await until(known);
  await stop();
  await engine.record({ entity: 'cus_1', seq: 1 });
  engine.advance(3 * hour);
  const stops = [engine.startWorker(), engine.startWorker()];
  await until(() => digests().length === 3);
  const three = digests();
  expect(three.map(({ digest }) => digest.kinds.customers?.count)).toEqual([1, 0, 0]);
  expect(three.map(({ seq }) => seq - (three[0]?.seq ?? 0))).toEqual([0, 1, 2]);
  expect(three.map((one) => one.previous_seq)).toEqual([null, three[0]?.seq, three[1]?.seq]);

  await Promise.all(stops.map((one) => one()));
  engine.advance(40 * hour);
  engine.startWorker();
  engine.startWorker();
  await until(() => digests().length === 3 + 24);
  const seqs = digests().map(({ seq }) => seq);
  expect(new Set(seqs).size).toBe(seqs.length);
  const [, , third, fourth] = digests();
  expect(fourth?.previous_seq).toBe(third?.seq);
  expect((fourth?.seq ?? 0) - (third?.seq ?? 0)).toBeGreaterThan(1);
});

test('an endpoint that stops wanting digests and begins again gets none for the time between', async () => {
  const stop = engine.startWorker();
  await until(known);
  await stop();
  await sql`update webhooks.endpoints set digest = false`.execute(engine.db);
  engine.advance(2 * hour);
  const again = engine.startWorker();
  await until(async () => !(await known()));
  await again();
  await sql`update webhooks.endpoints set digest = true`.execute(engine.db);
  const third = engine.startWorker();
  await until(known);
  await third();
  toNextHour();
  engine.startWorker();
  await until(() => digests().length === 1);
  expect(digests()[0]?.previous_seq).toBeNull();
});

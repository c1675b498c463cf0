/** Each way of a delivery to its receiver knows whether the endpoint wants `v1a` (interface 31.1). */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createForwarding } from '#src/webhooks/index.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { untilAtRest } from '../harness/fast-path.ts';
import { testSettings } from '../harness/test-settings.ts';

let engine: Engine;
let receiver: WebhookReceiver;
/** Without `v1a`, and with it. */
let uids: string[];

beforeAll(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  const made = [false, true].map((v1a) => engine.addEndpoint(urlOf(v1a), { v1a }));
  uids = (await Promise.all(made)).map(({ endpointUid }) => endpointUid);
});

afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

const urlOf = (v1a: boolean): string => `http://127.0.0.1:${receiver.port}/${v1a}`;

/** The versions of the signatures of the newest request to each endpoint. */
const newest = (): string[][] =>
  [false, true].map((v1a) => {
    const request = receiver.received.findLast(({ path }) => path === `/${v1a}`);
    return String(request?.headers['webhook-signature'])
      .split(' ')
      .map((one) => one.slice(0, one.indexOf(',')));
  });

const wanted = [['v1'], ['v1', 'v1a']];

let entities = 0;
/** Records an event of a new entity; resolves when both endpoints got it. */
const send = async (): Promise<string> => {
  const before = receiver.received.length;
  entities += 1;
  await engine.record({ entity: `cus_${entities}`, seq: 1 });
  await until(() => receiver.received.length === before + 2);
  return `cus_${entities}`;
};

const allSucceeded = async (): Promise<boolean> =>
  (await engine.deliveries()).every(({ state }) => state === 'succeeded');

/** How many deliveries of the entity were leased in the transaction that inserted them. */
const fastCount = async (entity: string): Promise<number> => {
  const { rows } = await sql`
    select from webhooks.deliveries as delivery join outbox.places as placed using (event_id)
    where delivery.entity = ${entity} and lease_until is not null and delivery.xmin = placed.xmin`.execute(engine.db);
  return rows.length;
};

test('A-642 a forwarded event has `v1a` only where its endpoint wants it', async () => {
  const { forward, close } = createForwarding({ ...engine, settings: testSettings() });
  try {
    const event = { id: 'evt_1', body: '{}' };
    for (const [number, uid] of uids.entries())
      await forward.send(uid, event, urlOf(number === 1), new AbortController().signal);
    expect(receiver.received.at(-1)?.body).toBe('{}');
    expect(newest()).toEqual(wanted);
  } finally {
    await close();
  }
});

test('A-642 a claimed delivery and one of the fast path have `v1a` only where the endpoint wants it', async () => {
  const stop = engine.startWorker({ settings: { fast_path: 'off' } });
  await send();
  expect(newest()).toEqual(wanted);
  await until(allSucceeded);
  await stop();
  engine.startWorker({ settings: { fast_path: 'on' } });
  await untilAtRest(engine, uids.length);
  receiver.behave(() => undefined);
  const entity = await send();
  expect(await fastCount(entity)).toBe(2);
  expect(newest()).toEqual(wanted);
});

import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dropPreviousSecrets } from '#src/webhooks/endpoints/endpoint-store.ts';
import { whileLocked } from '../../support/contention.ts';
import { until } from '../../support/until.ts';
import type { ReceivedRequest, WebhookReceiver } from '../../support/webhook-receiver.ts';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let receiver: WebhookReceiver;

beforeAll(async () => {
  api = await startWebhookApi();
  receiver = await api.receiver();
  api.startWorker();
});

afterAll(() => api?.close());

let seq = 0;
/** The next delivery that arrives. */
const delivered = async (): Promise<ReceivedRequest> => {
  const before = receiver.received.length;
  seq += 1;
  await api.record({ entity: 'cus_rotation', seq });
  await until(() => receiver.received.length === before + 1);
  return receiver.received[before] as ReceivedRequest;
};

const verifies = (secret: string, { headers, body }: ReceivedRequest): boolean => {
  // The clock of the test stands still; the library compares with its own.
  const timestamp = String(headers['webhook-timestamp']);
  const signed = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${headers['webhook-id']}.${timestamp}.${body}`)
    .digest('base64');
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signed}`);
};

const hex = (secret: string, body: string): string => createHmac('sha256', secret).update(body).digest('hex');
const versions = ({ headers }: ReceivedRequest): string[] =>
  String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => signature.split(',')[0] ?? '');

test('A-131 after a rotation both secrets verify for 24 h, the hex header stays on the old one, then only the new one is used', async () => {
  const made = await api.endpoint(receiver.url, { kinds: ['customers'], signature_header: 'X-Pos-Signature' });
  const { uid } = made;
  const plain = await delivered();
  expect(versions(plain)).toEqual(['v1', 'v1a']);
  expect(plain.headers['x-pos-signature-next']).toBeUndefined();

  const rotated = await api.post('/webhook/rotate-secret', { uid });
  expect(rotated.status).toBe(200);
  const fresh: string = rotated.json.secret;
  expect(fresh).toMatch(/^whsec_/);
  expect(fresh).not.toBe(made.secret);
  expect(rotated.json.endpoint.previous_secret_expires_iso).toBe('2026-03-02T12:00:00+01:00');
  const refused = await api.post('/webhook/rotate-secret', { uid });
  expect([refused.status, refused.json.error]).toEqual([409, 'CONFLICT']);

  const both = await delivered();
  expect(versions(both)).toEqual(['v1', 'v1', 'v1a']);
  expect([verifies(made.secret, both), verifies(fresh, both)]).toEqual([true, true]);
  const [first] = String(both.headers['webhook-signature']).split(' ');
  const { headers, body } = both;
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  expect(first).toBe(new Webhook(fresh).sign(String(headers['webhook-id']), at, body));
  expect(headers['x-pos-signature']).toBe(hex(made.secret, body));
  expect(headers['x-pos-signature-next']).toBe(hex(fresh, body));

  api.clock.advance(24 * 3_600_000);
  const after = await delivered();
  expect(versions(after)).toEqual(['v1', 'v1a']);
  expect([verifies(made.secret, after), verifies(fresh, after)]).toEqual([false, true]);
  expect(after.headers['x-pos-signature']).toBe(hex(fresh, after.body));
  expect(after.headers['x-pos-signature-next']).toBeUndefined();
  const shown = await api.get('/webhook/endpoint', { uid });
  expect(shown.json.endpoint.previous_secret_expires_iso).toBeNull();
  await api.post('/webhook/remove', { uid });
});

test('A-131 finish ends a running overlap at once; an overlap of 0 hours never begins; 168 is the longest', async () => {
  const made = await api.endpoint(receiver.url, { kinds: ['customers'] });
  const { uid } = made;
  const rotate = (more: object) => api.post('/webhook/rotate-secret', { uid, ...more });
  const secret = 'b2xkZXItcGxhdGZvcm0tc2VjcmV0';
  const given = await rotate({ secret, overlap_hours: 168 });
  expect(given.json.secret).toBe(secret);
  expect(versions(await delivered())).toEqual(['v1', 'v1', 'v1a']);
  const finished = await rotate({ finish: true });
  expect(finished.json.secret).toBeNull();
  expect(finished.json.endpoint.previous_secret_expires_iso).toBeNull();
  const single = await delivered();
  expect(versions(single)).toEqual(['v1', 'v1a']);
  expect(single.headers['x-orderpass-signature']).toBe(hex(secret, single.body));

  const cut = await rotate({ overlap_hours: 0 });
  const next = await delivered();
  expect(versions(next)).toEqual(['v1', 'v1a']);
  expect(next.headers['x-orderpass-signature']).toBe(hex(cut.json.secret, next.body));

  const faults = [{ overlap_hours: 169 }, { overlap_hours: -1 }, { secret: 'short' }, { finish: true, secret }];
  for (const body of faults) expect((await rotate(body)).status, JSON.stringify(body)).toBe(400);
  await api.post('/webhook/remove', { uid });
});

test('A-131 a test during an overlap is signed like a delivery', async () => {
  const { uid } = await api.endpoint(receiver.url, { enabled: false });
  await api.post('/webhook/rotate-secret', { uid });
  const before = receiver.received.length;
  await api.post('/webhook/test', { uid });
  const request = receiver.received[before] as ReceivedRequest;
  expect(versions(request)).toEqual(['v1', 'v1', 'v1a']);
  expect(request.headers['x-orderpass-signature-next']).toMatch(/^[0-9a-f]{64}$/);
});

test('overlaps that end together lock their endpoints in the sequence of the dispatcher, so that neither waits for the other one', async () => {
  const quiet = await startWebhookApi();
  try {
    const made = [await quiet.endpoint('http://127.0.0.1:2/'), await quiet.endpoint('http://127.0.0.1:2/')];
    const [first = '', second = ''] = made.map(({ uid }: { uid: string }) => uid).toSorted();
    const now = quiet.clock.now();
    // The row of the second lies before the first, and its overlap ended before.
    for (const [uid, msAgo] of [[second, 2_000] as const, [first, 1_000] as const]) {
      await quiet.post('/webhook/rotate-secret', { uid });
      await sql`update webhooks.endpoints set previous_secret_expires = ${new Date(now.getTime() - msAgo)}
        where uid = ${uid}`.execute(quiet.db);
    }
    const lock = sql`select from webhooks.endpoints where uid = ${first} for share`;
    let isFree = false;
    const dropped = await whileLocked(
      quiet.db,
      lock,
      1,
      () => dropPreviousSecrets(quiet.db, now),
      async (holder) => {
        const { rows } = await sql`
          select from webhooks.endpoints where uid = ${second} for share skip locked`.execute(holder);
        isFree = rows.length === 1;
      },
    );
    expect([isFree, dropped]).toEqual([true, 2]);
    expect(await dropPreviousSecrets(quiet.db, now)).toBe(0);
  } finally {
    await quiet.close();
  }
});

import { createHmac, createPrivateKey, createPublicKey, type JsonWebKey, timingSafeEqual, verify } from 'node:crypto';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signHex, signV1, signV1a } from '#src/webhooks/signing/sign.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeAll(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
});

afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

test('A-130 the published test vector gives exactly these signatures', () => {
  const secret = 'whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=';
  const body =
    '{"event":"customer.changed","customer":{"uid":"cus_01"},"id":"evt_01","created":"2026-03-01T11:00:00.000Z","restuid":"rst_01","seq":42,"previous_seq":41,"change":"updated","changed_fields":["phone"]}';
  const parts = { id: 'evt_01', timestampSeconds: 1_772_362_800, body };
  // PKCS#8 wrapping of the private seed, 32 bytes 0x01 (RFC 8410).
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 1)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  expect(createPublicKey(key).export({ format: 'jwk' }).x).toBe('iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w');
  expect(signV1(secret, parts)).toBe('v1,nDvDeDCy4Ic+uRqpMywAPyiMTAbzpPGZUp1VCLOkZ2E=');
  expect(signV1a(key, parts)).toBe(
    'v1a,huuvWs1mKKPA2BLdUutQOD4GTWcezhowG2H+SY1u0zLmxdXW4W62HNAlGg+hfT6+i9IR4crS3KNUe5QKqXwkBg==',
  );
  expect(signHex(secret, body)).toBe('edaf05f89bfdb472afa7653fbc97ce261440ac3b23e42191d24f503687eb8715');
});

test('A-130 a Standard Webhooks library, plain HMAC code and the published Ed25519 key accept a delivery, and none of them a changed one', async () => {
  const { secret } = await engine.addEndpoint(receiver.url);
  engine.startWorker();
  const event = await engine.record({ entity: 'cus_1', seq: 1 });
  await until(() => receiver.received.length === 1);
  const [{ headers, body } = { headers: {} as Record<string, string>, body: '' }] = receiver.received;
  expect(body).toBe(event?.body);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'Orderpass/1.0.0',
    'webhook-id': event?.id,
    'x-orderpass-attempt': '1',
  });
  expect(headers['x-orderpass-delivery']).toMatch(/^dlv_/);
  expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(30);

  const own = headers as Record<string, string>;
  const library = new Webhook(secret);
  expect(library.verify(body, own)).toEqual(JSON.parse(body));
  expect(() => library.verify(body.replace('cus_1', 'cus_2'), own)).toThrow();
  expect(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(body, own)).toThrow();

  const plain = createHmac('sha256', secret).update(body).digest();
  expect(timingSafeEqual(plain, Buffer.from(own['x-orderpass-signature'] ?? '', 'hex'))).toBe(true);

  const { rows } = await sql<{ public_jwk: JsonWebKey }>`select public_jwk from webhooks.signing_keys`.execute(
    engine.db,
  );
  expect(rows).toHaveLength(1);
  const key = createPublicKey({ key: rows[0]?.public_jwk ?? {}, format: 'jwk' });
  const v1a = /v1a,(\S+)/.exec(own['webhook-signature'] ?? '')?.[1] ?? '';
  const signed = (text: string): boolean =>
    verify(
      null,
      Buffer.from(`${own['webhook-id']}.${own['webhook-timestamp']}.${text}`),
      key,
      Buffer.from(v1a, 'base64'),
    );
  expect([signed(body), signed(`${body} `)]).toEqual([true, false]);
});

test('neither the secret nor the private key is stored in plain text', async () => {
  const { endpointUid: uid, secret } = await engine.addEndpoint(receiver.url);
  const { rows } = await sql<{ secret: Buffer }>`select secret from webhooks.endpoints where uid = ${uid}`.execute(
    engine.db,
  );
  expect(rows[0]?.secret.includes(Buffer.from(secret))).toBe(false);
  expect(rows[0]?.secret.includes(Buffer.from(secret.slice('whsec_'.length), 'base64'))).toBe(false);
  const keys = await sql<{ private_key: Buffer }>`select private_key from webhooks.signing_keys`.execute(engine.db);
  expect(keys.rows[0]?.private_key.includes(Buffer.from('PRIVATE KEY'))).toBe(false);
});

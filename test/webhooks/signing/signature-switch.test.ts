/** The switch of message signatures at an endpoint: by the interface and by the command line. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runJson } from '../../support/program.ts';
import { keyOf, startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;

beforeAll(async () => {
  api = await startWebhookApi();
});

afterAll(() => api?.close());

test('A-406 create, update and test take and show the signature; absent it stays, null ends it', async () => {
  const receiver = await api.receiver();
  const sent = async (uid: string): Promise<unknown> => {
    await api.post('/webhook/test', { uid });
    return receiver.received.at(-1)?.headers['signature-input'];
  };
  const plain = await api.endpoint(receiver.url);
  expect([plain.signature, await sent(plain.uid)]).toEqual([null, undefined]);
  const { uid, ...made } = await api.endpoint(receiver.url, { signature: 'rfc9421:ecdsa-p256' });
  expect(made.signature).toBe('rfc9421:ecdsa-p256');
  expect(await sent(uid)).toContain('alg="ecdsa-p256-sha256"');
  const update = async (change: object) => (await api.post('/webhook/update', { uid, ...change })).json;
  expect((await update({ description: 'Accounting' })).endpoint.signature).toBe('rfc9421:ecdsa-p256');
  expect((await update({ signature: 'rfc9421:ed25519' })).endpoint.signature).toBe('rfc9421:ed25519');
  expect(await sent(uid)).toContain('alg="ed25519"');
  expect((await update({ signature: 'rsa' })).errors).toMatchObject([{ pointer: 'signature', code: 'ENUM' }]);
  expect((await update({ signature: null })).endpoint.signature).toBeNull();
  expect(await sent(uid)).toBeUndefined();
});

test('A-406 the plain signature header cannot have the name of a header of RFC 9421 at the same time', async () => {
  const receiver = await api.receiver();
  const wanted = { url: receiver.url, signature: 'rfc9421:ed25519', signature_header: 'Signature' };
  const conflict = [{ pointer: 'signature', code: 'CONFLICTING_VALUES' }];
  expect((await api.post('/webhook/create', wanted)).json.errors).toMatchObject(conflict);
  const { uid } = await api.endpoint(receiver.url, { signature_header: 'Signature-Input' });
  const update = async (change: object) => (await api.post('/webhook/update', { uid, ...change })).json;
  expect((await update({ signature: 'rfc9421:ed25519' })).errors).toMatchObject(conflict);
  expect((await update({ signature: 'rfc9421:ed25519', signature_header: 'X-Pos-Signature' })).success).toBe(true);
  expect((await update({ signature_header: 'SIGNATURE' })).errors).toMatchObject(conflict);
});

test('A-406 `endpoint create` and `endpoint update` set it, and the audit has the change', async () => {
  const env = await api.commandEnv();
  const of = ['--restaurant', api.restuid];
  const hook = ['--url', 'http://127.0.0.1:2/hook'];
  const made = await runJson(['endpoint', 'create', ...of, ...hook, '--signature', 'rfc9421:ed25519'], env);
  const uid = made.endpoint_uid ?? '';
  const shown = async () => (await api.get('/webhook/endpoint', { uid }, keyOf(api.restuid))).json.endpoint.signature;
  expect(await shown()).toBe('rfc9421:ed25519');
  await runJson(['endpoint', 'update', ...of, '--endpoint', uid, '--signature', 'none'], env);
  expect(await shown()).toBeNull();
  expect(await api.auditDetails()).toMatchObject([
    { operation: 'webhook/create', uid, signature: 'rfc9421:ed25519' },
    { operation: 'webhook/update', uid, signature: null },
  ]);
});

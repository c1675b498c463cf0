/** What an endpoint logs in with is stored sealed, is never shown again, and stays with its origin (interface 32.1). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import type { Json } from '../../support/ordering.ts';
import { runCommand, runJson, runWithInput } from '../../support/program.ts';
import type { WebhookReceiver } from '../../support/webhook-receiver.ts';
import { keyOf, startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let receiver: WebhookReceiver;
const folder = mkdtempSync(join(tmpdir(), 'orderpass-auth-'));

beforeAll(async () => {
  api = await startWebhookApi();
  receiver = await api.receiver();
});

afterAll(async () => {
  await api?.close();
  rmSync(folder, { recursive: true, force: true });
});

const value = 'header-value-5c0e7d';
const clientSecret = 'client-secret-91ab44';
const header = { type: 'header', name: 'X-Api-Key', value };
const update = async (uid: string, change: object): Promise<Json> =>
  (await api.post('/webhook/update', { uid, ...change })).json;

/** Every row of the tables about endpoints, the audit and kept answers, as text; bytes as they are. */
const stored = async (): Promise<string> => {
  const texts: string[] = [];
  for (const table of ['webhooks.endpoints', 'webhooks.attempts', 'gateway.audit_events', 'outbox.events']) {
    const { rows } = await api.pool.query(`select * from ${table}`);
    texts.push(
      ...rows.flatMap((row: Record<string, unknown>) =>
        Object.values(row).map((one) => (Buffer.isBuffer(one) ? one.toString('latin1') : JSON.stringify(one ?? null))),
      ),
    );
  }
  return texts.join('\n');
};

test('A-413 no answer and no table has a secret, and what a command or a client changed is in the audit', async () => {
  const env = await api.commandEnv();
  const of = ['--restaurant', api.restuid];
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const pair = makeAuthority().issue({ name: 'till', use: 'client' });
  const hook = ['--url', `https://127.0.0.1:${receiver.port}/hook`];
  const made = await runJson(['endpoint', 'create', ...of, ...hook], env);
  const uid = made.endpoint_uid ?? '';
  const auth = (...args: string[]) => ['endpoint', 'auth', ...of, '--endpoint', uid, ...args];
  const shown = async () => (await api.get('/webhook/endpoint', { uid }, keyOf(api.restuid))).json.endpoint.auth;

  const pem = ['--certificate', file('till.crt', pair.cert), '--key', file('till.key', pair.key)];
  const output = await runCommand(auth(...pem), env);
  expect([output.code, output.stdout]).toEqual([0, expect.stringContaining('"id":"CN=till"')]);
  expect((await shown()).id).toBe('CN=till');
  const listed = async () => (await runCommand(['webhook', 'list', ...of], env)).stdout;
  // It ends within 30 days.
  expect(await listed()).toContain(`warning: the client certificate of ${uid} ends at `);
  const token = ['--token-url', 'https://127.0.0.1:2/token', '--client-id', 'till-7', '--secret-file', '-'];
  const oauth = await runWithInput(auth(...token), env, `${clientSecret}\n`);
  expect([oauth.code, oauth.stdout]).toEqual([0, expect.stringContaining('"type":"oauth","id":"till-7"')]);
  await runJson(auth('--header', 'X-Api-Key', '--value-file', file('value', `${value}\n`)), env);
  expect(await shown()).toEqual({ type: 'header', id: 'x-api-key', expires_iso: null });
  expect(await listed()).not.toContain('warning');

  const outputs = [output, oauth, await runCommand(['webhook', 'show', ...of, '--endpoint', uid], env)];
  const texts = [...outputs.map(({ stdout, stderr }) => stdout + stderr), await stored()].join('\n');
  expect(texts).toContain('x-api-key');
  for (const secret of [value, clientSecret, pair.key.split('\n')[1] ?? '']) expect(texts).not.toContain(secret);

  await runJson(auth('--none'), env);
  expect(await shown()).toBeNull();
  const changes = (await api.auditDetails()).filter(({ operation }) => operation === 'webhook/update');
  expect(changes).toEqual(
    ['certificate', 'oauth', 'header', null].map((type) => ({ operation: 'webhook/update', uid, auth: type })),
  );
});

test('A-413 wrong options of the command are refused with what to give', async () => {
  const env = await api.commandEnv();
  const { uid } = await api.endpoint(receiver.url);
  const auth = (...args: string[]) =>
    runCommand(['endpoint', 'auth', '--restaurant', api.restuid, '--endpoint', uid, ...args], env);
  for (const args of [[], ['--none', '--header', 'X-Api-Key']]) {
    const refused = await auth(...args);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('give one of --certificate, --token-url, --header and --none'),
    ]);
  }
  const missing = await auth('--header', 'X-Api-Key', '--value-file', join(folder, 'missing'));
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('cannot read')]);
  const half = await auth('--token-url', 'https://127.0.0.1:2/token', '--client-id', 'till-7');
  expect([half.code, half.stderr]).toEqual([1, expect.stringContaining('client_secret')]);
});

test('A-413 a secret stays with its origin: another one needs it again, and null removes it', async () => {
  const other = await api.receiver();
  const { uid, ...made } = await api.endpoint(receiver.url, { auth: header });
  expect(JSON.stringify(made)).not.toContain(value);
  expect((await update(uid, { url: `http://127.0.0.1:${receiver.port}/elsewhere` })).success).toBe(true);
  expect((await update(uid, { url: other.url })).errors).toMatchObject([{ pointer: 'auth', code: 'REQUIRED' }]);
  await api.post('/webhook/test', { uid });
  expect([receiver.received.at(-1)?.headers['x-api-key'], other.received.length]).toEqual([value, 0]);
  expect((await update(uid, { url: other.url, auth: { ...header, value: 'another' } })).success).toBe(true);
  await api.post('/webhook/test', { uid });
  expect(other.received.at(-1)?.headers['x-api-key']).toBe('another');
  expect((await update(uid, { url: receiver.url, auth: null })).endpoint.auth).toBeNull();
  await api.post('/webhook/test', { uid });
  expect(receiver.received.at(-1)?.headers['x-api-key']).toBeUndefined();
});

test('A-413 a removed endpoint keeps no secret', async () => {
  const { uid } = await api.endpoint(receiver.url, { auth: header });
  const row = async (): Promise<unknown> =>
    (await api.pool.query('select auth is null as none, auth_shown from webhooks.endpoints where uid = $1', [uid]))
      .rows[0];
  expect(await row()).toMatchObject({ none: false, auth_shown: { type: 'header', id: 'x-api-key', expires: null } });
  await api.post('/webhook/remove', { uid });
  expect(await row()).toEqual({ none: true, auth_shown: null });
});

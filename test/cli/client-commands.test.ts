import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  type CommandResult,
  type RunningProgram,
  runCommand,
  runJson,
  runWithInput,
  startProgram,
} from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let folder: string;
let restuid: string;
let other: string;
let client: string[];
let clientId: string;
let secret: string;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
  folder = mkdtempSync(join(tmpdir(), 'orderpass-cli-'));
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  other = String((await runJson(['restaurant', 'create', '--name', 'Da Bea'], env)).restuid);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid, '--introspect'], env);
  clientId = String(made.client_id);
  secret = String(made.client_secret);
  client = ['--client-id', clientId];
  program = await startProgram(env);
});

afterAll(async () => {
  await program?.stop();
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

const json = (...args: string[]) => runJson(args, env) as Promise<Record<string, unknown>>;

const post = (path: string, fields: Record<string, string>): Promise<Response> =>
  fetch(`${program.url}${path}`, { method: 'POST', body: new URLSearchParams(fields) });

const token = async (client_secret = secret): Promise<string> => {
  const answer = await post('/api/oauth/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret,
  });
  return String(((await answer.json()) as { access_token: string }).access_token);
};

const list = async (headers: Record<string, string>): Promise<number> =>
  (await fetch(`${program.url}/api/orders/list`, { headers })).status;
const byToken = (value: string): Promise<number> => list({ authorization: `Bearer ${value}` });
const bySecret = (value: string): Promise<number> => list({ 'x-client-id': clientId, 'x-client-secret': value });

const runInput = (args: string[], input: string): Promise<CommandResult> => runWithInput(args, env, input);

test('client list and show print rights, states and ids of secrets, never a secret itself', async () => {
  const { clients } = (await json('client', 'list')) as { clients: Record<string, unknown>[] };
  expect(clients).toHaveLength(1);
  expect(clients[0]).toMatchObject({
    client_id: clientId,
    name: 'Till',
    state: 'active',
    restaurants: [restuid],
    scopes: null,
    may_introspect: true,
    dpop: 'optional',
  });
  const shown = await json('client', 'show', ...client);
  expect(shown).toMatchObject({ client_id: clientId, restaurants: [restuid], keys: [] });
  expect((shown.secrets as object[])[0]).toMatchObject({ state: 'active', calls_5m: 0, safe_to_retire: false });
  const people = await runCommand(['client', 'show', ...client], env);
  expect(people.stdout).toMatch(/^secret {2}ops_\w{12} {2}state=active/m);
  expect(people.stdout + JSON.stringify(shown)).not.toContain(secret);
});

test('F-40 rotate-secret gives a second secret; retire-secret refuses, with the facts, one used today and the last one, and --force ends them', async () => {
  const made = await json('client', 'rotate-secret', ...client, '--overlap-hours', '24');
  expect(Object.keys(made).sort()).toEqual(['client_secret', 'secret_id']);
  const fresh = String(made.client_secret);
  await until(async () => (await bySecret(fresh)) === 200);
  type Shown = { secrets: { id: string; safe_to_retire: boolean; advice: string; last_used: string | null }[] };
  const adviceOf = async (id: unknown): Promise<string | undefined> =>
    ((await json('client', 'show', ...client)) as Shown).secrets.find((one) => one.id === id)?.advice;
  const shown = (await json('client', 'show', ...client)) as Shown;
  const old = shown.secrets.find(({ id }) => id !== made.secret_id);
  expect(shown.secrets.map(({ safe_to_retire }) => safe_to_retire)).toEqual([false, false]);
  expect(await bySecret(secret)).toBe(200);
  await until(async () => (await adviceOf(made.secret_id)) === 'newest');
  await until(async () => (await adviceOf(old?.id)) === 'used_lately');
  const people = await runCommand(['client', 'show', ...client], env);
  expect(people.stdout).toMatch(/used lately$/m);
  expect(people.stdout).not.toContain('safe to retire');
  const retire = ['client', 'retire-secret', ...client, '--secret-id', String(old?.id)];
  const early = await runCommand(retire, env);
  expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/not silent for long enough.*last used at/)]);
  await json(...retire, '--force');
  await until(async () => (await bySecret(secret)) === 401);
  expect(await bySecret(fresh)).toBe(200);
  const last = ['client', 'retire-secret', ...client, '--secret-id', String(made.secret_id)];
  const refused = await runCommand(last, env);
  expect([refused.code, refused.stderr.includes('--force')]).toEqual([1, true]);
  secret = String((await json('client', 'rotate-secret', ...client)).client_secret);
  await json(...last, '--force');
  await until(async () => (await bySecret(fresh)) === 401);
  expect(await bySecret(secret)).toBe(200);
});

test('client dpop refuses tokens that are bound to no key while it is required, and is audited', async () => {
  const plain = await token();
  await until(async () => (await byToken(plain)) === 200);
  expect(await json('client', 'dpop', ...client, '--dpop', 'required')).toEqual({
    client_id: clientId,
    dpop: 'required',
  });
  await until(async () => (await byToken(plain)) === 401);
  expect(await json('client', 'show', ...client)).toMatchObject({ dpop: 'required' });
  expect(await bySecret(secret)).toBe(200);
  await json('client', 'dpop', ...client, '--dpop', 'optional');
  await until(async () => (await byToken(plain)) === 200);
  const { events } = (await json('audit', 'search', '--client', clientId, '--action', 'client.rights_changed')) as {
    events: Record<string, unknown>[];
  };
  expect(events.map((event) => event['orderpass.details'])).toEqual([
    { dpop_required: false },
    { dpop_required: true },
  ]);
  expect((await runCommand(['client', 'dpop', ...client, '--dpop', 'maybe'], env)).code).toBe(2);
});

test('add-key takes a public JWK and refuses a private one without showing it', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const file = join(folder, 'key.json');
  writeFileSync(file, JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: 'till-1' }));
  expect(await json('client', 'add-key', ...client, '--jwk', file)).toEqual({ client_id: clientId, key_id: 'till-1' });
  const jwk = privateKey.export({ format: 'jwk' });
  writeFileSync(file, JSON.stringify(jwk));
  const refused = await runCommand(['client', 'add-key', ...client, '--jwk', file], env);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('private');
  expect(refused.stderr).not.toContain(jwk.d);
  expect((await runCommand(['client', 'add-key', ...client, '--jwk', join(folder, 'absent')], env)).code).toBe(1);
  const { keys } = (await json('client', 'show', ...client)) as { keys: object[] };
  expect(keys).toEqual([expect.objectContaining({ id: 'till-1', type: 'OKP', state: 'active' })]);
  await json('client', 'revoke-key', ...client, '--key-id', 'till-1');
});

test('quarantine, reactivate, scopes, grant and withdraw reach the running gateway', async () => {
  const value = await token();
  expect(await byToken(value)).toBe(200);
  await json('client', 'quarantine', ...client, '--reason', 'under review');
  await until(async () => (await byToken(value)) === 403);
  expect(await json('client', 'show', ...client)).toMatchObject({ state: 'quarantined', reason: 'under review' });
  expect(String((await json('client', 'show', ...client)).actor)).toMatch(/^cli:/);
  await json('client', 'reactivate', ...client, '--reason', 'cleared');
  await until(async () => (await byToken(value)) === 200);

  expect(await json('client', 'scopes', ...client, '--scope', 'read:menu write:orders')).toMatchObject({
    scopes: ['read:menu', 'write:orders'],
  });
  await until(async () => (await byToken(value)) === 403);
  await json('client', 'scopes', ...client, '--scope', 'all');
  await until(async () => (await byToken(value)) === 200);

  await json('client', 'grant', ...client, '--restaurant', other);
  await until(async () => (await byToken(value)) === 400);
  await json('client', 'withdraw', ...client, '--restaurant', other);
  await until(async () => (await byToken(value)) === 200);
});

test('token revoke reads the token from standard input; a token of another issuer is exit code 1', async () => {
  const value = await token();
  expect(await byToken(value)).toBe(200);
  const revoked = await runInput(['token', 'revoke', '--json'], `${value}\n`);
  expect(revoked.stderr).toBe('');
  expect(JSON.parse(revoked.stdout)).toMatchObject({ client_id: clientId, revoked: true, jti: expect.any(String) });
  await until(async () => (await byToken(value)) === 401);
  const again = await runInput(['token', 'revoke', '--json'], value);
  expect(JSON.parse(again.stdout)).toEqual({ ...JSON.parse(revoked.stdout), revoked: false });
  for (const [input, code] of [
    ['garbage', 1],
    [`${value.slice(0, -6)}AAAAAA`, 1],
    ['', 2],
  ] as const) {
    const result = await runInput(['token', 'revoke', '--json'], input);
    expect([input, result.code, result.stdout]).toEqual([input, code, '']);
    if (input !== '') expect(result.stderr).not.toContain(input);
  }
});

test('revoke-tokens ends the tokens of a client from before a time', async () => {
  const value = await token();
  await json('client', 'revoke-tokens', ...client, '--before', '2020-01-01T00:00:00Z');
  expect(await byToken(value)).toBe(200);
  await json('client', 'revoke-tokens', ...client);
  await until(async () => (await byToken(value)) === 401);
  await until(async () => (await byToken(await token())) === 200);
  for (const [before, code] of [
    ['yesterday', 2],
    ['2999-01-01T00:00:00Z', 1],
  ] as const) {
    expect((await runCommand(['client', 'revoke-tokens', ...client, '--before', before], env)).code).toBe(code);
  }
});

test('A-586 key rotate gives the new key the end of --expires, or tells that it has none, and refuses one in the past', async () => {
  const { restuid: own = '' } = await json('restaurant', 'create', '--name', 'Keys with an end');
  const { key_id: first } = await json('key', 'create', '--restaurant', String(own), '--name', 'ending');
  const rotate = (keyId: unknown, ...more: string[]) =>
    runCommand(['key', 'rotate', '--key-id', String(keyId), '--overlap-hours', '0', ...more], env);
  for (const [end, code, reason] of [
    ['2020-01-01T00:00:00Z', 1, 'in the past'],
    ['2999-01-01', 2, '2026-03-01T19:30:00+01:00'],
  ] as const) {
    const refused = await rotate(first, '--expires', end);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(reason)]);
  }
  const made = JSON.parse((await rotate(first, '--expires', '2999-01-01T00:00:00+01:00', '--json')).stdout);
  expect(made.expires).toBe('2998-12-31T23:00:00.000Z');
  const { keys } = (await json('key', 'list', '--restaurant', String(own))) as { keys: object[] };
  expect(keys).toContainEqual(expect.objectContaining({ key_id: made.key_id, expires: made.expires }));
  const { stdout } = await rotate(made.key_id);
  expect(stdout).toMatch(/^expires +null$/m);
  expect(stdout).toContain('It does not expire');
});

test('key list, rotate, quarantine and revoke of a whole restaurant', async () => {
  const made = await json('key', 'create', '--restaurant', restuid, '--name', 'kitchen');
  const rotated = await json('key', 'rotate', '--key-id', String(made.key_id), '--overlap-hours', '0');
  await until(async () => (await list({ 'x-api-key': String(made.api_key) })) === 401);
  expect(await list({ 'x-api-key': String(rotated.api_key) })).toBe(200);
  const { keys } = (await json('key', 'list', '--restaurant', restuid)) as { keys: object[] };
  expect(keys).toEqual([
    expect.objectContaining({ key_id: made.key_id, name: 'kitchen', state: 'expired' }),
    expect.objectContaining({ key_id: rotated.key_id, name: 'kitchen', state: 'active' }),
  ]);
  const id = ['--key-id', String(rotated.key_id)];
  await json('key', 'quarantine', ...id, '--reason', 'seen elsewhere');
  await until(async () => (await list({ 'x-api-key': String(rotated.api_key) })) === 403);
  await json('key', 'reactivate', ...id, '--reason', 'checked');
  await until(async () => (await list({ 'x-api-key': String(rotated.api_key) })) === 200);
  expect(await json('key', 'revoke', '--restaurant', restuid)).toMatchObject({
    key_ids: expect.arrayContaining([rotated.key_id]),
  });
  await until(async () => (await list({ 'x-api-key': String(rotated.api_key) })) === 401);
  expect((await runCommand(['key', 'revoke'], env)).code).toBe(2);
});

test('signing-key rotate lists a new key ten minutes ahead, and with --now replaces all keys at once', async () => {
  const listed = async (): Promise<string[]> => {
    const { keys } = (await (await fetch(`${program.url}/api/oauth/jwks`)).json()) as { keys: { kid: string }[] };
    return keys.map(({ kid }) => kid);
  };
  const before = await listed();
  const made = await json('signing-key', 'rotate');
  expect(Math.round((Date.parse(String(made.signs_from)) - Date.now()) / 60_000)).toBe(10);
  await until(async () => (await listed()).join() === [made.kid, ...before].join());
  expect((await runCommand(['signing-key', 'rotate'], env)).code).toBe(1);
  const replaced = await json('signing-key', 'rotate', '--now');
  await until(async () => (await listed()).join() === String(replaced.kid));
  expect(Date.parse(String(replaced.signs_from))).toBeLessThanOrEqual(Date.now());
});

test('client create without --scope gives every scope, with an empty one nothing, and the audit tells all from some', async () => {
  const create = ['client', 'create', '--name', 'Kiosk', '--restaurant', other];
  const auditOf = async (made: Record<string, unknown>): Promise<unknown> => {
    const named = ['--client', String(made.client_id), '--action', 'client.created'];
    const { events } = (await json('audit', 'search', ...named)) as { events: Record<string, unknown>[] };
    return events.map((event) => event['orderpass.details']);
  };
  expect(await auditOf(await json(...create))).toEqual([{ all: true }]);
  expect(await auditOf(await json(...create, '--scope', 'read:menu'))).toEqual([{ all: false }]);
  const { clients: before } = (await json('client', 'list')) as { clients: object[] };
  for (const scope of ['', ' ']) {
    const refused = await runCommand([...create, '--scope', scope], env);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--scope names at least one scope')]);
  }
  expect((await json('client', 'list')).clients).toHaveLength(before.length);
});

test('client create --dpop required is shown, and other values are refused', async () => {
  const create = ['client', 'create', '--name', 'Bound', '--restaurant', other, '--dpop'];
  const made = await json(...create, 'required');
  expect(await json('client', 'show', '--client-id', String(made.client_id))).toMatchObject({ dpop: 'required' });
  expect((await runInput([...create, 'sometimes'], '')).code).toBe(2);
});

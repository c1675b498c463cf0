import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
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
let restuid: string;
let clientId: string;
let secret: string;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  clientId = String(made.client_id);
  secret = String(made.client_secret);
  program = await startProgram(env);
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
});

const getToken = async (client_secret = secret): Promise<string> => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret });
  const answer = await fetch(`${program.url}/api/oauth/token`, { method: 'POST', body });
  return String(((await answer.json()) as { access_token?: string }).access_token);
};

const list = async (headers: Record<string, string>): Promise<number> =>
  (await fetch(`${program.url}/api/orders/list`, { headers })).status;
const byToken = (token: string): Promise<number> => list({ authorization: `Bearer ${token}` });

/** In the second in which the tokens of a client were revoked, as by an earlier test, new ones are refused too. */
const getValidToken = async (): Promise<string> => {
  let token = '';
  await until(async () => {
    token = await getToken();
    return (await byToken(token)) === 200;
  });
  return token;
};

const who = async (value: string, ...more: string[]): Promise<Record<string, unknown>> => {
  const result = await runWithInput(['audit', 'who', '--json', ...more], env, `${value}\n`);
  expect([result.code, result.stderr]).toEqual([0, '']);
  expect(result.stdout).not.toContain(value);
  return JSON.parse(result.stdout) as Record<string, unknown>;
};

const written = (): Promise<void> =>
  // Allowed requests are written a moment later; the next one to be written stands behind all of them.
  until(
    async () =>
      Number(
        (await database.pool.query("select sum(count) from gateway.audit_events where action = 'request.allowed'"))
          .rows[0].sum,
      ) >= calls,
  );

let calls = 0;
const use = async (token: string, times: number): Promise<void> => {
  for (let i = 0; i < times; i += 1) expect(await byToken(token)).toBe(200);
  calls += times;
};

test('audit who shows the issue, the parent, the calls, scopes and addresses of a token', async () => {
  const token = await getToken();
  await use(token, 3);
  await written();
  const traced = await who(token);
  expect(traced).toMatchObject({
    kind: 'token',
    client_id: clientId,
    parent: secret.slice(0, secret.indexOf('_', 4)),
    calls: 3,
    scopes_used: ['read:orders'],
    addresses: ['127.0.0.1'],
    refusals: [],
  });
  expect(traced.issued).toMatchObject({ 'event.action': 'token.issued', 'source.ip': '127.0.0.1' });
});

test('audit who --revoke ends a token at once and shows the events that prove it; a later use is among its refusals', async () => {
  const token = await getToken();
  await use(token, 1);
  const { proof } = (await who(token, '--revoke')) as {
    proof: { revoked: string[]; events: Record<string, unknown>[] };
  };
  await until(async () => (await byToken(token)) === 401);
  expect(proof.revoked).toHaveLength(1);
  expect(proof.events).toMatchObject([{ 'event.action': 'token.revoked', 'orderpass.token.id': proof.revoked[0] }]);
  expect(String(proof.events[0]?.['event.hash'])).toMatch(/^[0-9a-f]{64}$/);
  const { refusals } = (await who(token)) as { refusals: Record<string, unknown>[] };
  expect(refusals[0]).toMatchObject({ 'event.action': 'request.denied', 'event.reason': 'token_revoked' });
});

test('audit who --revoke ends a secret and every token of its client', async () => {
  const made = await runJson(['client', 'rotate-secret', '--client-id', clientId, '--overlap-hours', '24'], env);
  const leaked = String(made.client_secret);
  await until(async () => (await list({ 'x-client-id': clientId, 'x-client-secret': leaked })) === 200);
  const token = await getToken(leaked);
  await until(async () => (await byToken(token)) === 200);
  const traced = await who(leaked, '--revoke');
  expect(traced).toMatchObject({ kind: 'client_secret', client_id: clientId, tokens: 1 });
  const { events } = traced.proof as { events: Record<string, unknown>[] };
  // Once more when every gateway knows that the secret ended, for tokens that were issued for it meanwhile.
  const actions = ['secret.retired', 'client.tokens_revoked', 'client.tokens_revoked'];
  expect(events.map((event) => event['event.action'])).toEqual(actions);
  await until(async () => (await byToken(token)) === 401);
  expect(await list({ 'x-client-id': clientId, 'x-client-secret': leaked })).toBe(401);
  expect(await list({ 'x-client-id': clientId, 'x-client-secret': secret })).toBe(200);
});

test('audit who --revoke ends an API key; a value that is no credential is exit code 1, an empty one is 2', async () => {
  const made = await runJson(['key', 'create', '--restaurant', restuid, '--name', 'Till'], env);
  const key = String(made.api_key);
  await until(async () => (await list({ 'x-api-key': key })) === 200);
  expect(await who(key, '--revoke')).toMatchObject({ kind: 'api_key', proof: { revoked: [made.key_id] } });
  await until(async () => (await list({ 'x-api-key': key })) === 401);
  const run = (input: string): Promise<CommandResult> => runWithInput(['audit', 'who', '--json'], env, input);
  expect((await run('garbage')).code).toBe(1);
  expect((await run('')).code).toBe(2);
});

/** The same public id and a right checksum, which an attacker can compute; not the issued value. */
const forge = (value: string): string => {
  const body = `${value.slice(0, 17)}${'0'.repeat(43)}`;
  let rest = crc32(body);
  let checksum = '';
  for (let i = 0; i < 6; i += 1) {
    checksum = `${digits[rest % 62]}${checksum}`;
    rest = Math.floor(rest / 62);
  }
  return body + checksum;
};
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const changes = async (): Promise<number> =>
  Number(
    (await database.pool.query("select count(*) from gateway.audit_events where action not like 'request.%'")).rows[0]
      .count,
  );

test('audit who shows whether a value is genuine, and --revoke changes nothing for a value that only contains a real id', async () => {
  const made = await runJson(['key', 'create', '--restaurant', restuid, '--name', 'Till'], env);
  const key = String(made.api_key);
  const token = await getValidToken();
  const [head, claims, signature] = token.split('.');
  const forgedToken = [head, claims, `${signature?.startsWith('A') ? 'B' : 'A'}${signature?.slice(1)}`].join('.');
  for (const [genuine, forged] of [
    [key, forge(key)],
    [secret, forge(secret)],
    [token, forgedToken],
  ] as const) {
    const right = await who(genuine);
    expect(right.genuine).toBe(true);
    const wrong = await who(forged);
    expect(wrong).toMatchObject({ genuine: false, kind: right.kind, credential_id: right.credential_id });
    const before = await changes();
    const refused = await runWithInput(['audit', 'who', '--revoke', '--json'], env, forged);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('was not issued here: nothing was revoked');
    // That it was looked up is noted; nothing else is.
    expect(await changes()).toBe(before + 1);
  }
  expect(await list({ 'x-api-key': key })).toBe(200);
  expect(await list({ 'x-client-id': clientId, 'x-client-secret': secret })).toBe(200);
  expect(await byToken(token)).toBe(200);
  // The genuine one is revoked as ever.
  expect(await who(key, '--revoke')).toMatchObject({ genuine: true, proof: { revoked: [made.key_id] } });
});

test('audit verify is right after kill -9 of a gateway, and names a change with exit code 1', async () => {
  const token = await getValidToken();
  await Promise.all(Array.from({ length: 20 }, (_, index) => byToken(index % 2 === 0 ? token : 'a.b.c')));
  await program.kill();
  program = await startProgram(env);
  const right = JSON.parse((await runCommand(['audit', 'verify', '--json'], env)).stdout) as Record<string, unknown>;
  expect(right).toMatchObject({ ok: true, first_problem: null });
  expect(Number(right.events)).toBeGreaterThan(20);
  await database.pool.query("update gateway.audit_events set actor = 'forged' where chain = 0 and seq = 2");
  const wrong = await runCommand(['audit', 'verify', '--json'], env);
  expect([wrong.code, JSON.parse(wrong.stdout)]).toMatchObject([1, { ok: false, first_problem: { chain: 0, seq: 2 } }]);
  const people = await runCommand(['audit', 'verify'], env);
  expect([people.code, people.stderr]).toEqual([1, 'event 0-2: the event, or its place, was changed\n']);
});

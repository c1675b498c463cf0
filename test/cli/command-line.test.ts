import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand, runJson } from '../support/program.ts';

let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
});

afterAll(() => database?.drop());

test('with --json each command prints exactly one JSON object with the promised members', async () => {
  const { restuid } = await runJson(
    ['restaurant', 'create', '--name', 'Da Ada', '--time-zone', 'Europe/Rome', '--currency', 'EUR'],
    env,
  );
  expect(restuid).toMatch(/^rst_/);
  const key = await runJson(['key', 'create', '--restaurant', String(restuid)], env);
  expect(key.api_key).toMatch(/^opk_/);
  const other = await runJson(['restaurant', 'create', '--name', 'Da Bea'], env);
  const client = await runJson(
    [
      'client',
      'create',
      '--name',
      'Till',
      '--restaurant',
      String(restuid),
      '--restaurant',
      String(other.restuid),
      '--scope',
      'read:orders write:orders',
    ],
    env,
  );
  expect(client.client_id).toMatch(/^opc_/);
  expect(client.client_secret).toMatch(/^ops_/);
  const endpoint = await runJson(
    [
      'endpoint',
      'create',
      '--restaurant',
      String(restuid),
      '--url',
      'http://127.0.0.1:2/hook',
      '--kinds',
      'customers,orders',
    ],
    { ...env, ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' },
  );
  expect(endpoint.endpoint_uid).toMatch(/^whe_/);
  expect(endpoint.secret).toMatch(/^whsec_/);
  const kinds = await runJson(
    ['notifications', 'set', '--restaurant', String(restuid), '--orders', 'on', '--menu', 'off'],
    env,
  );
  expect(kinds.kinds_enabled).toEqual({ customers: false, orders: true, loyaltylog: false, menu: false });
  await runJson(['key', 'revoke', '--key-id', String(key.key_id)], env);
  await runJson(['client', 'disable', '--client-id', String(client.client_id)], env);
  await runJson(['migrate'], env);
});

test('an unknown or forbidden target is exit code 1 with a sentence on stderr and nothing on stdout', async () => {
  const cases = [
    ['key', 'create', '--restaurant', 'rst_absent'],
    ['key', 'revoke', '--key-id', 'absent'],
    ['client', 'create', '--name', 'x', '--restaurant', 'rst_absent'],
    ['client', 'disable', '--client-id', 'opc_absent'],
    ['notifications', 'set', '--restaurant', 'rst_absent', '--orders', 'on'],
    ['endpoint', 'create', '--restaurant', 'rst_absent', '--url', 'http://127.0.0.1:2/'],
    ['restaurant', 'create', '--name', 'x', '--time-zone', 'Mars/Base'],
    ['restaurant', 'create', '--name', 'x', '--currency', 'nope'],
  ];
  for (const args of cases) {
    const result = await runCommand([...args, '--json'], { ...env, ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' });
    expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code: 1, stdout: '' });
    expect(result.stderr.trim()).not.toBe('');
    expect(result.stderr).not.toMatch(/\bat .*\.ts:\d+/);
  }
});

test('an unknown scope or kind is refused by name', async () => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
  const scope = await runCommand(
    ['client', 'create', '--name', 'x', '--restaurant', String(restuid), '--scope', 'read:everything'],
    env,
  );
  expect(scope.code).toBe(1);
  expect(scope.stderr).toContain('read:everything');
  const kind = await runCommand(
    ['endpoint', 'create', '--restaurant', String(restuid), '--url', 'http://127.0.0.1:2/', '--kinds', 'gossip'],
    env,
  );
  expect(kind.code).toBe(1);
  expect(kind.stderr).toContain('gossip');
});

test('wrong usage is exit code 2, help is 0', async () => {
  for (const args of [
    ['restaurant', 'create'],
    ['nonsense'],
    ['key', 'create', '--restaurants', 'x'],
    ['restaurant'],
    ['notifications', 'set', '--restaurant', 'r'],
  ]) {
    expect({ args, code: (await runCommand(args, env)).code }).toEqual({ args, code: 2 });
  }
  const help = await runCommand(['client', 'create', '--help'], env);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('--scope');
});

test('config check names every problem at once; config print masks secrets and works on bad settings', async () => {
  const bad = { ...env, PORT: 'eighty', ORDERPASS_ROLE: 'everything', ORDERPASS_ORIGIN: 'http://example.com/path' };
  const check = await runCommand(['config', 'check'], bad);
  expect(check.code).toBe(1);
  for (const name of ['PORT', 'ORDERPASS_ROLE', 'ORDERPASS_ORIGIN']) expect(check.stderr).toContain(name);
  const print = await runCommand(['config', 'print', '--json'], bad);
  expect(print.code).toBe(0);
  expect(JSON.parse(print.stdout)).toMatchObject({ database_url: '********', master_key: '********', port: 'eighty' });
  expect((await runCommand(['config', 'check'], env)).code).toBe(0);
});

test('a master key that does not belong to the store is refused before anything is written', async () => {
  await runJson(['restaurant', 'create', '--name', 'First'], env);
  const result = await runCommand(['restaurant', 'create', '--name', 'Second'], {
    ...env,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
  });
  expect(result.code).toBe(1);
  expect(result.stderr).toContain('ORDERPASS_MASTER_KEY');
});

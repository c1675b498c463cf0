import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { plainEnv, root, runCommand, runJson, runProcess } from '../support/program.ts';

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
    const result = await runProcess([...args, '--json'], { ...env, ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' });
    expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code: 1, stdout: '' });
    expect(result.stderr.trim()).not.toBe('');
    expect(result.stderr).not.toMatch(/\bat .*\.ts:\d+/);
  }
});

test('an unknown scope or kind is refused by name', async () => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
  const scope = await runProcess(
    ['client', 'create', '--name', 'x', '--restaurant', String(restuid), '--scope', 'read:everything'],
    env,
  );
  expect(scope.code).toBe(1);
  expect(scope.stderr).toContain('read:everything');
  const kind = await runProcess(
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
    expect({ args, code: (await runProcess(args, env)).code }).toEqual({ args, code: 2 });
  }
  const help = await runProcess(['client', 'create', '--help'], env);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('--scope');
});

/** Its output goes to a reader that closed the pipe before the command wrote. */
const runUnread = async (args: readonly string[], names: readonly ('stdout' | 'stderr')[]) => {
  const child = spawn(process.execPath, ['src/cli/launch.mjs', ...args], {
    cwd: root,
    env: { ...plainEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  for (const name of names) child[name].destroy();
  const [code] = await once(child, 'close');
  return { code, errors };
};

test('A-637 a command whose output is not read to its end does its work and ends quietly, with its own exit code', async () => {
  expect(await runUnread(['config', 'table'], ['stdout'])).toEqual({ code: 0, errors: '' });
  expect(await runUnread(['restaurant', 'create', '--name', 'Da Cut'], ['stdout'])).toEqual({ code: 0, errors: '' });
  expect((await runCommand(['restaurant', 'list'], env)).stdout).toContain('Da Cut');
  expect((await runUnread(['nonsense'], ['stdout', 'stderr'])).code).toBe(2);
});

test('config check names every problem at once; config print masks secrets and works on bad settings', async () => {
  const bad = { ...env, PORT: 'eighty', ORDERPASS_ROLE: 'everything', ORDERPASS_ORIGIN: 'http://example.com/path' };
  const check = await runProcess(['config', 'check'], bad);
  expect(check.code).toBe(1);
  for (const name of ['PORT', 'ORDERPASS_ROLE', 'ORDERPASS_ORIGIN']) expect(check.stderr).toContain(name);
  const print = await runProcess(['config', 'print', '--json'], bad);
  expect(print.code).toBe(0);
  expect(JSON.parse(print.stdout)).toMatchObject({ database_url: '********', master_key: '********', port: 'eighty' });
  expect((await runProcess(['config', 'check'], env)).code).toBe(0);
});

test('a master key that does not belong to the store is refused before anything is written', async () => {
  await runJson(['restaurant', 'create', '--name', 'First'], env);
  const result = await runProcess(['restaurant', 'create', '--name', 'Second'], {
    ...env,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
  });
  expect(result.code).toBe(1);
  expect(result.stderr).toContain('ORDERPASS_MASTER_KEY');
});

test('help and the commands for a server elsewhere load no feature, no setting and no database, so they answer at once', () => {
  const tracer = `import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => (process.stderr.write(url + '\\n'), next(url, context)) });`;
  const loadedBy = (...args: string[]): string => {
    const hooks = `data:text/javascript,${encodeURIComponent(tracer)}`;
    const env = { ...plainEnv(), XDG_CONFIG_HOME: '/nowhere' };
    return spawnSync(process.execPath, ['--import', hooks, 'src/main.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
      env,
    }).stderr;
  };
  const heavy =
    /(gateway|ordering|webhooks|staff|panel)\/(index|config)\.ts|settings\/config\.ts|node_modules\/(kysely|pg|undici|yaml)\//;
  for (const args of [['--help'], ['client', 'create', '--help'], ['whoami'], ['token', 'get']]) {
    const loaded = loadedBy(...args);
    expect(loaded).toContain('src/cli/index.ts');
    expect(heavy.exec(loaded)?.[0], args.join(' ')).toBeUndefined();
  }
  expect(loadedBy('routes', 'list')).toMatch(heavy);
});

/** What differs between any two runs. */
const withoutMoments = (text: string): string => text.replaceAll(/"(time|pid)":("[^"]*"|\d+)/g, '');

// Other tests run most commands in processes that stay (test/support/doubles/command-pool.ts), which must not hide anything.
test('a command prints, logs and ends the same in a process that stays as in one of its own', async () => {
  const logged = { ORDERPASS_LOG_LEVEL: 'info', ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
  const cases: [string[], Record<string, string>, RegExp, string?][] = [
    [['migrate'], logged, /"msg":"migration applied"/],
    [['restaurant', 'show', '--restaurant', 'rst_none'], logged, /rst_none/],
    [['config', 'check'], { ORDERPASS_ROLE: 'everything' }, /ORDERPASS_ROLE/],
    [['restaurant', 'create'], {}, /--name/],
    [['client', 'create', '--help'], {}, /--scope/],
    [['token', 'revoke'], logged, /not.*token/i, 'garbage\n'],
    [['token', 'revoke'], logged, /token/],
  ];
  const run = async (one: typeof runCommand, empty: TestDatabase | undefined) => {
    const found = [];
    for (const [args, env, printed, input] of cases) {
      const own = { ...env, DATABASE_URL: empty?.ownerUrl ?? '' };
      const { code, stdout, stderr } = await one(args, own, root, input);
      expect(stdout + stderr).toMatch(printed);
      found.push({ args, code, stdout, stderr: withoutMoments(stderr) });
    }
    return found;
  };
  const databases = [await createEmptyDatabase(), await createEmptyDatabase()];
  onTestFinished(async () => {
    for (const empty of databases) await empty.drop();
  });
  const [own, pooled] = [await run(runProcess, databases[0]), await run(runCommand, databases[1])];
  expect(pooled).toEqual(own);
  expect(own.map(({ code }) => code)).toEqual([0, 1, 1, 2, 0, 1, 2]);
  // Nor does one command leave anything to those that follow in its process.
  for (let count = 0; count < 12; count += 1) {
    const [args, env] = cases[1] ?? [[], {}];
    const { stderr } = await runCommand(args, { ...env, DATABASE_URL: databases[1]?.ownerUrl ?? '' });
    expect(withoutMoments(stderr)).toBe(pooled[1]?.stderr);
  }
});

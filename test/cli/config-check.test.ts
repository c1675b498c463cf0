import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadSettings, settingFields } from '#src/app/settings/config.ts';
import { livePaths } from '#src/app/settings/live-secrets.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root, runCommand, startProgram } from '../support/program.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let folder: string;
let database: TestDatabase;
const key = randomBytes(32).toString('base64');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-settings-'));
  database = await createTestDatabase();
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

type Table = { routes: { upstream: string; method: string }[] };
const table = (): Table => JSON.parse(readFileSync(join(root, 'config/routes.json'), 'utf8')) as Table;

const lostUpstream = (): string => {
  const routes = table();
  for (const route of routes.routes) if (route.upstream === 'ordering') route.upstream = 'stock';
  return file('lost.json', JSON.stringify(routes));
};

const brokenRoutes = (): string => {
  const routes = table();
  const [first, second] = routes.routes;
  if (first !== undefined) first.method = 'DANCE';
  if (second !== undefined) second.upstream = 'stock';
  return file('broken.json', JSON.stringify(routes));
};

const ownAudience = (): string => {
  const identity = { kind: 'jwt', audience: 'https://api.example' };
  const till = { addresses: ['http://127.0.0.1:1'], identity };
  return file('audience.json', JSON.stringify({ ...table(), upstreams: { till } }));
};

test('F-48 config check and a start report every reason for a refused start, each with its setting', async () => {
  const base = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: key };
  const cases: [Record<string, string>, string[]][] = [
    [{ ORDERPASS_ROUTES_FILE: join(folder, 'absent.json') }, ['ORDERPASS_ROUTES_FILE', 'ENOENT']],
    [{ ORDERPASS_ROUTES_FILE: file('text.json', 'routes') }, ['ORDERPASS_ROUTES_FILE', 'JSON']],
    [{ ORDERPASS_ROUTES_FILE: lostUpstream() }, ['ORDERPASS_ROUTES_FILE', 'no address for upstream stock']],
    [{ ORDERPASS_ROUTES_FILE: brokenRoutes() }, ['routes.0.method', 'no address for upstream stock']],
    [
      { ORDERPASS_MASTER_KEY: '', ORDERPASS_MASTER_KEY_FILE: join(folder, 'absent.key') },
      ['ORDERPASS_MASTER_KEY_FILE', 'ENOENT'],
    ],
    [
      { ORDERPASS_MASTER_KEY: '', ORDERPASS_MASTER_KEY_FILE: file('bad.key', 'abc') },
      ['ORDERPASS_MASTER_KEY_FILE', '32 bytes'],
    ],
    [{ ORDERPASS_MASTER_KEY: 'abc' }, ['ORDERPASS_MASTER_KEY', '32 bytes']],
    [
      { ORDERPASS_ROUTES_FILE: ownAudience(), ORDERPASS_ORIGIN: 'https://api.example' },
      ['ORDERPASS_ROUTES_FILE', 'upstreams.till.identity.audience'],
    ],
    [{ ORDERPASS_AUTH_CHECK_AUDIENCES: 'stock' }, ['ORDERPASS_AUTH_CHECK_AUDIENCES', 'stock is no upstream']],
    [{ PORT: '8123', ORDERPASS_INTERNAL_PORT: '8123' }, ['ORDERPASS_INTERNAL_PORT', '8123']],
    [{ DATABASE_URL: 'postgresql://a:hidden@host:99999/x' }, ['DATABASE_URL', 'is not an address']],
  ];
  for (const [env, named] of cases)
    for (const command of [['config', 'check'], ['start']]) {
      const { code, stderr } = await runCommand(command, { ...base, ...env });
      expect([command, code]).toEqual([command, 1]);
      for (const text of named) expect(stderr).toContain(text);
      expect(stderr).not.toContain('hidden');
    }
});

test('F-48 all problems are reported in one pass, even beside invalid values', async () => {
  const { code, stderr } = await runCommand(['config', 'check'], {
    ORDERPASS_ROLE: 'everything',
    ORDERPASS_MASTER_KEY: 'abc',
    ORDERPASS_ROUTES_FILE: brokenRoutes(),
    ORDERPASS_AUTH_CHECK_AUDIENCES: 'stock',
    PORT: '8123',
    ORDERPASS_INTERNAL_PORT: '8123',
    ORDERPASS_LOG_LEVL: 'debug',
    ORDERPASS_WHOLLY_UNLIKE_ANYTHING_ELSE: 'x',
  });
  expect(code).toBe(1);
  for (const text of ['ORDERPASS_ROLE', 'ORDERPASS_MASTER_KEY', 'routes.0.method', 'no address for upstream stock'])
    expect(stderr).toContain(text);
  for (const text of ['stock is no upstream', 'ORDERPASS_INTERNAL_PORT', 'the nearest is ORDERPASS_LOG_LEVEL'])
    expect(stderr).toContain(text);
  expect(stderr).toMatch(/ORDERPASS_WHOLLY_UNLIKE_ANYTHING_ELSE: is no setting of this program$/m);
  const sound = await runCommand(['config', 'check'], { ORDERPASS_MASTER_KEY: key, ORDERPASS_API_KEY: 'opk_x' });
  expect([sound.code, sound.stderr]).toEqual([0, '']);
});

test('A-573 config check refuses fewer connections than a role needs beside those that it keeps, and takes them with a direct address', async () => {
  const check = (role: string, max: number, more: Record<string, string> = {}) =>
    runCommand(['config', 'check'], {
      ...{ DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: key, ORDERPASS_ROLE: role },
      ...{ ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9', ORDERPASS_DATABASE_CONNECTIONS_MAX: String(max) },
      ...more,
    });
  for (const [role, min] of Object.entries({ all: 7, gateway: 3, worker: 5 })) {
    const { code, stderr } = await check(role, min - 1);
    expect([role, code]).toEqual([role, 1]);
    expect(stderr).toContain(`(ORDERPASS_DATABASE_CONNECTIONS_MAX): must be at least ${min} in role ${role}`);
    expect([role, (await check(role, min)).stderr]).toEqual([role, '']);
  }
  const direct = `${database.url}${database.url.includes('?') ? '&' : '?'}application_name=direct`;
  expect((await check('worker', 2, { DATABASE_DIRECT_URL: direct })).stderr).toBe('');
});

test('F-48 config check refuses a worker in production without the public address, which is in the links of its notices', async () => {
  const check = (more: Record<string, string>) =>
    runCommand(['config', 'check'], {
      ...{ DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: key, ORDERPASS_ROLE: 'worker', ...more },
    });
  const lost = await check({ NODE_ENV: 'production' });
  expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('(ORDERPASS_ORIGIN): a worker in production')]);
  expect((await check({ NODE_ENV: 'production', ORDERPASS_ORIGIN: 'https://api.example' })).stderr).toBe('');
  expect((await check({})).stderr).toBe('');
});

test('F-48 a value of the wrong kind is refused with what the setting must be', async () => {
  const { code, stderr } = await runCommand(['config', 'check'], {
    ORDERPASS_MASTER_KEY: key,
    ORDERPASS_RATE_MINUTE_UNITS: 'many',
    ORDERPASS_HSTS_SECONDS: '-1',
    // As a number a blank would be 0.
    ORDERPASS_REQUEST_LOG_DAYS: ' ',
    ORDERPASS_WATCH: 'maybe',
    PORT: '99999',
  });
  expect(code).toBe(1);
  expect(
    stderr
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
      .toSorted(),
  ).toEqual([
    'gateway.hsts_seconds (ORDERPASS_HSTS_SECONDS): must be at least 0',
    'gateway.rate_minute_units (ORDERPASS_RATE_MINUTE_UNITS): must be a number',
    'gateway.request_log_days (ORDERPASS_REQUEST_LOG_DAYS): must be a number',
    'gateway.routes_watch (ORDERPASS_WATCH): must be on or off',
    'port (PORT): must be at most 65535',
  ]);
});

test.for([null, false, [], true, ' '])(
  'F-48 %j in the file of settings is no number',
  async (value, { onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'settings.json');
    const wrong = { request_log_days: value, hsts_seconds: value, upstream_connections_max: value };
    writeFileSync(file, JSON.stringify({ port: value, processes: value, gateway: wrong }));
    const { code, stderr } = await runCommand(['config', 'check', '--config', file], { ORDERPASS_MASTER_KEY: key });
    expect(code).toBe(1);
    for (const name of ['port', 'processes', ...Object.keys(wrong).map((one) => `gateway.${one}`)])
      expect(stderr).toMatch(new RegExp(`${name} .*: must be `));
  },
);

test('F-48 a start warns about an unknown name once and continues', async () => {
  const program = await startProgram({
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: key,
    NODE_ENV: 'production',
    ORDERPASS_RATE_MINUTES_UNITS: '5',
  });
  onTestFinished(() => program.kill());
  await until(() => program.errors().includes('ORDERPASS_RATE_MINUTE_UNITS'));
  expect(program.errors().split('ORDERPASS_RATE_MINUTES_UNITS')).toHaveLength(2);
  expect((await fetch(`${program.url}/healthz`)).status).toBe(200);
});

test('F-49 a database that cannot be reached or refuses the login is reported with its setting and the reason, in one line', async () => {
  const nowhere = database.url.replace(/\/[^/?]*(\?|$)/, '/nowhere$1');
  for (const [address, reason] of [
    [nowhere, 'nowhere'],
    ['postgresql://a:hidden@127.0.0.1:1/x', 'ECONNREFUSED'],
  ] as const) {
    const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL: address, ORDERPASS_MASTER_KEY: key });
    expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(stderr).toMatch(/^DATABASE_URL: /);
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('hidden');
  }
});

/** A PostgreSQL server as far as TLS: it accepts the upgrade and presents a self-signed certificate. */
const startTlsServer = async (): Promise<Server> => {
  const subject = ['-subj', '/CN=127.0.0.1', '-days', '1', '-nodes'];
  const [keyFile, certFile] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', keyFile, '-out', certFile, ...subject], {
    stdio: 'ignore',
  });
  const secureContext = createSecureContext({ key: readFileSync(keyFile), cert: readFileSync(certFile) });
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined).resume();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
};

const hasOpenssl = ((): boolean => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasOpenssl)(
  'F-49 sslmode=require, with one host and with several, warns about nothing and says in one line what to set (skipped without openssl)',
  async () => {
    const server = await startTlsServer();
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    for (const hosts of [`127.0.0.1:${port}`, `127.0.0.1:${port},localhost:${port}`]) {
      const { code, stderr } = await runCommand(['migrate'], {
        DATABASE_URL: `postgresql://a:hidden@${hosts}/x?sslmode=require`,
        ORDERPASS_MASTER_KEY: key,
      });
      expect([code, stderr.trim().split('\n')]).toEqual([
        1,
        [expect.stringMatching(/^DATABASE_URL: .*sslrootcert=FILE/)],
      ]);
      expect(stderr.split('sslrootcert=FILE')).toHaveLength(2);
      expect(stderr).not.toContain('hidden');
    }
  },
);

test.skipIf(!hasRedis)(
  'F-49 a Redis that refuses the password is named with its setting and the reason, in one line',
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.kill());
    const admin = new Redis(redis.url);
    await admin.config('SET', 'requirepass', 'right');
    admin.disconnect();
    const program = await startProgram({
      DATABASE_URL: database.url,
      ORDERPASS_MASTER_KEY: key,
      NODE_ENV: 'production',
      REDIS_URL: redis.url.replace('redis://', 'redis://:hidden@'),
    });
    onTestFinished(() => program.kill());
    await until(() => program.errors().includes('Redis is not reachable'));
    const [line = ''] = program
      .errors()
      .split('\n')
      .filter((text) => text.includes('Redis is not reachable'));
    expect(line).toContain('REDIS_URL');
    expect(line).toMatch(/WRONGPASS|invalid password|NOAUTH/);
    expect(program.errors()).not.toContain('hidden');
  },
);

test('A-266 a cluster with a database, with a password of Sentinels or without TLS for its authorities is refused before a start', async () => {
  const cluster = 'redis+cluster://:hidden@127.0.0.1:1,127.0.0.1:2';
  for (const [env, named] of [
    [{ REDIS_URL: `${cluster}/1` }, 'redis_url (REDIS_URL): names a database, and a cluster has database 0 alone'],
    [
      { REDIS_URL: cluster, ORDERPASS_REDIS_SENTINEL_PASSWORD: 'hidden' },
      'redis_sentinel_password (ORDERPASS_REDIS_SENTINEL_PASSWORD): is for Sentinels, and REDIS_URL names a cluster',
    ],
    [{ REDIS_URL: cluster, ORDERPASS_REDIS_CA_FILE: brokenRoutes() }, 'REDIS_URL begins with rediss'],
  ] as const) {
    const { code, stderr } = await runCommand(['config', 'check'], { ORDERPASS_MASTER_KEY: key, ...env });
    expect([code, stderr]).toEqual([1, expect.stringContaining(named)]);
    expect(stderr).not.toContain('hidden');
  }
});

test('a settings file that is not JSON is named without a part of its text, which may be a secret', async () => {
  const broken = file('broken-settings.json', '{"port": 1, "master_key": wJalrXUtnFEMI}');
  const { code, stderr } = await runCommand(['config', 'check', '--config', broken], {});
  expect([code, stderr]).toEqual([1, expect.stringContaining('broken-settings.json: is not JSON')]);
  expect(stderr).not.toContain('wJalr');
});

test('A-251 every secret may be in a file, which is read without its last line break and never shown', async () => {
  const env = {
    DATABASE_URL_FILE: file('database-url', `${database.url}\n`),
    ORDERPASS_MASTER_KEY_FILE: file('master-key', `${key}\n`),
    ORDERPASS_METRICS_TOKEN_FILE: file('metrics-token', 'a-token-of-metrics\r\n'),
  };
  const settings = loadSettings({ env });
  expect([settings.database_url, settings.metrics_token]).toEqual([database.url, 'a-token-of-metrics']);
  expect((await runCommand(['config', 'check'], env)).code).toBe(0);
  const printed = await runCommand(['config', 'print'], env);
  expect(printed.stdout).toContain('********');
  expect(printed.stdout + printed.stderr).not.toMatch(/a-token-of-metrics|postgresql:/);
});

test('addresses that the program fetches hold no password, which a failure would show in the log; config print shows none', async () => {
  const env = {
    ORDERPASS_AUDIT_HTTP_URL: 'https://sink:pa55word@audit.example/events',
    ORDERPASS_AUDIT_WITNESS_URL: 'https://pa55word@witness.example',
    ORDERPASS_LEAK_REPORTS_GITHUB_KEYS: 'https://me:pa55word@keys.example',
    ORDERPASS_ADDRESS_RESOLVER_URL: 'https://me:pa55word@maps.example/{place_id}',
    ORDERPASS_UPSTREAMS: 'a=http://me:pa55word@10.0.0.5|http://me:pa55word@10.0.0.6',
  };
  const checked = await runCommand(['config', 'check'], env);
  for (const name of Object.keys(env).slice(0, 4))
    expect(checked.stderr).toMatch(new RegExp(`\\(${name}\\): .*user and password`));
  const printed = await runCommand(['config', 'print'], env);
  expect(printed.stdout).toContain('https://********@audit.example/events');
  expect(printed.stdout + printed.stderr + checked.stderr).not.toContain('pa55word');
});

test('config print shows no password of an address in a settings file, whatever form the setting has there', async () => {
  const upstreams = { items: 'http://me:pa55word@127.0.0.1:3001', stock: ['http://me:pa55word@127.0.0.1:3002'] };
  const config = file('logins.json', JSON.stringify({ gateway: { upstreams } }));
  const printed = await runCommand(['config', 'print', '--config', config], {});
  expect(printed.stdout).toContain('"items":"http://********@127.0.0.1:3001"');
  expect(printed.stdout + printed.stderr).not.toContain('pa55word');
});

test('A-734 auto takes as many processes as the bound allows where the machine has more cores', async () => {
  const cores = file(
    'cores.mjs',
    `import { syncBuiltinESMExports } from 'node:module';
     import os from 'node:os';
     os.availableParallelism = () => 96;
     syncBuiltinESMExports();`,
  );
  const env = { NODE_OPTIONS: `--import=${cores}`, ORDERPASS_ROLE: 'gateway', ORDERPASS_PROCESSES: 'auto' };
  const printed = await runCommand(['config', 'print', '--json'], env);
  expect([printed.code, JSON.parse(printed.stdout)]).toMatchObject([0, { processes: 64 }]);
  const check = await runCommand(['config', 'check'], { ...env, ORDERPASS_MASTER_KEY: key });
  expect(check.stderr).not.toContain('ORDERPASS_PROCESSES');
  const tooMany = await runCommand(['config', 'check'], { ...env, ORDERPASS_PROCESSES: '65' });
  expect([tooMany.code, tooMany.stderr]).toEqual([1, expect.stringContaining('auto or a number from 1 to 64')]);
});

test('a secret in a file of its own replaces that of the settings file, as its variable does', async () => {
  const configFile = file('secret-twice.json', JSON.stringify({ metrics_token: 'a-token-of-the-settings' }));
  const variable = { ORDERPASS_METRICS_TOKEN: 'a-token-of-the-variable' };
  const own = { ORDERPASS_METRICS_TOKEN_FILE: file('metrics-token-twice', 'a-token-of-its-file') };
  expect(loadSettings({ configFile, env: variable }).metrics_token).toBe('a-token-of-the-variable');
  expect(loadSettings({ configFile, env: own }).metrics_token).toBe('a-token-of-its-file');
  const { code, stderr } = await runCommand(['config', 'check', '--config', configFile], { ...variable, ...own });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/METRICS_TOKEN_FILE.*give the secret once/)]);
});

test('config check names the missing folder of the file of the audit', async () => {
  const env = { ORDERPASS_MASTER_KEY: key, ORDERPASS_AUDIT_FILE: join(folder, 'missing', 'audit.jsonl') };
  const { code, stderr } = await runCommand(['config', 'check'], env);
  const problem = `(ORDERPASS_AUDIT_FILE): there is no folder ${join(folder, 'missing')}`;
  expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
  const sound = { ...env, ORDERPASS_AUDIT_FILE: join(folder, 'audit.jsonl') };
  expect(await runCommand(['config', 'check'], sound)).toMatchObject({ code: 0, stderr: '' });
});

test('A-263 the table for operators has each secret, and the ones that need a restart are those that no running program takes', () => {
  const text = readFileSync(join(root, 'config/README.md'), 'utf8');
  const rows = text.split('## Secrets and the master key')[1]?.split('\n## ')[0]?.split('\n') ?? [];
  const secrets = settingFields().filter(({ path, secret }) => secret && path !== 'master_key');
  expect(secrets.length).toBeGreaterThan(5);
  for (const { path, env } of secrets) {
    const row = rows.find((one) => one.startsWith('|') && one.includes(`\`${env}\``)) ?? '';
    const isLive = livePaths.some((live) => live === path);
    expect([env, row !== '', row.includes('needs a restart')]).toEqual([env, true, !isLive]);
  }
});

test('A-251 a secret that is given twice, or whose file cannot be used, is named with its variable', async () => {
  const { stderr, code } = await runCommand(['config', 'check'], {
    DATABASE_URL: database.url,
    DATABASE_URL_FILE: file('twice', database.url),
    REDIS_URL_FILE: join(folder, 'absent'),
    ORDERPASS_METRICS_TOKEN_FILE: file('nothing', '\n'),
    ORDERPASS_PANEL_OIDC_CLIENT_SECRET_FILE: file('long', 'x'.repeat(70_000)),
    ORDERPASS_METRICS_TOKEN_FILES: 'x',
    ORDERPASS_PANEL_OIDC_ISSUER: 'x',
    PORT: 'x',
    ORDERPASS_AUDIT_HTTP_AUTHORIZATION_FILE: folder,
  });
  expect(code).not.toBe(0);
  for (const part of [
    'database_url (DATABASE_URL_FILE): give the secret once',
    'redis_url (REDIS_URL_FILE): ENOENT',
    'metrics_token (ORDERPASS_METRICS_TOKEN_FILE): ',
    'is empty',
    'ORDERPASS_PANEL_OIDC_CLIENT_SECRET_FILE',
    '70000 bytes',
    'is no file',
    'port (PORT)',
  ])
    expect(stderr).toContain(part);
  expect(stderr).not.toContain('xxxx');
});

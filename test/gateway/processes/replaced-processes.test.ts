/** A process that replaces another one of its gateway serves as the others do, whatever the files hold meanwhile. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningProgram, root, runCommand, runJson, startProgram } from '../../support/program.ts';
import { signalOne } from '../../support/signal.ts';
import { until } from '../../support/until.ts';

const count = 2;

let database: TestDatabase;
let folder: string;
let env: Record<string, string>;
let program: RunningProgram | undefined;
let internalUrl: string;

const upstream = createServer((req, res) => {
  req.resume();
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
});
const upstreamUrl = (): string => `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;

const pathOf = (name: string): string => join(folder, name);
const tableWith = (...paths: string[]): string =>
  JSON.stringify({
    scopes: [{ name: 'read:prices', description: 'Prices' }],
    upstreams: { shop: { addresses: [upstreamUrl()], identity: 'none' } },
    routes: [
      ...paths.map((path) => ({ id: `shop.${path}`, path: `/${path}`, method: 'GET', access: 'public' })),
      { id: 'shop.mine', path: '/mine', method: 'GET', scopes: ['read:prices'] },
    ].map((route) => ({ ...route, upstream: 'shop', body: 'any' })),
  });
const writeTable = (text: string): void => writeFileSync(pathOf('routes.json'), text);

const start = async (more: Record<string, string> = {}, flags: readonly string[] = []): Promise<RunningProgram> => {
  const internalPort = String(await freePort());
  internalUrl = `http://127.0.0.1:${internalPort}`;
  const own = { PORT: String(await freePort()), ORDERPASS_INTERNAL_PORT: internalPort };
  program = await startProgram({ ...env, ...own, ...more }, root, flags);
  return program;
};

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'orderpass-replaced-'));
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_PROCESSES: String(count),
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_ROUTES_FILE: pathOf('routes.json'),
    ORDERPASS_LOG_LEVEL: 'info',
  };
});

afterEach(async () => {
  signalOne(program?.child.pid, 'SIGCONT');
  await program?.stop();
  program = undefined;
});

afterAll(async () => {
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

const processes = ({ child: { pid } }: RunningProgram): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${internalUrl}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
};

/** Kills them one after the other, so that one always serves. Returns those that replace them. */
const replace = async (gateway: RunningProgram, pids: readonly number[]): Promise<number[]> => {
  const before = processes(gateway);
  for (const pid of pids) {
    signalOne(pid, 'SIGKILL');
    await until(async () => !processes(gateway).includes(pid) && (await metric('orderpass_processes')) === count);
  }
  return processes(gateway).filter((pid) => !before.includes(pid));
};

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; text: string };

const call = (
  { url }: RunningProgram,
  path: string,
  { agent, token }: { agent?: Agent; token?: string } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    // Without an agent each request has a new connection.
    request(url + path, { agent: agent ?? false, headers }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (chunk: string) => {
        text += chunk;
      });
      res.once('error', reject);
      res.once('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
    })
      .once('error', reject)
      .end();
  });

/** New connections go to each process in turn. */
const fromAll = async <T>(ask: () => Promise<T>): Promise<T[]> => {
  const found: T[] = [];
  for (let i = 0; i < 2 * count; i += 1) found.push(await ask());
  return [...new Set(found)];
};
const statuses = (gateway: RunningProgram, path: string): Promise<number[]> =>
  fromAll(async () => (await call(gateway, path)).status);
const tablesOf = (gateway: RunningProgram): Promise<string[]> =>
  fromAll(async () => {
    const { routes_version: version, routes_file: file } = JSON.parse((await call(gateway, '/readyz')).text);
    return `${version} ${file}`;
  });
const reloads = async (): Promise<number> =>
  (await database.pool.query("select from gateway.audit_events where action = 'config.reloaded'")).rows.length;

test('A-567 a replaced process serves the table of the others, while its file holds one that was not read or was refused', async () => {
  writeTable(tableWith('first'));
  const gateway = await start();
  const [before = ''] = await tablesOf(gateway);
  expect(before).toMatch(/ ok$/);
  writeTable(tableWith('first', 'second'));
  await replace(gateway, processes(gateway).slice(0, 1));
  expect([await statuses(gateway, '/first'), await statuses(gateway, '/second')]).toEqual([[200], [404]]);
  expect([await tablesOf(gateway), await reloads()]).toEqual([[before], 0]);

  writeTable('{ "routes": [');
  expect((await runCommand(['config', 'reload', '--wait', '60'], env)).code).toBe(1);
  await replace(gateway, processes(gateway));
  expect(await statuses(gateway, '/first')).toEqual([200]);
  expect(await tablesOf(gateway)).toEqual([before.replace(/ ok$/, ' refused')]);

  writeTable(tableWith('first', 'second'));
  expect((await runCommand(['config', 'reload', '--wait', '60'], env)).code).toBe(0);
  expect([await statuses(gateway, '/second'), await reloads()]).toEqual([[200], count]);
  writeTable(tableWith('first'));
  await replace(gateway, processes(gateway).slice(0, 1));
  expect([await statuses(gateway, '/second'), await reloads()]).toEqual([[200], count]);
  signalOne(gateway.child.pid, 'SIGHUP');
  await until(async () => (await statuses(gateway, '/second')).join() === '404');
  expect([await tablesOf(gateway), await reloads()]).toEqual([[before], 2 * count]);
});

type Line = { pid: number; msg: string; setting?: string };
const lines = (gateway: RunningProgram): Line[] =>
  gateway
    .errors()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);

test('A-568 a replaced process runs with the settings of the others, while their files are edited, and follows files of secrets', async () => {
  writeTable(tableWith('first'));
  const [secret, next] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const config = pathOf('settings.json');
  writeFileSync(config, JSON.stringify({ gateway: { realm: 'first', audit_http_authorization: `Bearer ${secret}` } }));
  const { DATABASE_URL: address = '', ...rest } = env;
  writeFileSync(pathOf('database'), address);
  writeFileSync(pathOf('previous'), randomBytes(32).toString('base64'));
  env = rest;
  const files = {
    ORDERPASS_DATA_DIR: pathOf('data'),
    DATABASE_URL_FILE: pathOf('database'),
    ORDERPASS_MASTER_KEY_PREVIOUS_FILE: pathOf('previous'),
  };
  try {
    const gateway = await start(files, ['--config', config]);
    const realms = (): Promise<string[]> =>
      fromAll(async () => String((await call(gateway, '/mine')).headers['www-authenticate']));
    const [realm = ''] = await realms();
    expect(realm).toContain('realm="first"');

    writeFileSync(config, JSON.stringify({ gateway: { realm: 'other' } }));
    writeFileSync(pathOf('database'), `${address}_other`);
    const first = await replace(gateway, processes(gateway).slice(0, 1));
    expect([first.length, await realms()]).toEqual([1, [realm]]);
    writeFileSync(config, '{ "gateway": {');
    writeFileSync(pathOf('database'), 'half');
    const both = await replace(gateway, processes(gateway));
    expect([both.length, await realms()]).toEqual([count, [realm]]);

    // A process has the secrets of the settings file by message only.
    for (const pid of both)
      for (const name of ['cmdline', 'environ'])
        expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toMatch(new RegExp(`${secret}|half`));
    expect(gateway.errors()).not.toContain(secret);

    writeFileSync(pathOf('previous'), Buffer.from(next).toString('base64'));
    const following = (): number[] =>
      lines(gateway).flatMap(({ pid, msg, setting }) =>
        msg === 'a changed secret is used' && setting === 'master_key_previous' ? [pid] : [],
      );
    await until(() => both.every((pid) => following().includes(pid)));
  } finally {
    env = { ...rest, DATABASE_URL: address };
  }
});

test('A-231 processes whose start was tried again on a full disk do not wait for a supervising process that hangs', async () => {
  writeTable(tableWith('first'));
  await start();
  const restaurant = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restaurant.restuid)], env);
  const { client_id = '', client_secret = '' } = made;
  await runJson(['client', 'limits', client_id, '--minute', '20'], env);
  await program?.stop();
  // The first readings of a gateway fail as on a full disk. A sequence counts also where its transaction ends in an error.
  await database.pool.query(`
    create sequence gateway.tries;
    create function gateway.full_disk() returns boolean language plpgsql as $$
    begin
      if nextval('gateway.tries') <= ${2 * count} then
        raise exception 'the disk is full' using errcode = 'disk_full';
      end if;
      return true;
    end $$;
    alter table gateway.reload_request rename to kept_request;
    create view gateway.reload_request as select number, actor, at from gateway.kept_request where gateway.full_disk()`);
  const gateway = await start();
  await database.pool.query(`
    drop view gateway.reload_request;
    alter table gateway.kept_request rename to reload_request`);
  expect(lines(gateway).filter(({ msg }) => msg.startsWith('the disk is full'))).not.toEqual([]);
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const issued = await fetch(`${gateway.url}/api/oauth/token`, { method: 'POST', body });
  expect(issued.status, await issued.clone().text()).toBe(200);
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const agents = Array.from({ length: 2 * count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  for (const agent of agents) expect((await call(gateway, '/mine', { agent, token })).status).toBe(200);
  signalOne(gateway.child.pid, 'SIGSTOP');
  let answered = 0;
  const calls = agents.map(async (agent) => {
    for (let i = 0; i < 20; i += 1) {
      await call(gateway, '/mine', { agent, token });
      answered += 1;
    }
  });
  await until(() => answered === 20 * agents.length);
  await Promise.all(calls);
});

const filesMax = ({ child: { pid } }: RunningProgram, ...options: string[]): string =>
  execFileSync('prlimit', ['--pid', String(pid), '--noheadings', '--output', 'SOFT', ...options], { encoding: 'utf8' });

test('A-730 where the supervising process can open no file, a process that dies is replaced later, and the others serve', async () => {
  writeTable(tableWith('first'));
  const gateway = await start();
  const agents: Agent[] = [];
  const served = (): Set<number> => new Set(lines(gateway).flatMap(({ pid, msg }) => (msg === 'request' ? [pid] : [])));
  await until(async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    await call(gateway, '/first', { agent });
    return served().size === count;
  });
  const before = filesMax(gateway, '--nofile').trim();
  filesMax(gateway, '--nofile=3:');
  signalOne(processes(gateway)[0], 'SIGKILL');
  const deaths = (): number => lines(gateway).filter(({ msg }) => msg === 'a process has died').length;
  // That of the signal, and the first replacement that cannot be made.
  await until(() => gateway.child.exitCode !== null || deaths() > 1);
  expect(gateway.child.exitCode, gateway.errors()).toBeNull();
  // On a connection that is there; the supervising process accepts no other.
  const first = await Promise.any(agents.map((agent) => call(gateway, '/first', { agent })));
  expect(first.status).toBe(200);
  filesMax(gateway, `--nofile=${before}:`);
  await until(async () => (await metric('orderpass_processes').catch(() => 0)) === count);
  expect(await statuses(gateway, '/first')).toEqual([200]);
});

/** An address with several hosts: connections go to the one that takes writes, and leave it when it no longer does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { checkConnections } from '#src/app/installation/own-store.ts';
import { addressProblem, connectionProblem } from '#src/platform/db/database-address.ts';
import { openSession } from '#src/platform/db/driver/session.ts';
import { openStore } from '#src/platform/db/index.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { type DatabasePair, startPair } from './database-pair.ts';

const log = pino({ level: 'silent' });

let pair: DatabasePair;
const pools: pg.Pool[] = [];

const open = (connection: string): pg.Pool => {
  const pool = createPool({ connection, applicationName: 'test', max: 5 }, log);
  pools.push(pool);
  return pool;
};

const authority = makeAuthority();

beforeAll(async () => {
  pair = await startPair(authority.issue({ names: ['localhost'], use: 'server' }));
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});
afterAll(() => pair?.close());

/** The port of the server that answers. */
const portOf = async (asked: Pick<pg.Pool, 'query'>): Promise<number> =>
  (await asked.query<{ port: number }>('select inet_server_port() as port')).rows[0]?.port ?? 0;

const reversed = (): string => pair.url.replace(/:(\d+),127\.0\.0\.1:(\d+)/, ':$2,127.0.0.1:$1');

const failureOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
};

type Proxy = { port: number; leadTo(server: { port: number }): void; refuse(): void };

/** An address that leads to one of several servers, as that of HAProxy or a virtual address does. Open connections stay. */
const openProxy = async (): Promise<Proxy> => {
  let target = pair.primary.port;
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const refuse = (): void => void server.close();
  onTestFinished(refuse);
  return {
    port: (server.address() as AddressInfo).port,
    refuse,
    leadTo: (next) => {
      target = next.port;
    },
  };
};

/** The server takes a moment to read its settings again. What it answers afterwards must not arrive. */
const readUntilItFails = (client: Pick<pg.Pool, 'query'>): Promise<void> =>
  until(async () => {
    const { rows } = await client.query('show default_transaction_read_only');
    expect(rows).toEqual([{ default_transaction_read_only: 'off' }]);
    return false;
  });

test('A-267 of several hosts the one that takes writes is used, wherever it stands, and one that is away is passed over', async () => {
  const { primary } = pair;
  const away = await freePort();
  for (const url of [
    pair.url,
    reversed(),
    `${reversed()}?target_session_attrs=primary`,
    reversed().replace('@', `@127.0.0.1:${away},`),
  ]) {
    const pool = open(url);
    expect(await Promise.all([portOf(pool), portOf(pool), portOf(pool)])).toEqual(Array(3).fill(primary.port));
    const session = await openSession(pool, 'test-session');
    expect(await portOf(session.client)).toBe(primary.port);
    session.close();
  }
});

test('A-267 with TLS each host is held to its own name, as one host is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-authority-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'authority.pem');
  writeFileSync(file, authority.cert);
  const { port } = pair.primary;
  const listOf = (other: string): string =>
    `postgresql://orderpass@127.0.0.1:${port},${other}:${port}/orderpass?sslmode=verify-full&sslrootcert=${file}`;
  const { rows } = await open(listOf('localhost')).query('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
  expect(rows).toEqual([{ ssl: true }]);
  const refused = await failureOf(open(listOf('127.0.0.1')).query('select 1'));
  expect(connectionProblem(refused)).toContain(`IP: 127.0.0.1 is not in the cert's list`);
});

test('A-267 when no host takes writes, the failure is passing and names each host with its reason, without the password', async () => {
  const { standby } = pair;
  const away = await freePort();
  const url = `postgresql://orderpass:s3cret@127.0.0.1:${away},127.0.0.1:${standby.port}/orderpass`;
  const error = await failureOf(open(url).query('select 1'));
  expect(isTransient(error)).toBe(true);
  const problem = String(connectionProblem(error));
  expect(problem).toContain(`127.0.0.1:${away}: connect ECONNREFUSED`);
  expect(problem).toContain(`127.0.0.1:${standby.port}: the server is a standby`);
  expect(problem).not.toContain('s3cret');
  const alone = await failureOf(open(`${standby.url}?target_session_attrs=read-write`).query('select 1'));
  expect([isTransient(alone), connectionProblem(alone)]).toEqual([true, 'the server is a standby']);
  // Another host would refuse them as well, so the refusal is reported at once.
  const unknown = await failureOf(open(pair.url.replace(/orderpass$/, 'absent')).query('select 1'));
  expect(connectionProblem(unknown)).toBe('database "absent" does not exist');
});

test('A-267 a connection tries each host, also while another one fails and moves on', async () => {
  /** Ends its first connection when `release` is called, and every later one at once. */
  const openHolding = async (): Promise<{ port: number; connections(): number; release(): void }> => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined));
      if (sockets.length > 1) socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return { port, connections: () => sockets.length, release: () => void sockets[0]?.destroy() };
  };
  const [first, third] = [await openHolding(), await openHolding()];
  const second = await freePort();
  const hosts = [first.port, second, third.port].map((port) => `127.0.0.1:${port}`);
  const pool = open(`postgresql://orderpass@${hosts.join()}/orderpass`);
  const held = failureOf(pool.query('select 1'));
  await until(() => first.connections() === 1);
  const other = failureOf(pool.query('select 1'));
  await until(() => third.connections() === 1);
  first.release();
  const problem = String(connectionProblem(await held));
  expect(hosts.map((host) => problem.split(`${host}: `).length - 1)).toEqual([1, 1, 1]);
  third.release();
  await other;
});

test('A-267 one host without target_session_attrs is not asked, so a command can read from a standby', async () => {
  const pool = open(pair.standby.url);
  expect(await portOf(pool)).toBe(pair.standby.port);
});

test('A-267 a list that cannot be used is refused with the reason', () => {
  const problems = [
    'postgresql://u:p@one,two/db?target_session_attrs=any',
    'postgresql://u:p@one/db?target_session_attrs=standby',
    'postgresql://u:p@one,,two/db',
    'postgresql://u:p@one:5432,:5433/db',
    'postgresql://u:p@/db?host=one,two',
    'postgresql://u:p@one,two/db?port=5432',
    'postgresql://u:p@one:5432,two:x/db',
  ].map(addressProblem);
  expect(problems).toEqual([
    expect.stringContaining('target_session_attrs'),
    expect.stringContaining('target_session_attrs'),
    expect.stringContaining('comma'),
    expect.stringContaining('comma'),
    expect.stringContaining('parameter'),
    expect.stringContaining('parameter'),
    expect.stringContaining('is not an address'),
  ]);
  for (const good of ['postgresql://u:p,q@one:5432,two:5433/db?sslmode=require', 'postgresql://u@[::1]:5432,[::2]/db'])
    expect(addressProblem(good)).toBeUndefined();
});

test('A-589 a start waits while its two addresses lead to a primary and its standby, and refuses another database at once', async () => {
  const { primary, standby } = pair;
  const proxy = await openProxy();
  proxy.leadTo(standby);
  const logged: string[] = [];
  const heard = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
  const proxied = `postgresql://orderpass@127.0.0.1:${proxy.port}`;
  const check = async (direct: string, stopping?: AbortSignal): Promise<void> => {
    const addresses = { database_url: primary.url, database_direct_url: direct };
    const store = await openStore(
      { dataDir: '', databaseUrl: primary.url, directUrl: direct, applicationName: 'test' },
      log,
      { exclusive: false },
    );
    try {
      await checkConnections(addresses, store, heard, stopping);
    } finally {
      await store.close();
    }
  };
  const { signal } = new AbortController();
  await expect(check(`${proxied}/postgres`, signal)).rejects.toThrow('leads to another database than DATABASE_URL');
  await expect(check(`${proxied}/orderpass`)).rejects.toThrow('such as a standby');
  const waits = (): boolean => logged.some((line) => line.includes('different servers'));
  expect(waits()).toBe(false);
  const start = check(`${proxied}/orderpass`, signal);
  await Promise.race([start, until(waits)]);
  proxy.leadTo(primary);
  await start;
});

test('A-268 a connection whose server refused a write as read-only is not used again, nor are the idle ones, with one host too', async () => {
  const pool = open(pair.primary.url);
  const pidOf = async (client: pg.Pool | pg.PoolClient): Promise<number> =>
    (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;
  const clients = await Promise.all([pool.connect(), pool.connect()]);
  const pids = await Promise.all(clients.map(pidOf));
  const [refused, idle] = clients;
  idle.release();
  await refused.query('begin read only');
  await expect(refused.query('create table refused ()')).rejects.toThrow('read-only transaction');
  await refused.query('rollback');
  refused.release();
  expect(pids).not.toContain(await pidOf(pool));
  await until(() => pool.totalCount === 1);
});

test('A-268 when a new connection finds the primary at another host, the connections to the host before are left, also those in use', async () => {
  const proxy = await openProxy();
  const pool = open(`postgresql://orderpass@127.0.0.1:${proxy.port},127.0.0.1:${pair.primary.port}/orderpass`);
  const before = await Promise.all([pool.connect(), pool.connect()]);
  const lost = new Set<pg.PoolClient>();
  for (const client of before) client.on('error', () => lost.add(client));
  proxy.refuse();
  const after = await pool.connect();
  await until(() => lost.size === before.length);
  expect(await portOf(after)).toBe(pair.primary.port);
  for (const client of [...before, after]) client.release();
});

test('A-268 A-280 a primary that was fenced is left by all connections, also by those that only read, and the standby is used once it is promoted, from a list and behind a proxy', async () => {
  const { primary, standby } = pair;
  // Two pools, as behind a pooler: a reader of the second one notices for both.
  const store = await openStore(
    { dataDir: '', databaseUrl: pair.url, directUrl: reversed(), applicationName: 'test' },
    log,
    { exclusive: false },
  );
  try {
    const { pool, sessions } = store;
    await pool.query('create table written (id text primary key)');
    await Promise.all([pool.query('select 1'), pool.query('select 1'), pool.query('select 1')]);
    const session = await openSession(sessions, 'test-session');
    const proxy = await openProxy();
    const proxied = open(`postgresql://orderpass@127.0.0.1:${proxy.port}/orderpass?target_session_attrs=read-write`);
    await Promise.all([proxied.query('select 1'), proxied.query('select 1')]);
    const [reader, writer] = [await sessions.connect(), await sessions.connect()];
    for (const client of [reader, writer]) client.on('error', () => undefined);
    const connected = `select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;
    expect((await primary.query(connected)).length).toBeGreaterThan(4);

    await writer.query('begin');
    await writer.query(`insert into written values ('before')`);
    await primary.fence();
    // It began before the fence, so it is committed.
    await writer.query('commit');
    writer.release();
    // Another server may be the primary by now, so the first reading that shows the fence is not believed.
    expect(isTransient(await failureOf(readUntilItFails(reader)))).toBe(true);
    reader.release();
    await until(() => session.over.aborted);
    const byProxy = await failureOf(readUntilItFails(proxied));
    expect(isTransient(byProxy)).toBe(true);
    await until(async () => (await primary.query(connected)).length === 0);
    expect(isTransient(await failureOf(pool.query(`insert into written values ('fenced')`)))).toBe(true);

    await standby.promote();
    proxy.leadTo(standby);
    const write = (to: pg.Pool, id: string): Promise<boolean> =>
      to.query('insert into written values ($1)', [id]).then(
        () => true,
        () => false,
      );
    await until(() => write(pool, 'listed'));
    await until(() => write(proxied, 'proxied'));
    expect([await portOf(pool), await portOf(sessions), await portOf(proxied)]).toEqual(Array(3).fill(standby.port));
    const stored = await standby.query('select id from written order by id');
    expect(stored.map(({ id }) => id)).toEqual(['before', 'listed', 'proxied']);
  } finally {
    await store.close();
  }
});

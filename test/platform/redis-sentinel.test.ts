/** Redis behind Sentinels, and with TLS, an ACL user and an authority of its own; addresses of Redis. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKv } from '#src/platform/kv/index.ts';
import { readClusterAddress, readSentinelAddress, redisAddressProblem } from '#src/platform/kv/redis-address.ts';
import { freePort } from '../support/free-port.ts';
import { askRedis, hasRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });

let folder: string;
let closers: (() => void | Promise<void>)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-sentinel-'));
  closers = [() => rmSync(folder, { recursive: true, force: true })];
});

afterEach(async () => {
  for (const close of closers.toReversed()) await close();
});

type Server = { port: number; kill(): Promise<void> };

/** `conf`: lines of its configuration, which a Sentinel rewrites. */
const startServer = async (name: string, conf: readonly string[], more: readonly string[] = []): Promise<Server> => {
  const port = await freePort();
  const file = join(folder, `${name}.conf`);
  const lines = conf.map((line) => line.replace('PORT', String(port)));
  writeFileSync(file, ['bind 127.0.0.1', `dir ${folder}`, ...lines, ''].join('\n'));
  const child = spawn('redis-server', [file, ...more], { stdio: 'ignore' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  closers.push(kill);
  return { port, kill };
};

const plain = ['port PORT', 'save ""', 'requirepass of-redis', 'masterauth of-redis'];

/** Undefined when the server does not answer. */
const ask = (port: number, password: string, ...command: [string, ...string[]]): Promise<unknown> =>
  askRedis(port, { password }, ...command).catch(() => undefined);

test.runIf(hasRedis)(
  'A-253 counts go to the primary that the Sentinels name, and to its successor after a failover',
  async () => {
    const first = await startServer('first', plain);
    const second = await startServer('second', [...plain, `replicaof 127.0.0.1 ${first.port}`]);
    await until(async () =>
      String(await ask(second.port, 'of-redis', 'INFO', 'replication')).includes('link_status:up'),
    );
    const sentinel = await startServer(
      'sentinel',
      [
        'port PORT',
        'requirepass of-sentinels',
        `sentinel monitor limits 127.0.0.1 ${first.port} 1`,
        'sentinel auth-pass limits of-redis',
        'sentinel down-after-milliseconds limits 500',
        'sentinel failover-timeout limits 2000',
      ],
      ['--sentinel'],
    );
    await until(
      async () => (await ask(sentinel.port, 'of-sentinels', 'SENTINEL', 'REPLICAS', 'limits'))?.toString() !== '',
    );
    const kv = await createKv({
      url: `redis+sentinel://:of-redis@127.0.0.1:1,127.0.0.1:${sentinel.port}/limits`,
      sentinelPassword: 'of-sentinels',
      waitMsMax: 2_000,
      log,
    });
    closers.push(() => kv.close());
    await until(() => kv.health() === 'up');
    const counter = kv.windows({ name: 'test', quota: 100, windowSeconds: 60 });
    expect((await counter.add('a', 3)).used).toBe(3);
    const heard: string[] = [];
    kv.subscribe('news', (message) => void heard.push(message));
    await until(() => {
      kv.publish('news', 'before');
      return heard.includes('before');
    });
    await first.kill();
    await until(async () => (await counter.add('a', 1).catch(() => undefined)) !== undefined);
    expect(await ask(second.port, 'of-redis', 'ROLE')).toEqual(expect.arrayContaining(['master']));
    await until(() => {
      kv.publish('news', 'after');
      return heard.includes('after');
    });
  },
);

test.runIf(hasRedis)(
  'A-253 a Redis with TLS is trusted by the authority that the setting names only, and gets the name of an ACL user',
  async () => {
    execFileSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
      ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')],
    ]);
    const { port } = await startServer('tls', [
      'port 0',
      'tls-port PORT',
      'save ""',
      `tls-cert-file ${join(folder, 'cert.pem')}`,
      `tls-key-file ${join(folder, 'key.pem')}`,
      'tls-auth-clients no',
      'user default off',
      'user limits on >of-limits ~orderpass:* &orderpass:* +@all',
    ]);
    const open = async (caFile: string | undefined) => {
      const kv = await createKv({ url: `rediss://limits:of-limits@localhost:${port}`, caFile, waitMsMax: 2_000, log });
      closers.push(() => kv.close());
      return kv;
    };
    const [trusting, stranger] = [await open(join(folder, 'cert.pem')), await open(undefined)];
    await until(() => trusting.health() === 'up');
    expect((await trusting.windows({ name: 'test', quota: 9, windowSeconds: 60 }).add('a', 2)).used).toBe(2);
    expect(stranger.health()).toBe('down');
  },
);

test('A-253 an address of Sentinels is read with encoded credentials and IPv6, and a wrong one says its form', () => {
  expect(readSentinelAddress('rediss+sentinel://us%40er:p%3Aw@a.example:1,[::1]:2,c/of-limits/3')).toEqual({
    sentinels: [
      { host: 'a.example', port: 1 },
      { host: '::1', port: 2 },
      { host: 'c', port: 26_379 },
    ],
    name: 'of-limits',
    username: 'us@er',
    password: 'p:w',
    db: 3,
  });
  for (const wrong of ['', 'a:0/m', 'a:70000/m', 'a', 'a/', ',a/m', '%zz@a/m', 'a/m/x', 'u:p@/m'])
    expect([wrong, redisAddressProblem(`redis+sentinel://${wrong}`)]).toEqual([wrong, expect.stringContaining('NAME')]);
  expect(redisAddressProblem('http://a')).toContain('must begin with');
  expect(redisAddressProblem('rediss://a')).toBeUndefined();
});

test('A-266 an address of a cluster names its nodes, and one of several hosts, a database or another scheme is refused', () => {
  expect(readClusterAddress('rediss+cluster://us%40er:p%3Aw@a.example:1,[::1]:2,c')).toEqual({
    nodes: [
      { host: 'a.example', port: 1 },
      { host: '::1', port: 2 },
      { host: 'c', port: 6_379 },
    ],
    username: 'us@er',
    password: 'p:w',
  });
  for (const fine of ['redis+cluster://a', 'redis+cluster://:p@a,b/0', 'redis://:p,w@a/1', 'redis://a?x=1,2'])
    expect([fine, redisAddressProblem(fine)]).toEqual([fine, undefined]);
  const formOf = 'must have the form redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT';
  for (const wrong of ['', ',a', 'a:0', 'a:70000', 'a,', '%zz@a', 'a/name', 'a?x=1'])
    expect([wrong, redisAddressProblem(`redis+cluster://${wrong}`)]).toEqual([wrong, formOf]);
  expect(redisAddressProblem('redis+cluster://a,b/1')).toContain('database 0 alone');
  expect(redisAddressProblem('rediss://u:p@a:1,b:2')).toContain('several hosts');
  expect(redisAddressProblem('redis+cluster+sentinel://a,b/limits')).toContain('must begin with');
});

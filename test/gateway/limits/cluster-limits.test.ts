/** Limits of two gateways over a Redis Cluster with TLS and an ACL user, while its nodes die. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createThrottle, type Throttle } from '#src/gateway/limits/throttle.ts';
import { createKv, type Kv } from '#src/platform/kv/index.ts';
import { hasRedis, startRedisCluster, type TestRedisCluster } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const quota = 6;
const waitMsMax = 1_000;
/** So many that every primary has slots of some. */
const callers = Array.from({ length: 40 }, (_, i) => `opc_${i}`);
const rights = '+@read +@write +@scripting +@pubsub +@connection +info +time +cluster|slots'.split(' ');

describe.skipIf(!hasRedis)('limits of two gateways over a Redis Cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-cluster-limits-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  let cluster: TestRedisCluster;
  let names = 0;
  const kvs: Kv[] = [];
  const logged: string[][] = [];

  beforeAll(async () => {
    execFileSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', key, '-out', cert],
    ]);
    cluster = await startRedisCluster({
      replicas: 2,
      argsOf: (port) => [
        ...['--port', '0', '--tls-port', String(port), '--tls-cluster', 'yes', '--tls-replication', 'yes'],
        ...['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no'],
        ...['--requirepass', 'of-redis', '--masterauth', 'of-redis'],
        ...['--user', 'limits', 'on', '>of-limits', '~orderpass:*', '&orderpass:*', ...rights],
        ...['--user', 'blind', 'on', '>of-blind', '~orderpass:*', '&orderpass:*', ...rights, '-@scripting'],
      ],
      client: { password: 'of-redis', tls: { ca: readFileSync(cert, 'utf8') } },
    });
    for (let i = 0; i < 2; i += 1) kvs.push(await openKv(cert, { vacant: true }));
    await until(() => kvs.every((kv) => kv.health() === 'up'));
  });

  afterAll(async () => {
    for (const kv of kvs) await kv.close();
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** `vacant`: an address without a node comes first. */
  const openKv = (
    caFile: string | undefined,
    { scheme = 'rediss+cluster', user = 'limits:of-limits', vacant = false } = {},
  ): Promise<Kv> => {
    const lines: string[] = [];
    logged.push(lines);
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
    const first = vacant ? '127.0.0.1:1,' : '';
    const url = `${scheme}://${user}@${first}localhost:${cluster.primaries[1]?.port}`;
    return createKv({ url, caFile, waitMsMax, log });
  };

  const openPair = (): Throttle[] => {
    names += 1;
    return kvs.map((kv) => createThrottle({ kv, name: `pair${names}`, callsMax: quota, windowSeconds: 600 }));
  };

  /** Admitted calls of each caller, at these gateways in turn. */
  const countAdmitted = (gateways: readonly Throttle[]): Promise<number[]> =>
    Promise.all(
      callers.map(async (caller) => {
        let admitted = 0;
        for (let i = 0; i < 2 * quota + 2; i += 1)
          if ((await gateways[i % gateways.length]?.(caller)) === undefined) admitted += 1;
        return admitted;
      }),
    );

  const expectShared = async (): Promise<void> => {
    expect(await countAdmitted(openPair())).toEqual(callers.map(() => quota));
    await expectMessages();
  };

  const expectMessages = async (): Promise<void> => {
    const heard: string[] = [];
    const stop = kvs[1]?.subscribe('news', (message) => void heard.push(message));
    await until(() => {
      kvs[0]?.publish('news', 'arrives');
      return heard.length > 0;
    });
    stop?.();
  };

  /** Asks for keys of every slot until a question fails. */
  const untilAway = (kv: Kv): Promise<void> => {
    const counter = kv.windows({ name: 'ask', quota: 1_000, windowSeconds: 600 });
    return until(async () => {
      await Promise.allSettled(callers.map((caller) => counter.add(caller, 1)));
      return kv.health() === 'down';
    });
  };

  /** The nodes agree on a failover one after the other, so a question may fail after another one was answered. */
  const untilShared = async (nodes: TestRedisCluster['primaries']): Promise<void> => {
    await until(() => cluster.isSound(nodes));
    await until(async () => (await countAdmitted(openPair())).every((admitted) => admitted === quota));
    await expectMessages();
  };

  test('A-264 every caller has one limit at both, whichever node counts it, and messages and leases reach both', async () => {
    await expectShared();
    for (const node of cluster.primaries) expect(await node.ask('DBSIZE')).toBeGreaterThan(0);
    const [first, second] = kvs.map((kv) => kv.leases?.({ name: 'test', leaseMs: 60_000 }));
    for (const caller of callers) {
      expect(await first?.take(caller, 'a', 1)).toBe(true);
      expect(await second?.take(caller, 'b', 1)).toBe(false);
      await first?.release(caller, 'a');
      expect(await second?.take(caller, 'b', 1)).toBe(true);
    }
    expect(logged.flat()).toEqual([]);
  });

  test('A-265 each reason for which no node counts is logged once, without a password', async () => {
    const reasons: [Parameters<typeof openKv>, string][] = [
      [[undefined], 'not reachable (REDIS_URL): self-signed certificate;'],
      [[cert, { user: 'limits:hidden' }], 'not reachable (REDIS_URL): WRONGPASS'],
      [
        [cert, { scheme: 'rediss' }],
        'not reachable (REDIS_URL): it is a node of a cluster, which redis+cluster:// reaches;',
      ],
      [[cert, { user: 'blind:of-blind' }], 'not reachable (REDIS_URL): NOPERM'],
    ];
    for (const [args, reason] of reasons) {
      const kv = await openKv(...args);
      const lines = logged.at(-1) ?? [];
      const counter = kv.windows({ name: 'reason', quota: 1, windowSeconds: 600 });
      try {
        await until(async () => {
          const asked = await Promise.allSettled(callers.map((caller) => counter.add(caller, 1)));
          return lines.length > 0 && asked.every(({ status }) => status === 'rejected');
        });
        expect(lines).toEqual([expect.stringContaining(reason)]);
        expect(lines.join()).not.toContain('hidden');
        expect(kv.health()).toBe('down');
      } finally {
        await kv.close();
      }
    }
  });

  test('A-265 after a kill each gateway counts alone until the replica has the slots, and the reason is logged once', async () => {
    const [first, second, third] = cluster.primaries;
    const [replica] = cluster.replicas;
    if (!first || !second || !third || !replica) throw new Error('no nodes');
    // The failover waits for it.
    replica.freeze();
    await first.kill();
    await Promise.all(kvs.map(untilAway));
    const startedAt = performance.now();
    for (const throttle of openPair()) expect(await countAdmitted([throttle])).toEqual(callers.map(() => quota));
    // Each caller asks several times in turn, so one wait for each question would take longer.
    expect(performance.now() - startedAt).toBeLessThan(5 * waitMsMax);
    replica.resume();
    await untilShared([second, third, replica]);
    expect(String(await replica.ask('ROLE'))).toContain('master');
    await until(() => logged.slice(0, 2).every((lines) => lines.at(-1)?.includes('reachable again')));
    for (const lines of logged.slice(0, 2)) {
      // On a busy machine a question may be late before the end of its connection is seen, and the reason follows.
      const named = lines.filter((line) => !line.includes('it does not answer'));
      expect(lines.length - named.length).toBeLessThanOrEqual(1);
      expect(named).toEqual([
        expect.stringMatching(
          /not reachable \(REDIS_URL\): (?:it closed|connect ECONNREFUSED|write EPIPE|CLUSTERDOWN)/,
        ),
        expect.stringContaining('reachable again'),
      ]);
    }
  });

  test('A-265 a node that stands still costs each question at most one wait, and its replica is found', async () => {
    const [, second, third] = cluster.primaries;
    const [successor, replica] = cluster.replicas;
    if (!second || !third || !successor || !replica) throw new Error('no nodes');
    await untilShared([second, third, successor, replica]);
    second.freeze();
    await Promise.all(kvs.map(untilAway));
    await untilShared([third, successor, replica]);
  });
});

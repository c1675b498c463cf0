/**
 * The fleet of the failover test: two gateways, a core and a worker, on a PostgreSQL under Patroni and a Redis under Sentinels.
 * Its programs find the primary by HAProxy, or by an address that names every node.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { unprivilegedAccount } from '#src/platform/db/embedded/account.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { type PatroniCluster, startPatroniCluster, superuserUrl } from './cluster/patroni-cluster.ts';
import { startPrimaryBalancer } from './cluster/primary-balancer.ts';
import type { Programs } from './cluster/programs.ts';
import { type SentinelRedis, startSentinelRedis } from './cluster/sentinel-redis.ts';

export type FailoverFleet = {
  /** Logs of the servers. */
  folder: string;
  cluster: PatroniCluster;
  redis: SentinelRedis;
  receiver: WebhookReceiver;
  programs: readonly RunningProgram[];
  gatewayUrls: string[];
  client: { client_id: string; client_secret: string };
  restuid: string;
  /** For commands. */
  env: Record<string, string>;
  /** One statement at the primary. Rejects during a failover. */
  query<Row>(text: string): Promise<Row[]>;
  /** `keepLogs`: the folder stays. */
  close(keepLogs: boolean): Promise<void>;
};

export const routes = ['HAProxy', 'several hosts'] as const;
export type Route = (typeof routes)[number];

const role = { name: 'orderpass', password: 'of-orderpass' };
const kinds = ['customers', 'orders', 'loyaltylog', 'menu'];

/** Without HAProxy the address names the nodes, and pg asks each of them whether it takes writes. */
const databaseUrl = (ports: readonly number[]): string => {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const query = ports.length > 1 ? '?target_session_attrs=read-write' : '';
  return `postgresql://${role.name}:${role.password}@${hosts}/${role.name}${query}`;
};

export const startFailoverFleet = async (found: Programs, route: Route): Promise<FailoverFleet> => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-failover-'));
  // Started by root, the servers run as a user that must be able to enter.
  chmodSync(folder, 0o755);
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (keepLogs: boolean): Promise<void> => {
    for (const one of closers.toReversed()) await one();
    if (!keepLogs) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const cluster = await startPatroniCluster(folder, found, await unprivilegedAccount());
    closers.push(() => cluster.close());
    const ports = route === 'HAProxy' ? await balancedPorts(cluster.nodes, closers) : cluster.nodes.map(portOf);
    const redis = await startSentinelRedis(folder, found.redis);
    closers.push(() => redis.close());
    const receiver = await startReceiver();
    closers.push(() => receiver.close());
    const query = async <Row>(text: string, database = role.name): Promise<Row[]> =>
      queryOnce(superuserUrl((await cluster.primary())?.port ?? 0, database), text);
    await query(`create role ${role.name} login password '${role.password}'`, 'postgres');
    await query(`create database ${role.name} owner ${role.name}`, 'postgres');
    const env = {
      DATABASE_URL: databaseUrl(ports),
      REDIS_URL: redis.url,
      ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
      ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
      ORDERPASS_RATE_MINUTE_UNITS: '10000000',
      ORDERPASS_RATE_BURST_UNITS: '10000000',
    };
    const programs = await startPrograms(env, closers);
    const gatewayUrls = programs.slice(-2).map(({ url }) => url);
    return {
      ...{ folder, cluster, redis, receiver, programs, gatewayUrls, env, query, close },
      ...(await createRestaurant(env, receiver.url)),
    };
  } catch (error) {
    process.stderr.write(`the logs of the servers are in ${folder}\n`);
    await close(true);
    throw error;
  }
};

const portOf = ({ port }: { port: number }): number => port;

const balancedPorts = async (
  nodes: PatroniCluster['nodes'],
  closers: (() => Promise<unknown>)[],
): Promise<number[]> => {
  const balancer = await startPrimaryBalancer(nodes);
  closers.push(() => balancer.close());
  return [balancer.port];
};

const queryOnce = async <Row>(url: string, text: string): Promise<Row[]> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end().catch(() => undefined);
  }
};

/** The gateways come last. */
const startPrograms = async (
  env: Record<string, string>,
  closers: (() => Promise<unknown>)[],
): Promise<RunningProgram[]> => {
  const programs: RunningProgram[] = [];
  const start = async (more: Record<string, string>): Promise<void> => {
    const program = await startProgram({ ...env, ...more });
    closers.push(() => program.stop());
    programs.push(program);
  };
  const corePort = String(await freePort());
  await start({ ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: corePort });
  await start({ ORDERPASS_ROLE: 'worker' });
  const gateway = {
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${corePort}`,
  };
  await start(gateway);
  await start(gateway);
  return programs;
};

const createRestaurant = async (env: Record<string, string>, receiverUrl: string) => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const of = ['--restaurant', String(restuid)];
  await runJson(['notifications', 'set', ...of, ...kinds.flatMap((kind) => [`--${kind}`, 'on'])], env);
  await runJson(['endpoint', 'create', ...of, '--url', receiverUrl, '--kinds', kinds.join(',')], env);
  const made = await runJson(['client', 'create', '--name', 'Till', ...of], env);
  const client = { client_id: String(made.client_id), client_secret: String(made.client_secret) };
  return { client, restuid: String(restuid) };
};

/** A real Redis of a test's own, without disk, that can be killed and started again on its port; and a cluster of them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export type TestRedis = {
  url: string;
  start(): Promise<void>;
  /** SIGKILL: everything that it held is lost. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open without an answer; `resume` undoes it. */
  freeze(): void;
  resume(): void;
};

/** Tests that need a Redis are skipped by this where there is none: install redis-server to run them. */
export const hasRedis = (() => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('skipped: tests with a real Redis, since there is no redis-server on the PATH\n');
    return false;
  }
})();

export const startRedis = async (): Promise<TestRedis> => {
  const port = await freePort();
  let child: ChildProcess | undefined;
  const redis: TestRedis = {
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
      child = spawn('redis-server', args, { stdio: 'ignore' });
      await until(() => answers(port));
    },
    kill: async () => {
      const dying = child;
      child = undefined;
      if (dying === undefined) return;
      const gone = new Promise((resolve) => dying.once('exit', resolve));
      dying.kill('SIGKILL');
      await gone;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
  await redis.start();
  return redis;
};

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString().startsWith('+PONG'));
    });
    socket.once('error', () => resolve(false));
  });

type ClusterNode = {
  port: number;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open without an answer; `resume` undoes it. */
  freeze(): void;
  resume(): void;
  /** Rejects when the node cannot be reached. */
  ask(...command: [string, ...(string | number)[]]): Promise<unknown>;
};

/** Three primaries, and replicas of the first ones. */
export type TestRedisCluster = {
  primaries: readonly ClusterNode[];
  /** Each of the primary with its number. */
  replicas: readonly ClusterNode[];
  /** Every one of these nodes says that all slots have a primary. */
  isSound(nodes: readonly ClusterNode[]): Promise<boolean>;
  close(): Promise<void>;
};

type Client = { password?: string; tls?: { ca: string } };

type ClusterOptions = {
  replicas?: number;
  /** Arguments of a node for the port of its clients. */
  argsOf?: (port: number) => readonly string[];
  /** Of the test's own connections to a node. */
  client?: Client;
};

const slots = 16_384;
const primaryCount = 3;

export const startRedisCluster = async (options: ClusterOptions = {}): Promise<TestRedisCluster> => {
  const { replicas: replicaCount = 0, argsOf = (port) => ['--port', String(port)], client = {} } = options;
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-cluster-'));
  const started: { node: ClusterNode; bus: number }[] = [];
  for (let i = 0; i < primaryCount + replicaCount; i += 1) {
    const [port, bus] = [await freePort(), await freePort()];
    const child = spawn('redis-server', [...argsOf(port), ...commonArgs(folder, port, bus)], { stdio: 'ignore' });
    started.push({ node: nodeOf(child, port, client), bus });
  }
  const nodes = started.map(({ node }) => node);
  const [primaries, replicas] = [nodes.slice(0, primaryCount), nodes.slice(primaryCount)];
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(nodes.map((node) => until(() => node.ask('PING').then(Boolean, () => false))));
    for (const [i, node] of primaries.entries()) {
      await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      await node.ask('CLUSTER', 'ADDSLOTSRANGE', firstSlot(i), firstSlot(i + 1) - 1);
    }
    // Gossip would take seconds.
    for (const node of nodes)
      for (const other of started)
        if (node !== other.node) await node.ask('CLUSTER', 'MEET', '127.0.0.1', other.node.port, other.bus);
    await Promise.all(replicas.map((replica, i) => follow(replica, primaries[i] as ClusterNode)));
    await until(() => isSound(nodes));
  } catch (error) {
    await close();
    throw error;
  }
  return { primaries, replicas, isSound, close };
};

const follow = async (replica: ClusterNode, primary: ClusterNode): Promise<void> => {
  const id = String(await primary.ask('CLUSTER', 'MYID'));
  await until(() => replica.ask('CLUSTER', 'REPLICATE', id).then(Boolean, () => false));
  await until(async () => String(await replica.ask('INFO', 'replication')).includes('link_status:up'));
};

const firstSlot = (primary: number): number => Math.floor((primary * slots) / primaryCount);

const commonArgs = (folder: string, port: number, bus: number): string[] => [
  ...['--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'],
  ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`, '--cluster-announce-ip', '127.0.0.1'],
  // Failover is quick, and waits for no replica with fresher rows; a node of a busy machine is not taken for dead.
  ...['--cluster-port', String(bus), '--cluster-node-timeout', '2000', '--cluster-replica-validity-factor', '0'],
];

const nodeOf = (child: ChildProcess, port: number, client: Client): ClusterNode => {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  return {
    port,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    freeze: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    ask: (...command) => askRedis(port, client, ...command),
  };
};

/** One command over a connection of its own to a server on this machine. Rejects when it does not answer. */
export const askRedis = async (
  port: number,
  options: Client,
  ...command: [string, ...(string | number)[]]
): Promise<unknown> => {
  const redis = new Redis({ ...options, port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await redis.call(...command);
  } finally {
    redis.disconnect();
  }
};

const isSound = async (nodes: readonly ClusterNode[]): Promise<boolean> => {
  const said = await Promise.all(nodes.map((node) => node.ask('CLUSTER', 'INFO').catch(() => '')));
  return said.every((text) => /cluster_state:ok[\s\S]*cluster_slots_ok:16384/.test(String(text)));
};

/** Three nodes of PostgreSQL under Patroni with synchronous replication, one etcd, and the faults that a test gives a node. */
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Account } from '#src/platform/db/embedded/account.ts';
import { freePort } from '../../support/free-port.ts';
import { signalOne } from '../../support/signal.ts';
import { until } from '../../support/until.ts';
import { type NodeAddress, patroniConfig, superuser } from './patroni-config.ts';
import type { Programs } from './programs.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** crash: PostgreSQL alone is killed. lost: Patroni too, as with the machine. frozen: both are stopped, and continue later. */
export const faults = ['crash', 'lost', 'frozen'] as const;
type Fault = (typeof faults)[number];

type PatroniNode = NodeAddress & { folder: string; patroni: ServerProcess };

export type PatroniCluster = {
  nodes: readonly PatroniNode[];
  /** The node whose Patroni holds the lock and whose PostgreSQL takes writes. */
  primary(): Promise<PatroniNode | undefined>;
  /** There is a primary, two standbys stream from it, and one of them is synchronous: the next failover can succeed. */
  isWhole(): Promise<boolean>;
  harm(node: PatroniNode, fault: Fault): void;
  /** The end of the fault: the node continues, or its Patroni starts again. */
  mend(node: PatroniNode, fault: Fault): void;
  close(): Promise<void>;
};

/** The first node creates its data; initdb and two copies take long on a machine that has other work. */
const startMs = 300_000;
/** A Patroni that is stopped takes connections and never answers. */
const answerMs = 2_000;

export const startPatroniCluster = async (
  folder: string,
  programs: Programs,
  account: Account,
): Promise<PatroniCluster> => {
  const ownFolder = (name: string): string => {
    const path = join(folder, name);
    mkdirSync(path, { mode: 0o700 });
    if (account !== undefined) chownSync(path, account.uid, account.gid);
    return path;
  };
  const etcdPort = await freePort();
  const etcd = await startEtcd(programs, ownFolder('etcd'), { port: etcdPort, account, folder });
  const startPatroni = ({ name, folder: own }: Pick<PatroniNode, 'name' | 'folder'>): ServerProcess =>
    startServerProcess(programs.patroni, [`${own}/patroni.json`], { account, logFile: join(folder, `${name}.log`) });
  const nodes: PatroniNode[] = [];
  for (const name of ['node-1', 'node-2', 'node-3']) {
    const address = { name, port: await freePort(), restPort: await freePort() };
    const own = ownFolder(name);
    writeFileSync(`${own}/patroni.json`, patroniConfig(address, { ...programs, etcdPort, folder: own }));
    nodes.push({ ...address, folder: own, patroni: startPatroni({ name, folder: own }) });
  }
  const cluster: PatroniCluster = {
    nodes,
    primary: async () => {
      const answers = await Promise.all(nodes.map(({ restPort }) => ask(restPort, '/primary')));
      return nodes.find((_, index) => answers[index]?.status === 200);
    },
    isWhole: async () => {
      const primary = await cluster.primary();
      return primary !== undefined && (await hasStandbys(primary));
    },
    harm: (node, fault) => {
      // Patroni first: it would report the end of PostgreSQL at once.
      if (fault === 'lost') signalOne(node.patroni.pid, 'SIGKILL');
      if (fault !== 'frozen') return void signalOne(postmasterOf(node), 'SIGKILL');
      for (const pid of [postmasterOf(node), ...childrenOf(postmasterOf(node)), node.patroni.pid])
        signalOne(pid, 'SIGSTOP');
    },
    mend: (node, fault) => {
      if (fault === 'lost') node.patroni = startPatroni(node);
      if (fault === 'frozen') thaw(node);
    },
    close: async () => {
      await Promise.all(
        nodes.map(async (node) => {
          // A test that failed leaves a node frozen. Patroni stops its PostgreSQL before it ends.
          thaw(node);
          await node.patroni.end('SIGTERM');
        }),
      );
      await etcd.end('SIGKILL');
    },
  };
  try {
    await until(cluster.isWhole, startMs);
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
};

/** The address of a database at the port of a node or of a balancer, for the superuser. */
export const superuserUrl = (port: number, database: string): string =>
  `postgresql://${superuser.username}:${superuser.password}@127.0.0.1:${port}/${database}`;

type EtcdSettings = { port: number; account: Account; folder: string };

const startEtcd = async (
  { etcd: command, etcdProtocol }: Programs,
  data: string,
  { port, account, folder }: EtcdSettings,
): Promise<ServerProcess> => {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${await freePort()}`];
  const options = {
    name: 'etcd-1',
    'data-dir': `${data}/data`,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `etcd-1=${peer}`,
    ...(etcdProtocol === 'etcd' && { 'enable-v2': 'true' }),
  };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const etcd = startServerProcess(command, args, { account, logFile: join(folder, 'etcd.log') });
  await until(async () => (await ask(port, '/health'))?.status === 200);
  return etcd;
};

const ask = (port: number, path: string): Promise<Response | undefined> =>
  fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(answerMs) }).catch(() => undefined);

type Member = { role: string; state: string };

/** Asks both: Patroni fails over to the standby that etcd names as synchronous, and PostgreSQL knows which ones stream. */
const hasStandbys = async ({ port, restPort }: PatroniNode): Promise<boolean> => {
  const answer = await ask(restPort, '/cluster');
  const { members } = ((await answer?.json().catch(() => undefined)) ?? { members: [] }) as { members: Member[] };
  if (!members.some(({ role }) => role === 'sync_standby')) return false;
  const client = new pg.Client({
    connectionString: superuserUrl(port, 'postgres'),
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ sync_state: string }>(
      `select sync_state from pg_stat_replication where state = 'streaming' and application_name like 'node-%'`,
    );
    return rows.length === 2 && rows.some(({ sync_state }) => sync_state === 'sync');
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
};

const postmasterOf = ({ folder }: PatroniNode): number =>
  Number(readFileSync(`${folder}/data/postmaster.pid`, 'utf8').split('\n', 1)[0]);

const thaw = (node: PatroniNode): void => {
  signalOne(node.patroni.pid, 'SIGCONT');
  // A node whose start failed has no PostgreSQL.
  if (!existsSync(`${node.folder}/data/postmaster.pid`)) return;
  const postmaster = postmasterOf(node);
  // PostgreSQL makes the file before it writes its id there.
  if (postmaster === 0) return;
  for (const pid of [...childrenOf(postmaster), postmaster]) signalOne(pid, 'SIGCONT');
};

const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number);

const parentOf = (pid: string): number => {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    // It has ended.
    return 0;
  }
};

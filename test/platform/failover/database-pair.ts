/**
 * A primary and its synchronous standby, from the binaries that come with Orderpass. They listen on 127.0.0.1, and are not
 * started again when they end, as servers whose failover another program decides.
 */
import { execFile } from 'node:child_process';
import { chown, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import { prepareBinaries } from '#src/platform/db/embedded/binaries.ts';
import { startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { startWatched } from '#src/platform/db/embedded/watched.ts';
import { freePort } from '../../support/free-port.ts';
import { signalOne } from '../../support/signal.ts';
import { makeFolder, realCluster } from '../../support/store-owner.ts';
import { until } from '../../support/until.ts';

type PairServer = {
  port: number;
  /** Its address alone, without asking whether it is the primary. */
  url: string;
  /** The rows of one statement, on a connection of its own. */
  query(text: string): Promise<Record<string, unknown>[]>;
  /** Ends it without a shutdown: what was not flushed is lost, and clients get no word. */
  crash(): Promise<void>;
  /** Alive, with its connections, but read-only for new transactions. */
  fence(): Promise<void>;
  /** Its processes stand still: connections stay and get no answer, as those of a machine that lost its network. */
  freeze(): Promise<void>;
  promote(): Promise<void>;
};

export type DatabasePair = {
  primary: PairServer;
  standby: PairServer;
  /** Both hosts, the primary first. */
  url: string;
  close(): Promise<void>;
};

/** A crash of PostgreSQL loses nothing that the system has; the data may be lost with the machine. */
const settings = { fsync: 'off', max_connections: '200', shared_buffers: '16MB', unix_socket_directories: '' };
const access = ['local all all reject', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'];
const login = 'orderpass@127.0.0.1';
const database = 'orderpass';

/** `tls`: PEM texts with which both servers also take encrypted connections. */
export const startPair = async (tls?: { cert: string; key: string }): Promise<DatabasePair> => {
  const folder = await makeFolder();
  const log = pino({ level: 'silent' });
  const embedded = await startEmbedded({ dataDir: folder.dataDir, log, extraSettings: { fsync: 'off' } });
  await embedded.stop();
  const cluster = await realCluster(folder.cluster);
  await writeFile(join(cluster, 'pg_hba.conf'), `${access.join('\n')}\n`);
  if (tls !== undefined) await writeTls(cluster, tls);
  const copy = join(dirname(cluster), 'standby');
  await promisify(execFile)('cp', ['-a', cluster, copy]);
  const started: Started[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(started.map(({ end }) => end()));
    await folder.remove();
  };
  const serve = async (place: string): Promise<PairServer> => {
    const one = await startServer(place);
    started.push(one);
    return one.server;
  };
  const primary = await serve(cluster);
  const source = `host=127.0.0.1 port=${primary.port} user=orderpass application_name=standby`;
  await appendSetting(copy, 'primary_conninfo', source);
  await writeFile(join(copy, 'standby.signal'), '');
  const standby = await serve(copy);
  await primary.query("alter system set synchronous_standby_names = 'standby'");
  await primary.query('select pg_reload_conf()');
  const isSynchronous = `select 1 from pg_stat_replication where sync_state = 'sync'`;
  await until(async () => (await primary.query(isSynchronous)).length === 1);
  return {
    primary,
    standby,
    url: `postgresql://${login}:${primary.port},127.0.0.1:${standby.port}/${database}`,
    close,
  };
};

/** By the names that PostgreSQL looks for. It takes a key that only its own user can read. */
const writeTls = async (cluster: string, { cert, key }: { cert: string; key: string }): Promise<void> => {
  const { uid, gid } = await stat(cluster);
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    await writeFile(join(cluster, name), text, { mode: 0o600 });
    await chown(join(cluster, name), uid, gid);
  }
  await appendSetting(cluster, 'ssl', 'on');
};

const appendSetting = async (cluster: string, name: string, value: string): Promise<void> => {
  const file = join(cluster, 'postgresql.auto.conf');
  await writeFile(file, `${await readFile(file, 'utf8')}${name} = '${value}'\n`);
};

/** A started server. `end` also ends one that stands still. */
type Started = { server: PairServer; end(): Promise<unknown> };

const startServer = async (cluster: string): Promise<Started> => {
  const { uid, gid } = await stat(cluster);
  const account = process.getuid?.() === 0 ? { uid, gid } : undefined;
  const binaries = await prepareBinaries(account, {});
  const port = await freePort();
  const args = ['-D', cluster, '-p', String(port)];
  for (const [name, value] of Object.entries({ ...settings, listen_addresses: '127.0.0.1' }))
    args.push('-c', `${name}=${value}`);
  const output = await open(`${cluster}.log`, 'a');
  const command = join(binaries.folder, 'bin', 'postgres');
  const child = startWatched({ command, args, account, logFd: output.fd });
  await output.close();
  let isOver = false;
  void child.exited.then(() => {
    isOver = true;
  });
  const url = `postgresql://${login}:${port}/${database}`;
  const query = (text: string): Promise<Record<string, unknown>[]> => queryAt(url, text);
  await until(async () => {
    if (isOver) throw new Error(`the server ended\n${await readFile(`${cluster}.log`, 'utf8')}`);
    return query('select 1').then(
      () => true,
      () => false,
    );
  });
  const frozen: number[] = [];
  const end = (): Promise<unknown> => {
    child.kill('SIGQUIT');
    for (const pid of frozen) signalOne(pid, 'SIGCONT');
    return child.exited;
  };
  const server: PairServer = {
    port,
    url,
    query,
    crash: async () => {
      await end();
    },
    freeze: async () => {
      frozen.push(child.pid, ...(await childrenOf(child.pid)));
      for (const pid of frozen) signalOne(pid, 'SIGSTOP');
    },
    fence: async () => {
      await query('alter system set default_transaction_read_only = on');
      await query('select pg_reload_conf()');
    },
    promote: async () => {
      await query('select pg_promote()');
    },
  };
  return { server, end };
};

const childrenOf = async (pid: number): Promise<number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')));
  // The name of the program stands in parentheses before the state and the id of the parent.
  return stats
    .filter((text) => Number(text.split(') ')[1]?.split(' ')[1]) === pid)
    .map((text) => Number.parseInt(text, 10));
};

const queryAt = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
};

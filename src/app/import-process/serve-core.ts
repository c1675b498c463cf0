/**
 * The work of the import process: the same core on an internal listener of its own, with its own connections and only the
 * operations with `longWork`.
 */
import { createOrdering } from '#src/ordering/index.ts';
import { openDatabaseClock } from '#src/platform/db/database-clock.ts';
import { serverPidOf } from '#src/platform/db/driver/pg-client.ts';
import { createDatabase, createPool, endPool } from '#src/platform/db/pool.ts';
import { createLog } from '#src/platform/log.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createCoreHandler, createInternalServer, listen } from '../listeners/listeners.ts';
import type { ChildMessage, ImportSettings } from './messages.ts';
import { lowerOther } from './niceness.ts';

const host = '127.0.0.1';

/**
 * Three imports or reverts (platform/http/mount-operations.ts) with the connections that report their progress, and some short requests
 * beside them.
 */
export const connectionsMax = 6;

/** Resolves when it listens and has sent its port. A later message ends the process. */
export const serveCore = async (settings: ImportSettings, send: (message: ChildMessage) => void): Promise<void> => {
  const log = createLog({ level: settings.logLevel, role: 'import' });
  const { databaseUrl: connection, applicationName, isPooled, prepared } = settings;
  const pool = createPool({ connection, max: connectionsMax, applicationName, isPooled, prepared }, log);
  if (settings.embedded) pool.on('connect', lowerBackend);
  const db = createDatabase(pool, { isPooled });
  const { clock, service: clockService } = await openDatabaseClock(pool, log);
  const cursorKey = Buffer.from(settings.cursorKey, 'base64');
  const { operations } = createOrdering({
    db,
    cursorKey,
    clock,
    log,
    settings: settings.ordering,
    orderTokenKey: Buffer.from(settings.orderTokenKey, 'base64'),
  });
  const imports = operations.filter((operation) => operation.longWork === true);
  const assertionKey = Buffer.from(settings.assertionKey, 'base64');
  const handler = createCoreHandler(imports, { db, clock, log, assertionKey });
  const server = createInternalServer(handler);
  const listener = await listen(server, host, 0);
  const ended = new AbortController();
  const supervised = supervise([clockService], ended.signal, log);
  process.once('message', () => {
    ended.abort();
    void listener
      .close(settings.graceMs)
      .then(() => supervised)
      .then(() => endPool(pool))
      .finally(() => process.exit());
  });
  send({ port: listener.port });
};

/** The embedded server works for this process at the same low priority. */
const lowerBackend = (client: object): void => {
  const pid = serverPidOf(client);
  if (pid !== undefined) lowerOther(pid);
};

/**
 * The start of every role and command: the store with its schema up to date, and its keys. A master key that does not belong
 * to the store is refused before anything is read or written with it.
 */
import { resolve } from 'node:path';
import { openExternalHeads } from '#src/gateway/index.ts';
import type { Clock } from '#src/platform/clock.ts';
import { openDatabaseClock } from '#src/platform/db/database-clock.ts';
import { assertNotRestoring } from '#src/platform/db/embedded/restore-cluster.ts';
import { databaseName, type Store, type StoreOptions } from '#src/platform/db/index.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { assertCurrent, reportSchema } from '#src/platform/db/schema/pending.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Settings } from '../settings/config.ts';
import type { KeyHolder } from './key-holder.ts';
import { type MasterKey, readMasterKeys } from './master-keys.ts';
import { allMigrations } from './migrations.ts';
import { assertNotMoved } from './moved-store.ts';
import { checkConnections, nameConnection, openOwnStore } from './own-store.ts';
import { openRoot } from './sealed-root.ts';
import { lockRoot } from './sealed-root-store.ts';

export type Installation = {
  store: Store;
  box: SecretBox;
  /** The one that opened the root: a store is opened by two while a rotation is under way. */
  masterKey: MasterKey;
  /** The time of the database, because processes of several machines compare times that they have stored. */
  clock: Clock;
  /** Keeps the clock right, as long as it runs. */
  clockService: Service;
  log: Logger;
};

type OpenOptions = StoreOptions & {
  /** Wait for a server that accepts no connections yet, until this is aborted; without it, fail at once. */
  stopping?: AbortSignal;
  /** Open an embedded store also after it was moved to a server. */
  isMoved?: boolean;
  /** Of a process that runs on: a rotation of the master key leaves the key with which it can start again. */
  holder?: Pick<KeyHolder, 'register'>;
};

export const openInstallation = async (
  settings: Settings,
  log: Logger,
  options: OpenOptions,
): Promise<Installation> => {
  const dataDir = resolve(settings.data_dir);
  // Before the key: a refused start leaves nothing in the folder that a restore fills.
  if (settings.database_url === undefined) assertNotRestoring(dataDir);
  const keys = readMasterKeys(settings, { makes: true });
  const store = await openOwnStore(settings, log, options);
  try {
    await checkConnections(settings, store, log, options.stopping);
    await settleSchema(store, settings.migrate, log);
    if (store.embedded && options.isMoved !== true) await assertNotMoved(store.db);
    const { root, key: masterKey } = await inTransaction(store.db, async (tx) => {
      await lockRoot(tx);
      await options.holder?.register(tx);
      return openRoot(tx, keys);
    });
    const box = createSecretBox(root);
    const { clock, service: clockService } = await openDatabaseClock(store.pool, log);
    const witnessed = await withWitness(store, box, { dataDir, runsOn: options.holder !== undefined }, log);
    return { store: witnessed, box, masterKey, clock, clockService, log };
  } catch (error) {
    await store.close();
    throw nameConnection(settings, error);
  }
};

const settleSchema = async ({ sessions }: Store, mode: Settings['migrate'], log: Logger): Promise<void> => {
  if (mode === 'auto') await migrate(sessions, allMigrations, { log });
  else if (mode === 'check') await assertCurrent(sessions, allMigrations);
  else await reportSchema(sessions, allMigrations, log);
};

/** No database can have this name. */
const embeddedStore = '\0embedded';

/**
 * The signed heads of the audit chains are stored beside the database too. They are written when the store closes. A process
 * that runs on works also without a file that it cannot read, since requests matter more; a command says why it cannot.
 */
const withWitness = async (
  store: Store,
  box: SecretBox,
  { dataDir, runsOn }: { dataDir: string; runsOn: boolean },
  log: Logger,
): Promise<Store> => {
  const database = await databaseName(store.db);
  // After a move a database of a server shares keys and data folder with the embedded one, and may share its name.
  const file = store.embedded ? { dataDir, database: embeddedStore, earlier: database } : { dataDir, database };
  const onUnread = (error: unknown): void =>
    log.error(
      { err: error },
      'the heads of the audit in the data folder cannot be read, so a set-back stays unnoticed',
    );
  const witness = openExternalHeads(box, runsOn ? { ...file, onUnread } : file);
  return {
    ...store,
    close: async () => {
      await store.close();
      try {
        await witness.save();
      } catch (error) {
        log.warn({ err: error }, 'the heads of the audit could not be written to the data folder');
      }
    },
  };
};

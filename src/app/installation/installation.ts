/**
 * The start of every role and command: the store with its schema up to date, and its keys. A master key that does not belong
 * to the store is refused before anything is read or written with it.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { openExternalHeads } from '#src/gateway/index.ts';
import type { Clock } from '#src/platform/clock.ts';
import { openDatabaseClock } from '#src/platform/db/database-clock.ts';
import { settleFact } from '#src/platform/db/facts.ts';
import { databaseName, type Store } from '#src/platform/db/index.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { assertCurrent, reportSchema } from '#src/platform/db/schema/pending.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSecretBox, loadOrCreateMasterKey, parseMasterKey, type SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { type Settings, SettingsError } from '../settings/config.ts';
import { allMigrations } from './migrations.ts';
import { assertNotMoved } from './moved-store.ts';
import { checkConnections, nameConnection, openOwnStore } from './own-store.ts';

export type Installation = {
  store: Store;
  box: SecretBox;
  /** The time of the database, because processes of several machines compare times that they have stored. */
  clock: Clock;
  /** Keeps the clock right, as long as it runs. */
  clockService: Service;
  log: Logger;
};

/**
 * `exclusive`: own the embedded store (role all); otherwise share the running one, or run it for the time of the command.
 * `stopping`: wait for a server that accepts no connections yet, until this is aborted; without it, fail at once.
 * `isMoved`: open an embedded store also after it was moved to a server.
 */
export const openInstallation = async (
  settings: Settings,
  log: Logger,
  options: StoreOptions & { stopping?: AbortSignal; isMoved?: boolean },
): Promise<Installation> => {
  const dataDir = resolve(settings.data_dir);
  const masterKey = masterKeyOf(settings, dataDir);
  const store = await openOwnStore(settings, log, options);
  try {
    await checkConnections(settings, store, log, options.stopping);
    await settleSchema(store, settings.migrate, log);
    if (store.embedded && options.isMoved !== true) await assertNotMoved(store.db);
    const box = createSecretBox(masterKey);
    await assertKeyFits(store, box);
    const { clock, service: clockService } = await openDatabaseClock(store.pool, log);
    return { store: await withWitness(store, box, dataDir, log), box, clock, clockService, log };
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

/** The signed heads of the audit chains are stored beside the database too. They are written when the store closes. */
const withWitness = async (store: Store, box: SecretBox, dataDir: string, log: Logger): Promise<Store> => {
  const witness = openExternalHeads(box, { dataDir, database: await databaseName(store.db) });
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

/** The master key of the settings, or of the data folder, which makes one when it has none. */
export const masterKeyOf = (settings: Settings, dataDir: string): Buffer =>
  givenMasterKey(settings) ?? loadOrCreateMasterKey(dataDir);

/** Undefined when the data folder holds the master key. */
export const givenMasterKey = (settings: Settings): Buffer | undefined => {
  const text =
    settings.master_key ??
    (settings.master_key_file === undefined ? undefined : readFileSync(settings.master_key_file, 'utf8'));
  if (text === undefined) return undefined;
  const key = parseMasterKey(text);
  if (key === undefined) {
    throw new SettingsError([
      { path: 'master_key (ORDERPASS_MASTER_KEY)', message: 'must be 32 bytes as base64 or hex' },
    ]);
  }
  return key;
};

/** The first process writes a check value. With another master key every credential would be unknown. */
const assertKeyFits = async (store: Store, box: SecretBox): Promise<void> => {
  const check = box.derive('master-key-check').toString('hex');
  if ((await settleFact(store.db, 'master_key_check', check)) === check) return;
  throw new SettingsError([
    {
      path: 'master_key (ORDERPASS_MASTER_KEY)',
      message: 'is not the key that this store was made with; give that key, or the data folder that holds it',
    },
  ]);
};

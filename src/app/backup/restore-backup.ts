/**
 * Restores a backup into an empty data folder. The store recovers, is checked and records its restore in a folder inside; its
 * parts get their names when all of that has succeeded. A start refuses a data folder with such an unfinished folder in it.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { copyFile, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { appendChange, isHeadsFile, type VerifiedAudit, verifyAudit } from '#src/gateway/index.ts';
import {
  beginRestore,
  moveCluster,
  removeDataFolder,
  restoreCluster,
} from '#src/platform/db/embedded/restore-cluster.ts';
import { countRows } from '#src/platform/db/schema/copy-database.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSecretBox, parseMasterKey } from '#src/platform/secret-box.ts';
import { actorName } from '../admin/actor-name.ts';
import { openInstallation } from '../installation/installation.ts';
import { createMasterKey, idsOf, isOwnKey, readMasterKeys } from '../installation/master-keys.ts';
import { allMigrations } from '../installation/migrations.ts';
import type { Settings } from '../settings/config.ts';
import { compareFiles, nameFullDisk, syncFolder, writeBackupFile } from './backup-files.ts';
import {
  archiveName,
  BackupError,
  type BackupManifest,
  masterKeyName,
  postgresManifestName,
  readManifest,
} from './backup-manifest.ts';

export type RestoreRequest = {
  from: string;
  /** Holds the master key, which then lies in the data folder unless the settings have it. */
  masterKeyFile?: string;
  /** Until the files get their names, an abort removes all that was written. */
  signal: AbortSignal;
  /** 0 to 100. */
  onPercent(percent: number): void;
};

export type Restored = {
  manifest: BackupManifest;
  dataDir: string;
  /** Where the next start finds the master key. */
  masterKey: 'data folder' | 'settings';
  rows: number;
  audit: VerifiedAudit;
};

type Key = { key: Buffer; place: Restored['masterKey'] };

/** BackupError, with nothing changed, when the backup is not whole or the data folder is not empty. */
export const restoreBackup = async (settings: Settings, log: Logger, request: RestoreRequest): Promise<Restored> => {
  if (settings.database_url !== undefined)
    throw new BackupError(
      'DATABASE_URL is set: a restore fills the embedded store. Restore a database server with its own tools, or unset it',
    );
  const from = resolve(request.from);
  const dataDir = resolve(settings.data_dir);
  const { manifest, fits } = await readManifest(from);
  const master = await findKey(settings, from, manifest, request.masterKeyFile);
  if (!fits(createSecretBox(master.key)))
    throw new BackupError(
      `the master key is not the one that ${from} was made with, or its backup.json was changed: give the key of that installation`,
    );
  await assertEmpty(dataDir);
  const { draft, abandon } = await beginRestore(dataDir);
  let isPublished = false;
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  const archiveBytes = manifest.files.find(({ name }) => name === archiveName)?.size ?? 0;
  const progress = (done: number): void => {
    request.signal.throwIfAborted();
    request.onPercent(Math.floor((done * 100) / (bytes + archiveBytes)));
  };
  try {
    // What a start made before it could see the draft.
    await assertEmpty(dataDir, draft);
    await compareFiles(from, manifest.files, progress);
    const paths = { archive: join(from, archiveName), manifest: join(from, postgresManifestName) };
    await restoreCluster(draft, paths, log, (done) => progress(bytes + done));
    for (const { name } of manifest.files) if (isHeadsFile(name)) await copyFile(join(from, name), join(draft, name));
    const checked = await checkStore(draft, settings, log, master.key, manifest);
    if (master.place === 'data folder')
      await writeBackupFile(draft, masterKeyName, `${master.key.toString('base64')}\n`);
    request.signal.throwIfAborted();
    await publish(draft, dataDir);
    isPublished = true;
    await syncFolder(dataDir);
    await removeDataFolder(draft);
    await syncFolder(dataDir);
    return { manifest, dataDir, masterKey: master.place, ...checked };
  } catch (error) {
    if (isPublished)
      throw new BackupError(
        `The store is restored in ${dataDir}, but the last step failed (${error instanceof Error ? error.message : String(error)}). Remove ${draft} if it is there, and start the program`,
      );
    await abandon();
    throw nameFullDisk(error, dataDir);
  }
};

const findKey = async (
  settings: Settings,
  from: string,
  manifest: BackupManifest,
  masterKeyFile: string | undefined,
): Promise<Key> => {
  if (masterKeyFile !== undefined) return keyOfFile(settings, masterKeyFile);
  if (!isOwnKey(settings)) return { key: readMasterKeys(settings, { makes: false }).current.bytes, place: 'settings' };
  if (manifest.files.some(({ name }) => name === masterKeyName))
    return { key: await readKey(join(from, masterKeyName)), place: 'data folder' };
  throw new BackupError(
    `${from} was made without the master key: name the file that holds it with --master-key-file, or set ORDERPASS_MASTER_KEY or ORDERPASS_MASTER_KEY_FILE`,
  );
};

/** A start prefers the key of the settings to that of the data folder, so both must be one. */
const keyOfFile = async (settings: Settings, file: string): Promise<Key> => {
  const key = await readKey(file);
  if (isOwnKey(settings)) return { key, place: 'data folder' };
  const known = idsOf(readMasterKeys(settings, { makes: false }));
  const { id } = createMasterKey(key);
  if (!known.includes(id))
    throw new BackupError(
      `${file} holds the master key ${id}, and the next start would take that of the settings (${known.join(', ')}): set ORDERPASS_MASTER_KEY or ORDERPASS_MASTER_KEY_FILE to the key of the backup, or unset both`,
    );
  return { key, place: 'settings' };
};

const readKey = async (file: string): Promise<Buffer> => {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) throw new BackupError(`${file} cannot be read: it should hold the master key`);
  const key = parseMasterKey(text);
  if (key === undefined) throw new BackupError(`${file} does not hold a master key (32 bytes as base64 or hex)`);
  return key;
};

/** `draft`: of this restore. */
const assertEmpty = async (dataDir: string, draft?: string): Promise<void> => {
  const found = await stat(dataDir).catch(() => undefined);
  if (found === undefined) return;
  const names = found.isDirectory() ? readdirSync(dataDir) : [''];
  if (names.every((name) => join(dataDir, name) === draft)) return;
  throw new BackupError(
    `${dataDir} is not empty, and a restore overwrites nothing: stop the program, and move the folder away or name another one (ORDERPASS_DATA_DIR)`,
  );
};

/** Starts the restored store once: it recovers, gets the schema of this version, and records its restore. */
const checkStore = async (
  draft: string,
  settings: Settings,
  log: Logger,
  key: Buffer,
  manifest: BackupManifest,
): Promise<Pick<Restored, 'rows' | 'audit'>> => {
  const own: Settings = { ...settings, data_dir: draft, master_key: key.toString('base64'), migrate: 'auto' };
  const { store, box, clock } = await openInstallation(own, log, { exclusive: true, isMoved: true });
  try {
    const details = JSON.stringify({ backup: manifest.id, taken_at: manifest.taken_at });
    await inTransaction(store.db, (tx) =>
      appendChange(tx, box, clock.now(), { action: 'store.restored', actor: actorName(), details }),
    );
    const rows = await countRows(store.connection, allMigrations);
    return { rows, audit: await verifyAudit({ db: store.db, box }) };
  } finally {
    await store.close();
  }
};

/**
 * The cluster comes last: with it the data folder counts as one that holds a store. Without it nothing stays, since a start would
 * make an empty store beside what was moved.
 */
const publish = async (draft: string, dataDir: string): Promise<void> => {
  const moved: string[] = [];
  const names = readdirSync(draft).filter((one) => isHeadsFile(one) || one === masterKeyName);
  // A rename replaces a file or a link without a word.
  for (const place of [...names, 'postgres'].map((name) => join(dataDir, name)))
    if (lstatSync(place, { throwIfNoEntry: false }) !== undefined)
      throw new BackupError(
        `${place} was made during the restore, which replaces nothing: restore into another folder`,
      );
  try {
    for (const name of names) {
      await rename(join(draft, name), join(dataDir, name));
      moved.push(name);
    }
    await moveCluster(draft, dataDir);
  } catch (error) {
    for (const name of moved) await rm(join(dataDir, name), { force: true });
    throw error;
  }
};

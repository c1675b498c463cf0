/**
 * Makes a backup of the embedded store, which may be in use meanwhile. It is written below another name, and renamed when it is
 * complete, so a folder of the given name is always a whole backup.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { appendChange, isHeadsFile } from '#src/gateway/index.ts';
import { type BaseBackupSinks, streamBaseBackup } from '#src/platform/db/embedded/base-backup.ts';
import { hasCluster } from '#src/platform/db/embedded/home.ts';
import { serverVersion, storedBytes } from '#src/platform/db/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { programVersion } from '#src/platform/files/release.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { actorName } from '../admin/actor-name.ts';
import { type Installation, openInstallation } from '../installation/installation.ts';
import { listSealed } from '../installation/sealed-root-store.ts';
import type { Settings } from '../settings/config.ts';
import { createBackupFile, nameFullDisk, syncFolder, writeBackupFile } from './backup-files.ts';
import {
  archiveName,
  BackupError,
  type BackupFile,
  type BackupManifest,
  manifestName,
  masterKeyName,
  postgresManifestName,
  undefinedIfAbsent,
  writeManifest,
} from './backup-manifest.ts';

export type BackupRequest = {
  to: string;
  withMasterKey: boolean;
  signal: AbortSignal;
  /** 0 to 100. */
  onPercent(percent: number): void;
};

export type MadeBackup = { folder: string; manifest: BackupManifest };

/** BackupError when there is no embedded store, or `to` is not a place for a backup. */
export const createBackup = async (settings: Settings, log: Logger, request: BackupRequest): Promise<MadeBackup> => {
  const dataDir = resolve(settings.data_dir);
  refuseServer(settings);
  if (!hasCluster(dataDir)) throw new BackupError(`there is no embedded store in ${dataDir} (ORDERPASS_DATA_DIR)`);
  const folder = await realPlace(resolve(request.to));
  await assertPlace(folder, await realPlace(dataDir));
  // A backup before an update must not be the first step of that update.
  const installation = await openInstallation({ ...settings, migrate: 'off' }, log, {
    exclusive: false,
    isMoved: true,
  });
  const draft = `${folder}.partial-${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    await mkdir(draft, { mode: 0o700 });
    const manifest = await fill(draft, dataDir, installation, request);
    await rename(draft, folder);
    await syncFolder(dirname(folder));
    return { folder: resolve(request.to), manifest };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw nameFullDisk(error, folder);
  } finally {
    await installation.store.close();
  }
};

const refuseServer = (settings: Settings): void => {
  if (settings.database_url !== undefined)
    throw new BackupError(
      'DATABASE_URL is set: back up a database server with its own tools (pg_dump, or pg_basebackup with archived WAL), and the master key',
    );
};

const assertPlace = async (folder: string, dataDir: string): Promise<void> => {
  if (`${folder}/`.startsWith(`${dataDir}/`))
    throw new BackupError(`${folder} lies in the data folder, whose loss a backup is for: name another folder`);
  const names = await readdir(folder).catch(undefinedIfAbsent);
  if (names === undefined) return;
  if (names.length > 0) throw new BackupError(`${folder} is not empty: name a new folder`);
  // The complete backup takes its place. A mounted folder cannot be replaced.
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EBUSY') throw error;
    throw new BackupError(`${folder} is the root of a file system: name a folder in it`);
  });
};

/** The path without links: a folder takes the name of another folder, and never that of a link to one. Its end may be missing. */
const realPlace = async (place: string): Promise<string> => {
  const real = await realpath(place).catch(undefinedIfAbsent);
  if (real !== undefined) return real;
  const target = await readlink(place).catch(() => undefined);
  const parent = await realPlace(dirname(place));
  return target === undefined ? join(parent, basename(place)) : realPlace(resolve(parent, target));
};

const fill = async (
  draft: string,
  dataDir: string,
  { store, box, masterKey, clock }: Installation,
  request: BackupRequest,
): Promise<BackupManifest> => {
  const id = newId('bkp');
  const details = JSON.stringify({ backup: id, with_master_key: request.withMasterKey });
  await inTransaction(store.db, (tx) =>
    appendChange(tx, box, clock.now(), { action: 'store.backed_up', actor: actorName(), details }),
  );
  // Read before the database: an end of the audit that the restored database lacks would be a removal of events.
  const files = await copyHeads(draft, dataDir);
  if (request.withMasterKey)
    files.push(await writeBackupFile(draft, masterKeyName, `${masterKey.bytes.toString('base64')}\n`));
  const takenAt = clock.now();
  const archive = await createBackupFile(draft, archiveName);
  const own = await createBackupFile(draft, postgresManifestName);
  try {
    if (typeof store.connection === 'string') throw new Error('the embedded store has no socket');
    const sinks = writeTo(archive, own, await storedBytes(store.pool), request);
    const wal = await streamBaseBackup(store.connection, sinks, request.signal);
    // The restored store is as this one was at the end. A rotation may have removed the key that signs the backup since its start.
    if (!(await listSealed(store.db)).has(masterKey.id))
      throw new BackupError('the master key was rotated during the backup, so no key could restore it: run it again');
    files.push(await archive.finish(), await own.finish());
    const manifest: BackupManifest = {
      format: 1,
      id,
      taken_at: takenAt.toISOString(),
      finished_at: clock.now().toISOString(),
      orderpass: programVersion,
      postgres: await serverVersion(store.pool),
      wal,
      files,
    };
    await writeBackupFile(draft, manifestName, writeManifest(createSecretBox(masterKey.bytes), manifest));
    await syncFolder(draft);
    return manifest;
  } catch (error) {
    await archive.abandon();
    await own.abandon();
    throw error;
  }
};

type Parts = Pick<Awaited<ReturnType<typeof createBackupFile>>, 'write'>;

/** The size is an estimate, because the server writes meanwhile and adds its WAL. */
const writeTo = (archive: Parts, manifest: Parts, bytesExpected: number, request: BackupRequest): BaseBackupSinks => {
  let bytes = 0;
  return {
    archive: async (part) => {
      await archive.write(part);
      bytes += part.length;
      request.onPercent(Math.min(99, Math.floor((bytes * 100) / bytesExpected)));
    },
    manifest: (part) => manifest.write(part),
  };
};

const copyHeads = async (draft: string, dataDir: string): Promise<BackupFile[]> => {
  const names = (await readdir(dataDir)).filter(isHeadsFile);
  const files: BackupFile[] = [];
  for (const name of names) files.push(await writeBackupFile(draft, name, await readFile(join(dataDir, name))));
  return files;
};

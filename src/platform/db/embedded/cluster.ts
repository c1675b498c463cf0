/** The cluster on disk: its state, and its first initialisation, which survives a crash at any point. */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { type Account, unprivilegedAccount } from './account.ts';
import { giveTree } from './adopt-cluster.ts';
import type { Binaries } from './binaries.ts';
import { EmbeddedError, errorCode } from './errors.ts';
import { fullDiskError, fullDiskReason } from './full-disk.ts';
import type { Home } from './home-type.ts';
import { runWatched } from './watched.ts';

export const superuser = 'orderpass';

const freshPrefix = 'postgres.new-';
const initTimeoutMs = 120_000;
/** PostgreSQL gives its own databases ids below this one, and databases of users ids from here on. */
const firstUserOid = 16_384;

export type ClusterState = 'absent' | 'empty' | 'partial' | 'complete' | 'damaged';

/** `partial`: only files of initdb. `damaged`: it holds databases, and a file that is needed to open them is missing. */
export const inspectCluster = async (cluster: string): Promise<ClusterState> => {
  const names = await readdir(cluster).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (names === undefined) return 'absent';
  if (names.length === 0) return 'empty';
  const control = await stat(path.join(cluster, 'global', 'pg_control')).catch(() => undefined);
  const version = await stat(path.join(cluster, 'PG_VERSION')).catch(() => undefined);
  if ((control?.size ?? 0) > 0 && (version?.size ?? 0) > 0) return 'complete';
  const databases = await readdir(path.join(cluster, 'base')).catch(() => []);
  return databases.some((name) => Number(name) >= firstUserOid) ? 'damaged' : 'partial';
};

export type InitSettings = {
  account: Account;
  binaries: Binaries;
  logFd: number;
  /** The end of what was written to `logFd`, for a failure. */
  readEnd: () => Promise<string>;
  durable: boolean;
  log: Logger;
};

/** Makes the cluster if there is none, or checks the existing one. True: this call made it. */
export const ensureCluster = async (home: Home, settings: InitSettings): Promise<boolean> => {
  await removeUnfinished(home, settings.log);
  const state = await inspectCluster(home.cluster);
  if (state === 'complete') {
    await checkVersion(home, settings.binaries);
    return false;
  }
  if (state === 'damaged')
    throw new EmbeddedError(
      'DATA_DIR_DAMAGED',
      `${home.cluster} holds databases, but PG_VERSION or global/pg_control is missing. Restore a backup; nothing was changed`,
    );
  if (state === 'empty') await rmdir(home.cluster);
  if (state === 'partial') {
    // Moved and not deleted: the remnant may be the only copy of some data.
    const aside = path.join(home.folder, `postgres.incomplete-${Date.now()}`);
    await rename(home.cluster, aside);
    settings.log.warn(
      { movedTo: aside },
      'the PostgreSQL data folder was incomplete and held no data: it is created again',
    );
  }
  await initialise(home, settings);
  return true;
};

/** The cluster gets its name once it is complete, so a crash leaves only a folder that the next start removes. */
const initialise = async (home: Home, settings: InitSettings): Promise<void> => {
  const { account, binaries } = settings;
  // initdb asks for a user with a name, which a reserved id does not have.
  const maker = account === undefined ? undefined : await unprivilegedAccount();
  const fresh = path.join(home.folder, freshPrefix + randomBytes(6).toString('hex'));
  await mkdir(fresh, { mode: 0o700 });
  if (maker !== undefined) await chown(fresh, maker.uid, maker.gid);
  const args = ['-D', fresh, '-U', superuser, '--auth-local=trust', '--auth-host=reject', '--encoding=UTF8'];
  // Sorts by code point as fast as C, and knows upper and lower case of every script.
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  // The first transaction that needs a new WAL segment fills it with zeros while every other commit waits. The default of 16
  // MiB takes long enough to be noticed.
  args.push('--wal-segsize=2');
  args.push('--data-checksums', '--no-instructions', ...(settings.durable ? [] : ['--no-sync']));
  const initdb = path.join(binaries.folder, 'bin', 'initdb');
  const exit = await runWatched({ command: initdb, args, account: maker, logFd: settings.logFd }, initTimeoutMs);
  if (exit !== 0) {
    // Checked before the new folder is removed again.
    const end = await settings.readEnd();
    const full = await fullDiskReason(home.folder, end);
    await rm(fresh, { recursive: true, force: true });
    if (full !== undefined) throw fullDiskError(full, home.folder, `initdb ended with ${exit}`, undefined);
    throw new EmbeddedError('POSTGRES_UNUSABLE', `initdb ended with ${exit}. It wrote:\n${end}`);
  }
  if (account !== undefined && account.uid !== maker?.uid) await giveTree(fresh, account);
  await rename(fresh, home.cluster);
  if (settings.durable) await syncFolder(home.folder);
};

/** Without it a power failure could lose the new name. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const removeUnfinished = async (home: Home, log: Logger): Promise<void> => {
  for (const name of await readdir(home.folder)) {
    if (!name.startsWith(freshPrefix)) continue;
    const folder = path.join(home.folder, name);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch((error: unknown) =>
      log.warn({ err: error, folder }, 'an unfinished PostgreSQL data folder could not be removed'),
    );
  }
};

const checkVersion = async (home: Home, binaries: Binaries): Promise<void> => {
  const version = (await readFile(path.join(home.cluster, 'PG_VERSION'), 'utf8')).trim();
  if (version === String(binaries.major)) return;
  throw new EmbeddedError(
    'DATA_DIR_OTHER_VERSION',
    `the data in ${home.cluster} was written by PostgreSQL ${version} and this Orderpass carries ${binaries.major}. Dump it with the Orderpass that wrote it and load it here (pg_dump, psql); nothing was changed`,
  );
};

/**
 * The home of a cluster: the folder that holds the cluster (`postgres`), its lock, and folders of an unfinished first start.
 * It is the data folder itself, unless the account of the server cannot enter that. Then it lies below a system folder, and
 * `postgres` in the data folder is a symbolic link to it.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { lstat, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { makeDataFolder, makeFolder } from '../../files/make-folder.ts';
import { type Account, canEnter, isRoot, ownAccount } from './account.ts';
import { isSharedOwner } from './adopt-cluster.ts';
import { inspectCluster } from './cluster.ts';
import { EmbeddedError, errorCode, foreignData } from './errors.ts';
import { clusterName, type Home } from './home-type.ts';
import { dataSystemDirs, openSystemDir } from './system-dir.ts';

/** Whether the data folder has an entry of that name; a link counts. EmbeddedError when the user may not look into the folder. */
export const hasEntry = (dataDir: string, name: string): boolean => {
  try {
    lstatSync(path.join(path.resolve(dataDir), name));
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return false;
    throw errorCode(error) === 'EACCES' ? foreignData(dataDir, error) : error;
  }
};

/** A start has made the embedded store. */
export const hasCluster = (dataDir: string): boolean => hasEntry(dataDir, clusterName);

/** In a home that the program made: names the data folder that it belongs to. */
const ownerName = 'belongs-to';

const homeAt = (folder: string): Home => ({ folder, cluster: path.join(folder, clusterName) });

/** The home of the data folder; undefined before the first start. Changes nothing. */
export const findHome = async (dataDir: string): Promise<Home | undefined> => {
  const place = path.join(dataDir, clusterName);
  const found = await lstat(place).catch(ignoreAbsent);
  if (found === undefined) return undefined;
  if (!found.isSymbolicLink()) return homeAt(await realpath(dataDir));
  const cluster = path.resolve(await realpath(dataDir), await readlink(place));
  const folder = path.dirname(cluster);
  // A first start that did not finish leaves a home of the program without a cluster.
  for (const kept of [cluster, path.join(folder, ownerName)])
    if ((await stat(kept).catch(ignoreAbsent)) !== undefined) return { folder, cluster };
  // An empty start would look like a success and hide that the data stayed on another machine or image.
  throw new EmbeddedError(
    'DATA_DIR_DAMAGED',
    `${place} points to data in ${cluster}, which is not there. Bring that folder back, or remove the link to start empty`,
  );
};

const ignoreAbsent = (error: unknown): undefined => {
  if (errorCode(error) === 'ENOENT') return undefined;
  throw error;
};

/** Finds or makes the home of the data folder, and the account of its server. */
export const openHome = async (
  dataDir: string,
  settings: { systemDirs?: readonly string[] },
  log: Logger,
): Promise<{ home: Home; account: Account }> => {
  makeDataFolder(dataDir);
  const home = await findHome(dataDir);
  const account = home === undefined ? await ownAccount(log) : await accountOf(home, log);
  if (home !== undefined) {
    if (await canEnter(home.folder, account)) return { home, account };
    throw new EmbeddedError(
      'DATA_DIR_FOREIGN',
      `PostgreSQL runs as user ${account?.uid} and cannot enter ${home.folder}. Let that user pass through the folders above it (chmod o+x), or move the data folder`,
    );
  }
  if (await canEnter(dataDir, account)) return { home: homeAt(await realpath(dataDir)), account };
  return { home: await makeHomeElsewhere(dataDir, account, settings, log), account };
};

/**
 * Data keeps its owner. Root can run the server as that owner; every other user must be the owner. Data of the shared
 * unprivileged user gets an owner of its own (adoptCluster).
 */
export const accountOf = async (home: Home, log: Logger): Promise<Account> => {
  const owner = await stat(home.cluster).catch(ignoreAbsent);
  if (owner === undefined || (await isSharedOwner(home))) return ownAccount(log);
  if (!isRoot() && owner.uid === process.getuid?.()) return undefined;
  if (isRoot() && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  // There is no complete cluster yet: a new one with the right owner replaces the remains.
  if (isRoot() && (await inspectCluster(home.cluster)) !== 'complete') return ownAccount(log);
  const advice = isRoot()
    ? 'root, and PostgreSQL refuses to run as root: give it to another user (chown -R)'
    : `user ${owner.uid}: start Orderpass as that user or as root`;
  throw new EmbeddedError('DATA_DIR_FOREIGN', `the data in ${home.cluster} belongs to ${advice}`);
};

const makeHomeElsewhere = async (
  dataDir: string,
  account: Account,
  settings: { systemDirs?: readonly string[] },
  log: Logger,
): Promise<Home> => {
  const system = await openSystemDir(settings.systemDirs ?? dataSystemDirs, account);
  if (system === undefined)
    throw new EmbeddedError(
      'DATA_DIR_FOREIGN',
      `PostgreSQL runs as user ${account?.uid}, which cannot enter ${dataDir}, and there is no other place for the data. Choose a data folder that every user may pass through, or set DATABASE_URL`,
    );
  const home = homeAt(path.join(system, 'clusters', randomBytes(8).toString('hex')));
  makeFolder(home.folder, 0o711);
  await writeFile(path.join(home.folder, ownerName), `${await realpath(dataDir)}\n`);
  try {
    await symlink(home.cluster, path.join(dataDir, clusterName));
  } catch (error) {
    await rm(home.folder, { recursive: true });
    const other = errorCode(error) === 'EEXIST' ? await findHome(dataDir) : undefined;
    if (other === undefined) throw error;
    return other;
  }
  log.warn(
    { dataDir, home: home.folder },
    'PostgreSQL may not enter the data folder: its data is kept elsewhere, back up both',
  );
  return home;
};

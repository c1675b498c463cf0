/** Gives the files of a cluster to the account that its server runs as. */
import { lchown, lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { type Account, isOwnId, isRoot, unprivilegedAccount } from './account.ts';
import type { Home } from './home-type.ts';

/**
 * True for data that a start by root gave to `nobody`, as earlier versions did: every process of `nobody` could open it.
 * A home that belongs to `nobody` itself is that of a program which runs as `nobody`, and keeps its owner.
 */
export const isSharedOwner = async (home: Home): Promise<boolean> => {
  if (!isRoot() || process.platform !== 'linux') return false;
  const [folder, cluster] = await Promise.all(
    [home.folder, home.cluster].map((place) => lstat(place).catch(() => undefined)),
  );
  return folder?.uid === 0 && cluster !== undefined && cluster.uid === (await unprivilegedAccount())?.uid;
};

/**
 * Takes a cluster from `nobody`, while no server runs on it. The folder itself comes last: until then the cluster counts
 * as the one of `nobody`, so a start that was cut off is done again by the next one.
 */
export const adoptCluster = async (home: Home, account: Account, log: Logger): Promise<void> => {
  if (account === undefined || !(await isSharedOwner(home))) return;
  const from = (await lstat(home.cluster)).uid;
  if (from === account.uid) return;
  await giveTree(home.cluster, account);
  log.warn(
    { from, to: account.uid },
    'the data of PostgreSQL belongs to a user id of its own now, no longer to nobody',
  );
};

/**
 * Changes only what belongs to the owner of the folder, or was given to an account of a server before a start was cut off:
 * a link to a file of somebody else stays what it is.
 */
export const giveTree = async (folder: string, { uid, gid }: { uid: number; gid: number }): Promise<void> => {
  const from = (await lstat(folder)).uid;
  const give = async (place: string): Promise<void> => {
    for (const entry of await readdir(place, { withFileTypes: true })) {
      const found = path.join(place, entry.name);
      if (entry.isDirectory()) await give(found);
      const { uid: owner } = await lstat(found);
      if (owner === from || isOwnId(owner)) await lchown(found, uid, gid);
    }
  };
  await give(folder);
  await lchown(folder, uid, gid);
};

/** Gives the files of a cluster to the account that its server runs as. */
import { lchown, lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { type Account, isOwnId, isRoot, unprivilegedAccount } from './account.ts';
import type { Home } from './home-type.ts';

/**
 * True for data that a start by root gave to the shared unprivileged user: each process of that user could open it. A home
 * that belongs to that user itself is left alone.
 */
export const isSharedOwner = async (home: Home): Promise<boolean> => {
  if (!isRoot() || process.platform !== 'linux') return false;
  const [folder, cluster] = await Promise.all(
    [home.folder, home.cluster].map((place) => lstat(place).catch(() => undefined)),
  );
  return folder?.uid === 0 && cluster !== undefined && cluster.uid === (await unprivilegedAccount())?.uid;
};

/**
 * Moves a cluster from the shared unprivileged user to an account of its own, while no server runs on it. The folder itself
 * comes last: until then the cluster counts as shared, so the next start repeats a move that was interrupted.
 */
export const adoptCluster = async (home: Home, account: Account, log: Logger): Promise<void> => {
  if (account === undefined || !(await isSharedOwner(home))) return;
  const from = (await lstat(home.cluster)).uid;
  if (from === account.uid) return;
  await giveTree(home.cluster, account);
  log.warn(
    { from, to: account.uid },
    'the data of PostgreSQL now belongs to a user id of its own instead of the shared unprivileged user',
  );
};

/**
 * Changes only files of the owner of the folder, and files that an interrupted start gave to an account of a server. A link
 * to a file of another user stays unchanged.
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

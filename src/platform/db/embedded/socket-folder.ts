/** Where the server listens. The cluster itself is the right place: only its owner may enter it. */
import { chown, lstat, mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Account, canEnter } from './account.ts';
import { EmbeddedError } from './errors.ts';

export const port = 5432;

/** The address of a Unix socket holds 108 bytes on Linux and 104 on macOS, with the zero at the end. */
const pathBytesMax = 103;
const prefix = 'orderpass-sql-';

const fits = (folder: string): boolean => Buffer.byteLength(path.join(folder, `.s.PGSQL.${port}`)) <= pathBytesMax;

export type SocketFolder = { path: string; remove(): Promise<void> };

export const openSocketFolder = async (cluster: string, account: Account): Promise<SocketFolder> => {
  const folder = await realpath(cluster);
  if (fits(folder)) return { path: folder, remove: async () => undefined };
  for (const parent of [os.tmpdir(), '/tmp', '/var/tmp']) {
    // A new folder with an unguessable name: another user may have planted an existing one.
    if (!fits(path.join(parent, `${prefix}XXXXXX`)) || !(await canEnter(parent, account))) continue;
    const made = await mkdtemp(path.join(parent, prefix)).catch(() => undefined);
    if (made === undefined) continue;
    if (account !== undefined) await chown(made, account.uid, account.gid);
    return { path: made, remove: () => rm(made, { recursive: true, force: true }) };
  }
  throw new EmbeddedError(
    'POSTGRES_UNUSABLE',
    `the path ${folder} is too long for a socket and no temporary folder can be used`,
  );
};

/** A temporary socket folder of an earlier server of this cluster, which may be removed. */
export const isOwnSocketFolder = async (folder: string, cluster: string): Promise<boolean> => {
  if (!/^orderpass-sql-[A-Za-z0-9]{6}$/.test(path.basename(folder))) return false;
  const [found, owner] = await Promise.all([lstat(folder).catch(() => undefined), lstat(cluster)]);
  return found?.isDirectory() === true && found.uid === owner.uid && (found.mode & 0o077) === 0;
};

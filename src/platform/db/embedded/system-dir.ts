/**
 * Where a start by root keeps what the unprivileged server must reach and the data folder or the checkout, often
 * below a 0700 folder, does not let it reach. The system's own folders are left as they are.
 */
import { chmod, lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { assertRealFolder } from '../../real-folder.ts';
import { type Account, canEnter } from './account.ts';

/** Data never goes to a folder for temporary files: those are swept. */
export const dataSystemDirs = ['/var/lib/orderpass', '/opt/orderpass', '/srv/orderpass'];
/** A copy of the binaries can be made again, so a swept folder is good enough. */
export const binarySystemDirs = [...dataSystemDirs, '/var/tmp/orderpass-binaries'];

/** The first of the folders that is, or can be made, ours alone to write and the account's to enter. */
export const openSystemDir = async (candidates: readonly string[], account: Account): Promise<string | undefined> => {
  for (const folder of candidates) {
    const made = await makeFolder(folder, 0o711).catch(() => false);
    if (made === false) continue;
    if ((await isOurs(folder)) && (await canEnter(folder, account))) return folder;
  }
  return undefined;
};

/** A folder of this name made by somebody else could hold planted binaries. */
export const isOurs = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

/** Makes the folder and those above it that are missing. The mode holds under a strict umask too, and only for what was made. */
export const makeFolder = async (folder: string, mode: number): Promise<void> => {
  assertRealFolder(folder);
  const first = await mkdir(folder, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) await chmod(made, mode);
};

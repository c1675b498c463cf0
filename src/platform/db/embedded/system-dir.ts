/**
 * Folders for a start by root, for files that the unprivileged server must reach and cannot reach in the data folder or the
 * checkout, which often lie below a 0700 folder. The folders of the system stay as they are.
 */
import { chmod, lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { assertRealFolder } from '../../files/real-folder.ts';
import { type Account, canEnter } from './account.ts';

/** Data is never put into a folder for temporary files, since the system cleans those. */
export const dataSystemDirs = ['/var/lib/orderpass', '/opt/orderpass', '/srv/orderpass'];
/** A copy of the binaries can be made again, so a folder that is cleaned is good enough. */
export const binarySystemDirs = [...dataSystemDirs, '/var/tmp/orderpass-binaries'];

/** The first folder that only this program may write and that the account may enter; it is created if needed. */
export const openSystemDir = async (candidates: readonly string[], account: Account): Promise<string | undefined> => {
  for (const folder of candidates) {
    const made = await makeFolder(folder, 0o711).catch(() => false);
    if (made === false) continue;
    if ((await isOurs(folder)) && (await canEnter(folder, account))) return folder;
  }
  return undefined;
};

/** A folder of this name that another user made could hold planted binaries. */
export const isOurs = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

/** Makes the folder and its missing parents. The mode holds under a strict umask too, and only for created folders. */
export const makeFolder = async (folder: string, mode: number): Promise<void> => {
  assertRealFolder(folder);
  const first = await mkdir(folder, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) await chmod(made, mode);
};

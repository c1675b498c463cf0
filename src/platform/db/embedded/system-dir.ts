/**
 * Folders for a start by root, for files that the unprivileged server must reach and cannot reach in the data folder or the
 * checkout, which often lie below a 0700 folder. The folders of the system stay as they are.
 */
import { lstat } from 'node:fs/promises';
import { makeFolder } from '../../files/make-folder.ts';
import { type Account, canEnter } from './account.ts';

/** Data is never put into a folder for temporary files, since the system cleans those. */
export const dataSystemDirs = ['/var/lib/orderpass', '/opt/orderpass', '/srv/orderpass'];
/** A copy of the binaries can be made again, so a folder that is cleaned is good enough. */
export const binarySystemDirs = [...dataSystemDirs, '/var/tmp/orderpass-binaries'];

/** The first folder that only this program may write and that the account may enter; it is created if needed. */
export const openSystemDir = async (candidates: readonly string[], account: Account): Promise<string | undefined> => {
  for (const folder of candidates) {
    if (!canMake(folder)) continue;
    if ((await isOurs(folder)) && (await canEnter(folder, account))) return folder;
  }
  return undefined;
};

/** A folder of this name that another user made could hold planted binaries. */
export const isOurs = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

const canMake = (folder: string): boolean => {
  try {
    makeFolder(folder, 0o711);
    return true;
  } catch {
    return false;
  }
};

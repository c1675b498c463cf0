/** The rotation of the key file in the data folder, which the program makes and so replaces itself. */
import { chownSync, existsSync, linkSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { flushToDisk, loadOrCreateMasterKey } from '#src/platform/secret-box.ts';
import { createMasterKey, type KeySettings, type MasterKey, ownKeyFile } from './master-keys.ts';

const nextFile = (settings: KeySettings): string => `${ownKeyFile(settings)}.next`;

/** A rotation ended before its new key was in place. */
export const hasNextKey = (settings: KeySettings): boolean => existsSync(nextFile(settings));

/**
 * The new key in a file beside the current one, with the same owner: that of an earlier attempt, or one that is made now.
 * Throws when the file could not be given to the owner, who could not start again.
 */
export const makeNextKey = (settings: KeySettings): MasterKey => {
  const { uid, gid } = statSync(ownKeyFile(settings));
  const own = process.getuid?.();
  if (own !== undefined && own !== 0 && own !== uid)
    throw new Error(`${ownKeyFile(settings)} belongs to another user: run the command as that user`);
  const path = nextFile(settings);
  const key = createMasterKey(loadOrCreateMasterKey(path));
  if (own === 0) chownSync(path, uid, gid);
  flushToDisk(path);
  return key;
};

/**
 * Puts the new key in place by a rename. The key before is kept as `master.key.ID`, because a backup of the database from
 * before the rotation is opened by it alone. Returns its path.
 */
export const useNextKey = (settings: KeySettings, before: MasterKey): string => {
  const kept = `${ownKeyFile(settings)}.${before.id}`;
  if (!existsSync(kept)) linkSync(ownKeyFile(settings), kept);
  renameSync(nextFile(settings), ownKeyFile(settings));
  // The old key is removed from the store soon after, so a loss of power must not bring the old file again.
  flushToDisk(dirname(kept));
  return kept;
};

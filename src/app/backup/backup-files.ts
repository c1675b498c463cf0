/** The files of a backup: written with their digest, and compared with it before a restore. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, type BackupFile, undefinedIfAbsent } from './backup-manifest.ts';

export type WrittenFile = {
  write(part: string | Uint8Array): Promise<void>;
  /** Syncs and closes it. */
  finish(): Promise<BackupFile>;
  /** Closes it, after a failure. Never rejects. */
  abandon(): Promise<void>;
};

/** A new file of mode 0600. */
export const createBackupFile = async (folder: string, name: string): Promise<WrittenFile> => {
  const handle = await open(join(folder, name), 'wx', 0o600);
  const hash = createHash('sha256');
  let size = 0;
  return {
    write: async (part) => {
      await handle.writeFile(part);
      hash.update(part);
      size += Buffer.byteLength(part);
    },
    finish: async () => {
      await handle.sync();
      await handle.close();
      return { name, size, sha256: hash.digest('hex') };
    },
    abandon: () => handle.close().catch(() => undefined),
  };
};

export const writeBackupFile = async (
  folder: string,
  name: string,
  content: string | Uint8Array,
): Promise<BackupFile> => {
  const file = await createBackupFile(folder, name);
  try {
    await file.write(content);
    return await file.finish();
  } catch (error) {
    await file.abandon();
    throw error;
  }
};

/** Without it a power failure could lose new names in the folder. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** BackupError with the name of the first file that is missing or differs. `onBytes`: bytes that were compared so far. */
export const compareFiles = async (
  folder: string,
  files: readonly BackupFile[],
  onBytes: (bytes: number) => void,
): Promise<void> => {
  let bytes = 0;
  for (const { name, size, sha256 } of files) {
    const path = join(folder, name);
    const found = await stat(path).catch(undefinedIfAbsent);
    if (found === undefined) throw new BackupError(`the backup is damaged: ${path} is missing`);
    if (found.size !== size)
      throw new BackupError(`the backup is damaged: ${path} has ${found.size} bytes instead of ${size}`);
    const hash = createHash('sha256');
    for await (const part of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(part);
      bytes += part.length;
      onBytes(bytes);
    }
    if (hash.digest('hex') !== sha256)
      throw new BackupError(`the backup is damaged: the content of ${path} differs from its SHA-256`);
  }
};

/** The error; for a full disk, one that names it. `folder`: where all that was written was removed again. */
export const nameFullDisk = (error: unknown, folder: string): unknown =>
  error instanceof Error && ['ENOSPC', 'EDQUOT'].includes(String(Reflect.get(error, 'code')))
    ? new BackupError(`No space left on device: the disk of ${folder} is full; what was written there was removed`)
    : error;

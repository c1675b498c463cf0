/** Detects a full disk behind other failures: PostgreSQL often cannot log that reason. */
import { statfs } from 'node:fs/promises';
import { EmbeddedError } from './errors.ts';

/** PostgreSQL needs more than this to start: a lock file, a page of a relation, a segment of the journal. */
const bytesMin = 1024 * 1024;

const words = /No space left on device|Disk quota exceeded/i;

/** The reason as the system words it, when `said` contains it or the disk of `folder` is full; otherwise undefined. */
export const fullDiskReason = async (folder: string, said: string): Promise<string | undefined> => {
  const named = words.exec(said)?.[0];
  if (named !== undefined) return named;
  const disk = await statfs(folder).catch(() => undefined);
  return disk !== undefined && disk.bavail * disk.bsize < bytesMin ? 'No space left on device' : undefined;
};

/** The message gives the reason first, then the step that failed. */
export const fullDiskError = (reason: string, folder: string, failed: string, cause: unknown): EmbeddedError =>
  new EmbeddedError('DISK_FULL', `${reason}: the disk of ${folder} is full. ${failed}`, cause);

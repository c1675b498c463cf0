/** Says that a disk is full, whatever failed for it first: PostgreSQL can often not even log the reason there. */
import { statfs } from 'node:fs/promises';
import { EmbeddedError } from './errors.ts';

/** PostgreSQL needs more than this to start: a lock file, a page of a relation, a segment of the journal. */
const bytesMin = 1024 * 1024;

const words = /No space left on device|Disk quota exceeded/i;

/** The reason in the words of the system, when `said` has it or the disk of `folder` is full; otherwise undefined. */
export const fullDiskReason = async (folder: string, said: string): Promise<string | undefined> => {
  const named = words.exec(said)?.[0];
  if (named !== undefined) return named;
  const disk = await statfs(folder).catch(() => undefined);
  return disk !== undefined && disk.bavail * disk.bsize < bytesMin ? 'No space left on device' : undefined;
};

/** The reason first, then what failed for it. */
export const fullDiskError = (reason: string, folder: string, failed: string, cause: unknown): EmbeddedError =>
  new EmbeddedError('DISK_FULL', `${reason}: the disk of ${folder} is full. ${failed}`, cause);

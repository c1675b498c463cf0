import { existsSync, readFileSync } from 'node:fs';
import { UsageError } from '../../terminal/output.ts';

/** The text of a file with a checkpoint. */
export const readCheckpoint = (file: string): string => {
  if (!existsSync(file)) throw new UsageError(`There is no file ${file}`);
  return readFileSync(file, 'utf8');
};

/** One Orderpass owns a home at a time. */
import { open, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedError } from './errors.ts';
import { fullDiskError, fullDiskReason } from './full-disk.ts';
import { clusterName, type Home } from './home-type.ts';

export type OwnerLock = { release(): void };

const busy = 5;

/**
 * SQLite provides the file lock, the one kernel lock that Node offers without an addon. The lock ends with the process,
 * however that ends, so it is never stale, and it holds between containers that share the folder. The file stays empty.
 */
export const lockHome = async (home: Home): Promise<OwnerLock> => {
  // A link may lead to data of another name, and beside it may lie that of another data folder.
  const name = path.basename(home.cluster);
  const prefix = name === clusterName ? '' : `${name}.`;
  const holder = path.join(home.folder, `${prefix}owner.pid`);
  const place = path.join(home.folder, `${prefix}owner.lock`);
  // A process that can read the file could lock it and keep Orderpass from starting.
  await (await open(place, 'a', 0o600)).close();
  const file = new DatabaseSync(place);
  try {
    file.exec('pragma busy_timeout = 0; begin exclusive');
  } catch (error) {
    file.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === busy)) {
      const full = await fullDiskReason(home.folder, '');
      throw full === undefined ? error : fullDiskError(full, home.folder, 'The data folder cannot be locked', error);
    }
    const pid = (await readFile(holder, 'utf8').catch(() => '')).trim() || 'unknown';
    throw new EmbeddedError(
      'DATA_DIR_IN_USE',
      `the data in ${home.cluster} is in use by another Orderpass (process ${pid}). Stop that one first, choose another data folder, or set DATABASE_URL so that both use one PostgreSQL server`,
    );
  }
  try {
    await writeFile(holder, `${process.pid}\n`, { mode: 0o644 });
  } catch (error) {
    file.close();
    throw error;
  }
  return { release: () => file.close() };
};

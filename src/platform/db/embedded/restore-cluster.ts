/** Makes the cluster of an empty data folder from the archive of a base backup, in place of initdb. */
import { readlinkSync } from 'node:fs';
import { chmod, mkdir, readFile, readlink, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { dataFolderMode, makeDataFolder, makeFolder } from '../../files/make-folder.ts';
import { unpackTar } from '../../files/read-tar.ts';
import { giveTree } from './adopt-cluster.ts';
import { EmbeddedError, errorCode } from './errors.ts';
import { hasEntry, openHome } from './home.ts';

/** It exists while a restore runs, and after one that was killed. */
const draftName = 'restore.unfinished';

/**
 * `draft`: a folder in the data folder, in which a restore prepares its content. While it exists, starts and other restores are refused.
 * `abandon` removes it, and the folders that were made for it unless other files lie in them.
 */
export type BegunRestore = { draft: string; abandon(): Promise<void> };

export const beginRestore = async (dataDir: string): Promise<BegunRestore> => {
  const place = path.resolve(dataDir);
  const first = makeDataFolder(place);
  const mode = dataFolderMode();
  const draft = path.join(place, draftName);
  await mkdir(draft, { mode }).catch((error: unknown) => {
    if (errorCode(error) === 'EEXIST') assertNotRestoring(dataDir);
    throw error;
  });
  await chmod(draft, mode);
  const abandon = async (): Promise<void> => {
    await removeDataFolder(draft);
    if (first === undefined) return;
    for (let made = place; made.length >= first.length; made = path.dirname(made)) {
      const failed = await rmdir(made).catch((error: unknown) => ({ error }));
      if (failed !== undefined) return;
    }
  };
  return { draft, abandon };
};

/** A start would otherwise make an empty store, which looks like a success. */
export const assertNotRestoring = (dataDir: string): void => {
  if (!hasEntry(dataDir, draftName)) return;
  const draft = path.join(dataDir, draftName);
  const remains = [dataDir, ...homeElsewhere(draft)].join(' and ');
  throw new EmbeddedError(
    'DATA_DIR_DAMAGED',
    `a restore into ${dataDir} has not finished (${draft}). If none is running any more, remove ${remains} and restore again`,
  );
};

/** It holds all that was restored, and a removal of the data folder would leave it on the disk. */
const homeElsewhere = (draft: string): string[] => {
  try {
    return [path.dirname(readlinkSync(path.join(draft, 'postgres')))];
  } catch {
    return [];
  }
};

/** The members of the backup manifest of PostgreSQL that are needed here. */
const manifestSchema = z.object({ Files: z.array(z.object({ Path: z.string(), Checksum: z.string() })) });

const walFolder = 'pg_wal/';

/** Compares files with the digests that the server computed when it read them; it lists no WAL. */
const createComparison = async (manifest: string) => {
  const { Files: files } = manifestSchema.parse(JSON.parse(await readFile(manifest, 'utf8')));
  const missing = new Map(files.map((file) => [file.Path, file.Checksum]));
  return {
    onFile: (name: string, sha256: string): void => {
      const expected = missing.get(name);
      missing.delete(name);
      if (expected === sha256 || (expected === undefined && name.startsWith(walFolder))) return;
      throw new Error(`the backup is damaged: the file ${name} in its archive differs from what the server read`);
    },
    assertComplete: (): void => {
      const [name] = missing.keys();
      if (name !== undefined) throw new Error(`the backup is damaged: its archive lacks the file ${name}`);
    },
  };
};

/**
 * `backup`: paths of an archive and its manifest. The next start recovers from the WAL of the archive, and syncs every file before
 * that. A data folder that the account of the server cannot enter gets its home elsewhere, as at a first start.
 */
export const restoreCluster = async (
  dataDir: string,
  backup: { archive: string; manifest: string },
  log: Logger,
  onBytes: (bytes: number) => void,
): Promise<void> => {
  const comparison = await createComparison(backup.manifest);
  const { home, account } = await openHome(dataDir, {}, log);
  makeFolder(home.cluster, 0o700);
  await unpackTar(backup.archive, home.cluster, { onBytes, onFile: comparison.onFile });
  comparison.assertComplete();
  if (account !== undefined) await giveTree(home.cluster, account);
};

/** Moves a stopped cluster, or the link to its home elsewhere, into another data folder on the same disk. It is all or nothing. */
export const moveCluster = async (from: string, to: string): Promise<void> => {
  const place = path.join(from, 'postgres');
  const cluster = await readlink(place).catch(() => undefined);
  if (cluster !== undefined) await writeFile(path.join(path.dirname(cluster), 'belongs-to'), `${to}\n`);
  await rename(place, path.join(to, 'postgres'));
};

/** Removes a data folder and, if its cluster lies elsewhere, that home. No server may run on it. */
export const removeDataFolder = async (dataDir: string): Promise<void> => {
  const cluster = await readlink(path.join(dataDir, 'postgres')).catch(() => undefined);
  if (cluster !== undefined) await rm(path.dirname(cluster), { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
};

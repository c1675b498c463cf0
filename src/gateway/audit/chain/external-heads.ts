/**
 * Knowledge about the audit that is kept outside of the database: the furthest signed end of each chain that any
 * process of this installation saw, and the problems that were found. It only grows, so a restored older database or an
 * emptied audit contradicts it permanently. It is held in memory and, where there is a data folder, in a signed file
 * there.
 */
import { createHash, createHmac } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { makeDataFolder } from '#src/platform/files/make-folder.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type ChainEnd, changesChain } from './chain.ts';
import { type AuditProblem, auditProblems, isSameProblem } from './problem.ts';

type Box = Pick<SecretBox, 'derive'>;

export type ExternalHeads = {
  /** The furthest known end of each chain. */
  known(): ReadonlyMap<number, ChainEnd>;
  problems(): readonly AuditProblem[];
  /** Remembers an end whose transaction has committed. */
  note(chain: number, end: ChainEnd): void;
  addProblem(problem: AuditProblem): void;
  /** Writes the file when its content changed. Rejects with the error of the file system. */
  save(): Promise<void>;
  /** Merges what other processes with the same data folder wrote. Throws with the path when the file cannot be read. */
  load(): void;
};

const problemsMax = 1_000;
const label = 'audit-witness';

const opened = new WeakMap<object, ExternalHeads>();

/** Undefined when none was opened for these keys; then only the database is known. */
export const externalHeadsOf = (box: Box): ExternalHeads | undefined => opened.get(box);

type HeadsFile = {
  dataDir: string;
  /** Tells the store from every other one that has the same keys and data folder. */
  database: string;
};

type OpenedFile = HeadsFile & {
  /** The `database` by which an earlier release named the file; it is read as long as there is none of the present name. */
  earlier?: string;
  /** Without it a file that cannot be read is thrown. */
  onUnread?: (error: unknown) => void;
};

/** Returns the one instance for these keys. Without `file` it is held in memory alone. */
export const openExternalHeads = (box: Box, file?: OpenedFile): ExternalHeads => {
  const known = opened.get(box);
  if (known !== undefined) return known;
  const path = file && pathOf(box, file);
  const made = createExternalHeads(box.derive(label), path);
  try {
    if (file?.earlier !== undefined && !existsSync(pathOf(box, file)))
      addAll(made, readHeads(box, { ...file, database: file.earlier }));
    made.load();
  } catch (error) {
    if (file?.onUnread === undefined) throw error;
    file.onUnread(error);
  }
  opened.set(box, made);
  return made;
};

/**
 * Writes what is known of the opened database as known of its copy, the database `file.database`. It replaces what was known of
 * an earlier database of that name, which the copy does not continue.
 */
export const copyExternalHeads = async (box: Box, file: HeadsFile): Promise<void> => {
  const source = externalHeadsOf(box);
  if (source === undefined) return;
  const path = pathOf(box, file);
  await rm(path, { force: true });
  const copy = createExternalHeads(box.derive(label), path);
  addAll(copy, source);
  await copy.save();
};

const readHeads = (box: Box, file: HeadsFile): ExternalHeads => {
  const heads = createExternalHeads(box.derive(label), pathOf(box, file));
  heads.load();
  return heads;
};

const addAll = (to: ExternalHeads, from: ExternalHeads): void => {
  for (const [chain, end] of from.known()) to.note(chain, end);
  from.problems().forEach(to.addProblem);
};

/** True for the name of a file of heads in a data folder, of any database. */
export const isHeadsFile = (name: string): boolean => /^audit-heads-[0-9a-f]{16}\.json$/.test(name);

/** The name depends on the keys and the database, because several installations may share a folder. */
const pathOf = (box: Box, { dataDir, database }: HeadsFile): string => {
  const digest = createHash('sha256').update(box.derive(label)).update(database).digest('hex');
  return join(dataDir, `audit-heads-${digest.slice(0, 16)}.json`);
};

let made = 0;

const createExternalHeads = (key: Buffer, path: string | undefined): ExternalHeads => {
  made += 1;
  const draft = `${path}.${process.pid}-${made}`;
  const ends = new Map<number, ChainEnd>();
  const problems: AuditProblem[] = [];
  let saved = '';
  let writing: Promise<void> = Promise.resolve();

  const note = (chain: number, end: ChainEnd): void => {
    // A whole row of a head would stay in memory with it.
    if ((ends.get(chain)?.seq ?? -1) < end.seq) ends.set(chain, { seq: end.seq, hash: end.hash });
  };
  const addProblem = (problem: AuditProblem): void => {
    if (problems.length < problemsMax && !problems.some((one) => isSameProblem(one, problem))) problems.push(problem);
  };
  const load = (): void => {
    const text = path === undefined ? undefined : readText(path);
    if (text === undefined || text === saved) return;
    const read = readSigned(key, text);
    if (read === undefined) {
      addProblem({ chain: changesChain, seq: null, problem: auditProblems.checkpointChanged });
      return;
    }
    for (const [chain, seq, hash] of read.heads) note(chain, { seq, hash });
    read.problems.forEach(addProblem);
    // A file that has all of it is not written again. One that lacks some of it is, also when this process learned nothing since.
    saved = textOf() === text ? text : '';
  };
  const textOf = (): string => {
    const heads = [...ends].map(([chain, { seq, hash }]): [number, number, string] => [chain, seq, hash]);
    return writeSigned(key, { heads: heads.toSorted(([a], [b]) => a - b), problems });
  };
  const write = async (): Promise<void> => {
    if (path === undefined) return;
    load();
    if (ends.size === 0 && problems.length === 0) return;
    const text = textOf();
    if (text === saved) return;
    makeDataFolder(dirname(path));
    await writeDraft(draft, text);
    // Another process may write at the same time; each merges the other's file at its next load.
    await rename(draft, path);
    saved = text;
  };
  return {
    known: () => new Map(ends),
    problems: () => [...problems],
    note,
    addProblem,
    load,
    save: () => {
      // Writes run one after the other, because they share the draft file.
      writing = writing.catch(() => undefined).then(write);
      return writing;
    },
  };
};

/**
 * A command of root gives the file to the owner of the folder: the program, which runs as that user, could not read it
 * otherwise. A draft is made anew, so that root follows no link that this user may have put in its place.
 */
const writeDraft = async (draft: string, text: string): Promise<void> => {
  await rm(draft, { force: true });
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(text);
    if (process.getuid?.() === 0) {
      const { uid, gid } = await stat(dirname(draft));
      await file.chown(uid, gid);
    }
    await file.sync();
  } finally {
    await file.close();
  }
};

type Saved = { heads: [number, number, string][]; problems: AuditProblem[] };

const macOf = (key: Buffer, body: string): Buffer => createHmac('sha256', key).update(body).digest();

const writeSigned = (key: Buffer, content: Saved): string => {
  const body = JSON.stringify(content);
  return `${macOf(key, body).toString('hex')}\n${body}\n`;
};

/** Undefined when the signature is not of this installation. */
const readSigned = (key: Buffer, text: string): Saved | undefined => {
  const [mac = '', body = ''] = text.split('\n');
  return equalInConstantTime(Buffer.from(mac, 'hex'), macOf(key, body)) ? (JSON.parse(body) as Saved) : undefined;
};

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'EACCES' || !existsSync(dirname(path))) throw error;
    throw new Error(existsSync(path) ? ownerProblem(path) : folderProblem(dirname(path)), { cause: error });
  }
};

/** Of a folder that another user made, such as the volume of an image that ran as another one. */
const folderProblem = (folder: string): string =>
  `${folder} ${ownerText(folder)}, who may not enter it. As root, give it with its files to this user: chown -R ${userId()} ${folder}`;

const ownerProblem = (path: string): string =>
  `${path} ${ownerText(path)}, who may not read it. Give it to the owner of its folder: chown --reference=${dirname(path)} ${path}`;

const ownerText = (path: string): string =>
  `belongs to user ${statSync(path).uid}, and this process runs as user ${userId()}`;

const userId = (): number | undefined => process.geteuid?.();

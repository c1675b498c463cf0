/**
 * What this installation knows of its audit outside of the database: the furthest signed end of each chain that any of its
 * processes saw, and what was found broken. It only ever grows, so a database that went back in time, or an audit that was
 * emptied, contradicts it for good. Kept in memory and, where there is a data folder, in a signed file there.
 */
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type ChainEnd, changesChain, isSignature } from './chain.ts';
import { type AuditProblem, auditProblems, isSameProblem } from './problem.ts';

type Box = Pick<SecretBox, 'derive'>;

export type Witness = {
  /** Of each chain. */
  known(): ReadonlyMap<number, ChainEnd>;
  problems(): readonly AuditProblem[];
  /** For an end that is committed. */
  note(chain: number, end: ChainEnd): void;
  addProblem(problem: AuditProblem): void;
  /** Writes the file when something is new in it, beside whatever else the process does. Rejects with what the disk says. */
  save(): Promise<void>;
  /** Takes what other processes of this data folder wrote. */
  load(): void;
};

const problemsMax = 1_000;
const label = 'audit-witness';

const witnesses = new WeakMap<object, Witness>();

/** Undefined where none was opened: nothing is known then but what the database says. */
export const witnessOf = (box: Box): Witness | undefined => witnesses.get(box);

/** The one of these keys, in memory alone until a file is named for it. */
export const openWitness = (box: Box, file?: { dataDir: string; database: string }): Witness => {
  const known = witnesses.get(box);
  if (known !== undefined) return known;
  const path = file === undefined ? undefined : join(file.dataDir, fileName(box, file.database));
  const made = createWitness(box.derive(label), path);
  made.load();
  witnesses.set(box, made);
  return made;
};

/** Several installations may share a folder, as those of a developer do. */
const fileName = (box: Box, database: string): string =>
  `audit-heads-${createHash('sha256').update(box.derive(label)).update(database).digest('hex').slice(0, 16)}.json`;

let made = 0;

const createWitness = (key: Buffer, path: string | undefined): Witness => {
  made += 1;
  const draft = `${path}.${process.pid}-${made}`;
  const ends = new Map<number, ChainEnd>();
  const problems: AuditProblem[] = [];
  let saved = '';
  let writing: Promise<void> = Promise.resolve();

  const note = (chain: number, end: ChainEnd): void => {
    if ((ends.get(chain)?.seq ?? -1) < end.seq) ends.set(chain, end);
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
  };
  const write = async (): Promise<void> => {
    if (path === undefined) return;
    load();
    const heads = [...ends].map(([chain, { seq, hash }]): [number, number, string] => [chain, seq, hash]);
    if (heads.length === 0 && problems.length === 0) return;
    const text = writeSigned(key, { heads: heads.toSorted(([a], [b]) => a - b), problems });
    if (text === saved) return;
    await mkdir(dirname(path), { recursive: true });
    // Another process may write at the same moment; each takes over what the other left at its next look.
    await writeFile(draft, text, { mode: 0o600, flush: true });
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
      // One after the other, since they share a draft.
      writing = writing.catch(() => undefined).then(write);
      return writing;
    },
  };
};

type Kept = { heads: [number, number, string][]; problems: AuditProblem[] };

const macOf = (key: Buffer, body: string): Buffer => createHmac('sha256', key).update(body).digest();

const writeSigned = (key: Buffer, kept: Kept): string => {
  const body = JSON.stringify(kept);
  return `${macOf(key, body).toString('hex')}\n${body}\n`;
};

/** Undefined for what this installation did not write. */
const readSigned = (key: Buffer, text: string): Kept | undefined => {
  const [mac = '', body = ''] = text.split('\n');
  return isSignature(Buffer.from(mac, 'hex'), macOf(key, body)) ? (JSON.parse(body) as Kept) : undefined;
};

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/**
 * Whether the database takes writes. One whose disk is full still answers every question, so it is asked to write: a few
 * pages of a temporary table, for which it needs room, and a commit, for which it needs its journal.
 */
import { type Kysely, sql } from 'kysely';
import { inTransaction } from './transaction.ts';

export type WriteProbe = () => Promise<'ok' | 'failing'>;

const okMs = 5_000;
/** The end of an outage is to be seen soon. */
const failingMs = 1_000;
const answerMsMax = 1_500;

/** Resolves to what was found at most 5 s ago, within 1.5 s. Never rejects: a database that is away is not judged here. */
export const createWriteProbe = (db: Kysely<unknown>): WriteProbe => {
  let found: 'ok' | 'failing' = 'ok';
  let foundAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    found = (await writeFailure(db)) ? 'failing' : 'ok';
    foundAtMs = performance.now();
  };
  return async () => {
    if (performance.now() - foundAtMs > (found === 'ok' ? okMs : failingMs)) {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      await within(asking, answerMsMax);
    }
    return found;
  };
};

const within = (work: Promise<void>, msMax: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, msMax);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Rows that stand in their pages as they are; larger ones would be compressed. */
const write = async (db: Kysely<unknown>): Promise<void> =>
  inTransaction(db, async (tx) => {
    await sql`create temporary table orderpass_write_probe (filler text) on commit drop`.execute(tx);
    await sql`insert into orderpass_write_probe select repeat('x', 1900) from generate_series(1, 12)`.execute(tx);
  });

const writeFailure = async (db: Kysely<unknown>): Promise<boolean> => {
  try {
    await write(db);
    return false;
  } catch (error) {
    const code = String(Reflect.get(error as object, 'code'));
    // No room or no memory (class 53, without too many connections), an error of the disk, a server that is read-only.
    return (/^53/.test(code) && code !== '53300') || code === '58030' || code === '25006';
  }
};

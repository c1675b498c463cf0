/**
 * Checks that the database accepts writes. A database with a full disk still answers queries, so the probe writes a few
 * pages of a temporary table, which need room, and commits, which needs WAL.
 */
import { type Kysely, sql } from 'kysely';
import { inTransaction } from './transaction.ts';

export type WriteProbe = () => Promise<'ok' | 'failing'>;

const okMs = 5_000;
/** A short time, so that the end of an outage shows soon. */
const failingMs = 1_000;
const answerMsMax = 1_500;

/**
 * Resolves within 1.5 s to a result of at most 5 s ago. Never rejects: an unreachable database is no matter of this probe.
 */
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

/** Rows that PostgreSQL stores in the page itself; larger ones would be compressed. */
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
    // No room or no memory (class 53 except too many connections), an error of the disk, or a read-only server.
    return (/^53/.test(code) && code !== '53300') || code === '58030' || code === '25006';
  }
};

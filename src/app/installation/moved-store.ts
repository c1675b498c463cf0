/** The mark of an embedded store whose data was moved to a server: a start on it would take orders that the server never gets. */
import type { Kysely } from 'kysely';
import { readFact, writeFact } from '#src/platform/db/facts.ts';

const fact = 'moved_to';
const notMoved = '';

/** `to`: the address without a password. */
export const markMoved = (db: Kysely<unknown>, to: string, at: Date): Promise<void> =>
  writeFact(db, fact, `${to} on ${at.toISOString()}`);

export const unmarkMoved = (db: Kysely<unknown>): Promise<void> => writeFact(db, fact, notMoved);

/** Where the store was moved and when; undefined when it was not. */
export const readMoved = async (db: Kysely<unknown>): Promise<string | undefined> =>
  (await readFact(db, fact)) || undefined;

export const assertNotMoved = async (db: Kysely<unknown>): Promise<void> => {
  const moved = await readMoved(db);
  if (moved === undefined) return;
  throw new Error(
    `this store was moved to ${moved}: set DATABASE_URL to that database. To use this store again, without what was written there since, run npm run -s cli -- move --undo`,
  );
};

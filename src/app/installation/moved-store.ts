/** The mark of an embedded store whose data was moved to a server: a start on it would take orders that the server never gets. */
import type { Kysely } from 'kysely';
import { readFact, writeFact } from '#src/platform/db/facts.ts';
import { commandLine } from '#src/platform/files/release.ts';

const fact = 'moved_to';
const movingFact = 'moving_to';
const none = '';

const markAs = (db: Kysely<unknown>, name: string, to: string, at: Date): Promise<void> =>
  writeFact(db, name, `${to} on ${at.toISOString()}`);

/** Before the rows are committed there. `to`: the address without a password. */
export const markMoving = (db: Kysely<unknown>, to: string, at: Date): Promise<void> => markAs(db, movingFact, to, at);

/** Afterwards. */
export const markMoved = (db: Kysely<unknown>, to: string, at: Date): Promise<void> => markAs(db, fact, to, at);

export const unmarkMoved = async (db: Kysely<unknown>): Promise<void> => {
  await writeFact(db, fact, none);
  await writeFact(db, movingFact, none);
};

/** Where the store was moved and when; undefined when it was not. */
export const readMoved = async (db: Kysely<unknown>): Promise<string | undefined> =>
  (await readFact(db, fact)) || undefined;

/** The same of a move that began to commit. Only with `readMoved` it is known that the rows are there. */
export const readMoving = async (db: Kysely<unknown>): Promise<string | undefined> =>
  (await readFact(db, movingFact)) || undefined;

export const assertNotMoved = async (db: Kysely<unknown>): Promise<void> => {
  const moved = await readMoved(db);
  if (moved !== undefined)
    throw new Error(
      `this store was moved to ${moved}: set DATABASE_URL to that database. To use this store again, without what was written there since, run ${commandLine} move --undo`,
    );
  const moving = await readMoving(db);
  if (moving !== undefined)
    throw new Error(
      `a move of this store to ${moving} was ended while it was committed, so that database has all rows or none. Run the move again: it is done, or is refused because the rows are there, and then set DATABASE_URL to that database. To use this store instead, run ${commandLine} move --undo, and remove that database`,
    );
};

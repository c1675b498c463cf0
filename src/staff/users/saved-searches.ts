/** Use cases of users on the searches that they keep under a name. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { lockUser } from '../accounts/user-store.ts';
import { deleteSearch, listSearches, putSearch, type SavedSearch } from './saved-search-store.ts';

/** The actor for the audit, and the address of the request. */
type By = { actor: string; address: string };

const searchesMax = 20;
const searchNameMax = 60;
const queryMax = 2_500;

export const createSavedSearches = ({
  db,
  clock,
  record,
}: {
  db: Kysely<unknown>;
  clock: Clock;
  record: RecordEvents;
}) => ({
  /** By name. */
  list: (userId: string): Promise<SavedSearch[]> => listSearches(db, userId),
  /** Replaces the search of the same name. `refused`: the name or the query is empty or too long. */
  save: async (userId: string, { name, query }: SavedSearch, by: By): Promise<'saved' | 'refused' | 'full'> => {
    if (name === '' || query === '' || [...name].length > searchNameMax || query.length > queryMax) return 'refused';
    return inTransaction(db, async (tx) => {
      if ((await lockUser(tx, userId)) === undefined) return 'refused';
      const kept = await listSearches(tx, userId);
      if (kept.length >= searchesMax && !kept.some((one) => one.name === name)) return 'full';
      await putSearch(tx, userId, { name, query, now: clock.now() });
      await record(tx, clock.now(), { action: 'user.search_saved', outcome: 'success', ...by, details: { name } });
      return 'saved';
    });
  },
  /** False: the user has no such search. */
  remove: (userId: string, name: string, by: By): Promise<boolean> =>
    inTransaction(db, async (tx) => {
      if (!(await deleteSearch(tx, userId, name))) return false;
      await record(tx, clock.now(), { action: 'user.search_removed', outcome: 'success', ...by, details: { name } });
      return true;
    }),
});

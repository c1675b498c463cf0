/** Searches that users keep under a name. */
import { type Kysely, sql } from 'kysely';

export type SavedSearch = { name: string; query: string };

/** By name. */
export const listSearches = async (db: Kysely<unknown>, userId: string): Promise<SavedSearch[]> =>
  (
    await sql<SavedSearch>`
      select name, query from panel.saved_searches where user_id = ${userId} order by name`.execute(db)
  ).rows;

/** Replaces the search of the same name. The user is locked, so two at once do not exceed the bound. */
export const putSearch = async (
  tx: Kysely<unknown>,
  userId: string,
  { name, query, now }: SavedSearch & { now: Date },
): Promise<void> => {
  await sql`
    insert into panel.saved_searches (user_id, name, query, created_at) values (${userId}, ${name}, ${query}, ${now})
    on conflict (user_id, name) do update set query = excluded.query`.execute(tx);
};

/** False: the user has no such search. */
export const deleteSearch = async (tx: Kysely<unknown>, userId: string, name: string): Promise<boolean> => {
  const { rows } = await sql`
    delete from panel.saved_searches where user_id = ${userId} and name = ${name} returning 1`.execute(tx);
  return rows.length > 0;
};

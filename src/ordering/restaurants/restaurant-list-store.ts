/** The list of restaurants in PostgreSQL, for the panel's choice of a restaurant. */
import { type Kysely, sql } from 'kysely';

export type ListedRestaurant = { uid: string; name: string };

export type RestaurantSearch = {
  /** Limits the list to these uids. */
  among: readonly string[];
  /** The uid, or part of the name (ignoring case); empty: all. */
  text: string;
  /** Uid of the last restaurant on the previous page. */
  after: string | undefined;
  limit: number;
};

/** Sorted by name, ignoring case. */
export const listRestaurants = async (
  db: Kysely<unknown>,
  { among, text, after, limit }: RestaurantSearch,
): Promise<ListedRestaurant[]> => {
  const name = sql`lower(name) collate "C"`;
  const { rows } = await sql<ListedRestaurant>`
    select uid, name from ordering.restaurants
    where uid = any(${among}::text[])
      ${text === '' ? sql`` : sql`and (uid = ${text} or strpos(lower(name), lower(${text})) > 0)`}
      ${after === undefined ? sql`` : sql`and (${name}, uid) > (select ${name}, uid from ordering.restaurants where uid = ${after})`}
    order by ${name}, uid limit ${limit}`.execute(db);
  return rows;
};

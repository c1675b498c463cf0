/** Restaurants for people who look for one. */
import { type Kysely, sql } from 'kysely';

export type ListedRestaurant = { uid: string; name: string };

export type RestaurantSearch = {
  /** Only these; undefined: all. */
  among: readonly string[] | undefined;
  /** The uid, or how the name begins, without case; empty: any. */
  text: string;
  /** Uid of the last one seen. */
  after: string | undefined;
  limit: number;
};

/** Above every character: ends the names that begin alike. */
const last = '\u{10ffff}';

/** By name, without case. */
export const listRestaurants = async (
  db: Kysely<unknown>,
  { among, text, after, limit }: RestaurantSearch,
): Promise<ListedRestaurant[]> => {
  const start = text.trim().toLowerCase();
  const { rows } = await sql<ListedRestaurant>`
    select uid, name from ordering.restaurants
    where ${among === undefined ? sql`true` : sql`uid = any(${among}::text[])`}
      ${start === '' ? sql`` : sql`and (uid = ${text.trim()} or (lower(name) collate "C" >= ${start} and lower(name) collate "C" < ${start + last}))`}
      ${after === undefined ? sql`` : sql`and (lower(name) collate "C", uid) > (select lower(name) collate "C", uid from ordering.restaurants where uid = ${after})`}
    order by lower(name) collate "C", uid limit ${limit}`.execute(db);
  return rows;
};

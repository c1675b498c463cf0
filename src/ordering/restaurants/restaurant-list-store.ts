/** Restaurants for people who look for one. */
import { type Kysely, type RawBuilder, sql } from 'kysely';

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
  const name = sql`lower(name) collate "C"`;
  const { rows } = await sql<ListedRestaurant>`
    select uid, name from ordering.restaurants
    where ${among === undefined ? sql`true` : sql`uid = any(${among}::text[])`} and ${fitting(text.trim())}
      ${after === undefined ? sql`` : sql`and (${name}, uid) > (select ${name}, uid from ordering.restaurants where uid = ${after})`}
    order by ${name}, uid limit ${limit}`.execute(db);
  return rows;
};

/** One or the other: an index serves each, and none both at once. */
const fitting = (text: string): RawBuilder<unknown> => {
  if (text === '') return sql`true`;
  if (text.startsWith('rst_')) return sql`uid = ${text}`;
  const start = text.toLowerCase();
  return sql`lower(name) collate "C" >= ${start} and lower(name) collate "C" < ${start + last}`;
};

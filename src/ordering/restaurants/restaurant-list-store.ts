/** Restaurants of somebody, for whoever looks for one of them. */
import { type Kysely, sql } from 'kysely';

export type ListedRestaurant = { uid: string; name: string };

export type RestaurantSearch = {
  /** Only these. */
  among: readonly string[];
  /** The uid, or part of the name, without case; empty: any. */
  text: string;
  /** Uid of the last one seen. */
  after: string | undefined;
  limit: number;
};

/** By name, without case. */
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

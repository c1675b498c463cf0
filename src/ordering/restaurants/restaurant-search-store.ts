/** Search of restaurants for staff, in PostgreSQL. */
import { type Kysely, sql } from 'kysely';
import { wordsQuery } from '#src/platform/db/words-query.ts';

export type FoundRestaurant = { uid: string; name: string; timeZone: string; currency: string };

const columns = sql`uid, name, time_zone as "timeZone", currency`;

/** The expression of the index on the words of the name. */
const words = sql`to_tsvector('simple', regexp_replace(name, '[^[:alnum:]]+', ' ', 'g'))`;

/**
 * Newest first. `search`: the start of a uid, or starts of words of the name; an empty text finds all. `before`: uid of
 * the last restaurant on the previous page.
 */
export const searchRestaurants = async (
  db: Kysely<unknown>,
  { search, before, limit }: { search: string; before: string | undefined; limit: number },
): Promise<FoundRestaurant[]> => {
  const query = wordsQuery(search);
  // All characters of a uid sort before `~`.
  const isUid = /^[A-Za-z0-9._-]{1,64}$/.test(search);
  const found = [
    ...(isUid ? [sql`(uid >= ${search} and uid < ${`${search}~`})`] : []),
    ...(query === undefined ? [] : [sql`${words} @@ to_tsquery('simple', ${query})`]),
  ];
  const matches = search === '' ? sql`true` : found.length === 0 ? sql`false` : sql.join(found, sql` or `);
  const { rows } = await sql<FoundRestaurant>`
    select ${columns} from ordering.restaurants
    where (${matches}) and (${before ?? null}::text is null or uid < ${before ?? null})
    order by uid desc limit ${limit}`.execute(db);
  return rows;
};

/** The restaurants with these uids; unknown uids are left out. */
export const restaurantsByUid = async (db: Kysely<unknown>, uids: readonly string[]): Promise<FoundRestaurant[]> =>
  (
    await sql<FoundRestaurant>`
      select ${columns} from ordering.restaurants where uid = any (${[...uids]}::text[]) order by uid desc`.execute(db)
  ).rows;

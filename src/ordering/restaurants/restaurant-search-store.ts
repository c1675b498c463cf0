/** Search of restaurants for staff, in PostgreSQL. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { isSandboxId, sandboxMark } from '#src/contract/sandbox.ts';
import { wordsQuery } from '#src/platform/db/words-query.ts';

export type FoundRestaurant = { uid: string; name: string; timeZone: string; currency: string };

const columns = sql`uid, name, time_zone as "timeZone", currency`;

/** The expression of the index on the words of the name. */
const words = sql`to_tsvector('simple', regexp_replace(name, '[^[:alnum:]]+', ' ', 'g'))`;

/** Uids of sandboxes and no others lie between these two. */
const [firstSandbox, afterSandboxes] = [`rst_${sandboxMark}`, 'rst_test`'];

/**
 * Real restaurants, then sandboxes, each newest first. `search`: the start of a uid, or starts of words of the name; an empty text
 * finds all. `before`: uid of the last restaurant on the previous page.
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
  const isAmongSandboxes = before !== undefined && isSandboxId(before);
  const part = (range: RawBuilder<unknown>, isSandbox: boolean): RawBuilder<unknown> => {
    if (isAmongSandboxes && !isSandbox)
      return sql`(select ${columns}, false as "isSandbox" from ordering.restaurants where false)`;
    const place = before !== undefined && isAmongSandboxes === isSandbox ? sql`uid < ${before}` : sql`true`;
    return sql`(
      select ${columns}, ${isSandbox}::boolean as "isSandbox" from ordering.restaurants
      where (${matches}) and ${range} and ${place} order by uid desc limit ${limit})`;
  };
  // Each part is one range of the index, so that no sandbox is read to find the restaurants behind it.
  const { rows } = await sql<FoundRestaurant>`
    select uid, name, "timeZone", currency from (
      ${part(sql`uid >= ${afterSandboxes}`, false)}
      union all ${part(sql`uid < ${firstSandbox}`, false)}
      union all ${part(sql`uid >= ${firstSandbox} and uid < ${afterSandboxes}`, true)}
    ) as all_parts
    order by "isSandbox", uid desc limit ${limit}`.execute(db);
  return rows;
};

/** The restaurants with this name, ignoring case, newest first. */
export const findRestaurantsByName = async (
  db: Kysely<unknown>,
  { name, limit }: { name: string; limit: number },
): Promise<FoundRestaurant[]> => {
  const query = wordsQuery(name);
  if (query === undefined) return [];
  // The words use the index.
  const { rows } = await sql<FoundRestaurant>`
    select ${columns} from ordering.restaurants
    where ${words} @@ to_tsquery('simple', ${query}) and lower(name) = lower(${name})
    order by uid desc limit ${limit}`.execute(db);
  return rows;
};

/** The restaurants with these uids; unknown uids are left out. */
export const restaurantsByUid = async (db: Kysely<unknown>, uids: readonly string[]): Promise<FoundRestaurant[]> =>
  (
    await sql<FoundRestaurant>`
      select ${columns} from ordering.restaurants where uid = any (${[...uids]}::text[]) order by uid desc`.execute(db)
  ).rows;

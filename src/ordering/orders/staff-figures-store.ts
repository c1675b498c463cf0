/** SQL of figures about orders for the panel's start page, and of the restaurant of an order or customer. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** A count stops here. */
export const ordersCountMax = 1_000;

/** Moments: from `from` on and before `until`. */
export type OrderSpan = { restuid: string; from: Date; until: Date };

/** In the sequence of the spans. Each is counted along orders_listed. */
export const countOrders = async (db: Db, spans: readonly OrderSpan[]): Promise<number[]> => {
  const { rows } = await sql<{ count: number }>`
    select (
      select count(*)::int from (
        select from ordering.orders where orders.restuid = span.restuid and date >= span.since and date < span.until
        limit ${ordersCountMax}
      ) as counted
    ) as count
    from unnest(${spans.map(({ restuid }) => restuid)}::text[], ${spans.map(({ from }) => from)}::timestamptz[],
      ${spans.map(({ until }) => until)}::timestamptz[]) with ordinality as span (restuid, since, until, number)
    order by span.number`.execute(db);
  return rows.map(({ count }) => count);
};

/** Those of the restaurants that have an order, by the primary key. */
export const restaurantsWithOrders = async (db: Db, restuids: readonly string[]): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select asked.id from unnest(${[...restuids]}::text[]) as asked (id)
    where exists (select from ordering.orders where orders.restuid = asked.id)`.execute(db);
  return rows.map(({ id }) => id);
};

/** Uids are unique within a restaurant only, so each restaurant is one look into a primary key. */
const restaurantsMax = 5_000;

const tables = { order: sql`ordering.orders`, customer: sql`ordering.customers` } as const;

/** `among`: undefined looks through the newest restaurants; an older one is found inside its own pages only. */
export const restaurantOf = async (
  db: Db,
  kind: keyof typeof tables,
  uid: string,
  among: readonly string[] | undefined,
): Promise<string | undefined> => {
  const asked =
    among === undefined
      ? sql`(select uid from ordering.restaurants order by uid desc limit ${restaurantsMax})`
      : sql`(select uid from unnest(${among.slice(0, restaurantsMax)}::text[]) as given (uid))`;
  const { rows } = await sql<{ restuid: string }>`
    select asked.uid as restuid from ${asked} as asked
    cross join lateral (
      select from ${tables[kind]} as held where held.restuid = asked.uid and held.uid = ${uid} limit 1
    ) as found limit 1`.execute(db);
  return rows[0]?.restuid;
};

/** The list of orders in PostgreSQL: filters, one page by offset or by key, and the count. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { lastOrderNumber, readOrderTally } from '../tally-store.ts';
import type { Order } from './order.ts';
import { orderColumns } from './order-store.ts';
import { type Status, statuses } from './transitions.ts';

export type OrderFilter = {
  statuses?: readonly Status[] | undefined;
  closed?: boolean | undefined;
  dateFrom?: Date | undefined;
  dateBefore?: Date | undefined;
  updatedFrom?: Date | undefined;
  locationUid?: string | undefined;
  dmethod?: string | undefined;
  customerUid?: string | undefined;
  externalId?: string | undefined;
};

/** Sort key: newest first, ties by uid descending. */
export type OrderKey = { date: string; uid: string };

/** The statuses that a filter leaves over; undefined: all of them. */
const wantedStatuses = ({ statuses: named, closed }: OrderFilter): Status[] | undefined =>
  named === undefined && closed === undefined
    ? undefined
    : statuses.filter(
        (status) => named?.includes(status) !== false && (closed === undefined || (status === 'closed') === closed),
      );

/** A single status is compared as such, so that its index also gives the sequence of the list. */
const havingStatus = (wanted: readonly Status[]): RawBuilder<unknown> =>
  wanted.length === 1 ? sql`status = ${wanted[0]}` : sql`status = any(${wanted}::text[])`;

const matching = (restuid: string, filter: OrderFilter): RawBuilder<unknown> => {
  const wanted = wantedStatuses(filter);
  return sql.join(
    [
      sql`restuid = ${restuid}`,
      ...(wanted === undefined ? [] : [havingStatus(wanted)]),
      ...(filter.dateFrom === undefined ? [] : [sql`date >= ${filter.dateFrom}`]),
      ...(filter.dateBefore === undefined ? [] : [sql`date < ${filter.dateBefore}`]),
      ...(filter.updatedFrom === undefined ? [] : [sql`updated >= ${filter.updatedFrom}`]),
      ...(filter.locationUid === undefined ? [] : [sql`location_uid = ${filter.locationUid}`]),
      ...(filter.dmethod === undefined ? [] : [sql`dmethod = ${filter.dmethod}`]),
      ...(filter.customerUid === undefined ? [] : [sql`customer_uid = ${filter.customerUid}`]),
      ...(filter.externalId === undefined ? [] : [sql`external_id = ${filter.externalId}`]),
    ],
    sql` and `,
  );
};

export const listOrders = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: OrderFilter,
  page: { after: OrderKey | undefined; offset: number; limit: number },
): Promise<Order[]> => {
  const after =
    page.after === undefined
      ? sql``
      : sql`and (date, uid) < (${page.after.date}::timestamptz, ${page.after.uid}::text collate "C")`;
  const sequence = sql`order by date desc, uid desc`;
  const wanted = sql`
    from ordering.orders where ${matching(restuid, filter)} ${after}
    ${sequence} limit ${page.limit} offset ${page.offset}`;
  // Of a place or a method there may be few among very many: the index that gives the sequence also holds these two, so the
  // others are passed over without a look at the orders themselves.
  const isSought = filter.locationUid !== undefined || filter.dmethod !== undefined;
  const { rows } = await (isSought
    ? sql<Order>`
        select ${orderColumns} from ordering.orders
        where restuid = ${restuid} and uid = any(array(select uid ${wanted})) ${sequence}`
    : sql<Order>`select ${orderColumns} ${wanted}`
  ).execute(db);
  return rows;
};

/** Exact (interface 7). Of all orders, or of those in some statuses, it is known; of others it is counted. */
export const countOrders = async (db: Kysely<unknown>, restuid: string, filter: OrderFilter): Promise<number> => {
  const { statuses: _statuses, closed: _closed, ...others } = filter;
  const wanted = wantedStatuses(filter);
  if (Object.values(others).every((value) => value === undefined))
    return wanted === undefined ? lastOrderNumber(db, restuid) : readOrderTally(db, restuid, wanted);
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ordering.orders where ${matching(restuid, filter)}`.execute(db);
  return rows[0]?.total ?? 0;
};

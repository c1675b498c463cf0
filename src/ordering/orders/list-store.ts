/** The list of orders in PostgreSQL: filters, one page by offset or by key, and the count. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { lastOrderNumber } from '../tally-store.ts';
import type { Order } from './order.ts';
import { orderColumns } from './order-store.ts';
import type { Status } from './transitions.ts';

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

/** A single status is compared as such, so that its index also gives the sequence of the list. */
const havingStatus = (wanted: readonly Status[]): RawBuilder<unknown> =>
  wanted.length === 1 ? sql`status = ${wanted[0]}` : sql`status = any(${wanted}::text[])`;

const matching = (restuid: string, filter: OrderFilter): RawBuilder<unknown> =>
  sql.join(
    [
      sql`restuid = ${restuid}`,
      ...(filter.statuses === undefined ? [] : [havingStatus(filter.statuses)]),
      ...(filter.closed === undefined ? [] : [filter.closed ? sql`status = 'closed'` : sql`status <> 'closed'`]),
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
  const { rows } = await sql<Order>`
    select ${orderColumns} from ordering.orders where ${matching(restuid, filter)} ${after}
    order by date desc, uid desc limit ${page.limit} offset ${page.offset}`.execute(db);
  return rows;
};

export const countOrders = async (db: Kysely<unknown>, restuid: string, filter: OrderFilter): Promise<number> => {
  if (Object.values(filter).every((value) => value === undefined)) return lastOrderNumber(db, restuid);
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ordering.orders where ${matching(restuid, filter)}`.execute(db);
  return rows[0]?.total ?? 0;
};

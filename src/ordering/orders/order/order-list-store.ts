/** The list of orders in PostgreSQL: its filters, the index that each filter uses, and the total where it is stored. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Key, type Listed, type ListQuery, readList, type Way } from '#src/platform/db/bounded-list.ts';
import { lastOrderNumber, readOrderTally } from '../../lists/tally-store.ts';
import { type Order, type Status, statuses } from './order.ts';
import { orderColumns } from './order-store.ts';

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

type Condition = RawBuilder<unknown>;

/** The statuses that match a filter; undefined: all. */
const wantedStatuses = ({ statuses: named, closed }: OrderFilter): Status[] | undefined =>
  named === undefined && closed === undefined
    ? undefined
    : statuses.filter(
        (status) => named?.includes(status) !== false && (closed === undefined || (status === 'closed') === closed),
      );

const and = (conditions: readonly Condition[]): Condition => sql.join(conditions, sql` and `);

/** The index of each filter except dates. Every index that is sorted like the list can be bounded by dates. */
const waysOf = (restuid: string, filter: OrderFilter): { ways: Way[]; fits: Condition } => {
  const of = sql`restuid = ${restuid}`;
  const dates = [
    ...(filter.dateFrom === undefined ? [] : [sql`date >= ${filter.dateFrom}`]),
    ...(filter.dateBefore === undefined ? [] : [sql`date < ${filter.dateBefore}`]),
  ];
  const wanted = wantedStatuses(filter);
  const found: (Omit<Way, 'isWhole'> & { condition: Condition })[] = [];
  const add = (condition: Condition, inSequence: boolean, each: readonly Condition[] = [condition]): void => {
    found.push({
      ranges: each.map((one) => and([of, one, ...(inSequence ? dates : [])])),
      inSequence,
      condition,
    });
  };
  if (filter.externalId !== undefined) add(sql`external_id = ${filter.externalId}`, false);
  if (filter.customerUid !== undefined) add(sql`customer_uid = ${filter.customerUid}`, true);
  if (filter.locationUid !== undefined) add(sql`location_uid = ${filter.locationUid}`, true);
  if (filter.dmethod !== undefined) add(sql`dmethod = ${filter.dmethod}`, true);
  if (wanted !== undefined) {
    const each = wanted.map((status) => sql`status = ${status}`);
    add(sql`status = any(${wanted}::text[])`, true, each);
  }
  if (filter.updatedFrom !== undefined) {
    const condition = sql`updated >= ${filter.updatedFrom}`;
    found.push({ ranges: [and([of, condition])], inSequence: false, sorted: [sql`order by updated`], condition });
  }
  const isAlone = found.length === 1;
  const ways = found.map(({ condition: _condition, ...way }) => ({ ...way, isWhole: isAlone && way.inSequence }));
  const all: Way = { ranges: [and([of, ...dates])], inSequence: true, isWhole: found.length === 0 };
  return { ways: [...ways, all], fits: and([of, ...dates, ...found.map(({ condition }) => condition)]) };
};

const key = [
  { column: sql`date`, type: sql`timestamptz` },
  { column: sql`uid`, type: sql`text collate "C"` },
];

/**
 * Newest first, ties by uid descending. Throws VALIDATION_ERROR for a page number beyond the ones that can be reached.
 */
export const listOrders = (
  db: Kysely<unknown>,
  restuid: string,
  filter: OrderFilter,
  query: ListQuery,
): Promise<Listed<Order>> => {
  const table = sql`ordering.orders`;
  const tenant = sql`restuid = ${restuid}`;
  const named = { table, alias: 'orders', columns: orderColumns, tables: table };
  const weight = sql`pg_column_size(details)`;
  const source = { ...named, weight, key, tenant, ...waysOf(restuid, filter) };
  const keyOf = ({ date, uid }: Order): Key => [date.toISOString(), uid];
  return readList(db, source, query, keyOf, knownTotal(db, restuid, filter));
};

/** Triggers maintain the number of all orders and of the orders in each status, so these totals need no count. */
const knownTotal = (db: Kysely<unknown>, restuid: string, filter: OrderFilter): (() => Promise<number>) | undefined => {
  const { statuses: _statuses, closed: _closed, ...others } = filter;
  if (Object.values(others).some((value) => value !== undefined)) return undefined;
  const wanted = wantedStatuses(filter);
  return () => (wanted === undefined ? lastOrderNumber(db, restuid) : readOrderTally(db, restuid, wanted));
};

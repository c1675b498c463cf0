/** The list of customers in PostgreSQL: its filters, and the index that each filter uses. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Key, type Listed, type ListQuery, readList, type Way } from '#src/platform/db/bounded-list.ts';
import { readTally } from '../lists/tally-store.ts';
import type { Customer } from './customer.ts';
import { customerColumns, customerTables } from './customer-store.ts';

/** First instant (inclusive) and last (exclusive) of a period. */
export type Period = { from?: Date | undefined; before?: Date | undefined };

export type CustomerFilter = {
  added?: Period;
  firstOrder?: Period;
  lastOrder?: Period;
  devicesUnregistered?: Period;
  signedup?: boolean | undefined;
  subrestaurantUid?: string | undefined;
  code?: string | undefined;
  /** Start of a name, email or phone; case is ignored. */
  start?: string | undefined;
};

type Condition = RawBuilder<unknown>;

const and = (conditions: readonly Condition[]): Condition => sql.join(conditions, sql` and `);

const within = (column: RawBuilder<unknown>, period: Period | undefined): RawBuilder<unknown>[] => [
  ...(period?.from === undefined ? [] : [sql`${column} >= ${period.from}`]),
  ...(period?.before === undefined ? [] : [sql`${column} < ${period.before}`]),
];

/** Escapes the caller's text for LIKE, so that `%` and `_` are no wildcards. */
const startPattern = (text: string): string => `${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;

/** Each alternative has its own index. A phone is found by its text and by its digits. */
const startsWith = (start: string): { condition: Condition; sorted: Condition }[] => {
  const digits = /^[0-9\s()+./-]+$/.test(start) ? start.replaceAll(/[^0-9]/g, '') : '';
  const [firstName, lastName] = splitName(start);
  const beginning = (column: Condition) => ({
    condition: sql`lower(${column}) like lower(${startPattern(start)}::text)`,
    sorted: sql`order by lower(${column}) using ~<~`,
  });
  return [
    ...[sql`c.first_name`, sql`c.last_name`, sql`c.email`, sql`c.phone`].map(beginning),
    ...(digits === ''
      ? []
      : [{ condition: sql`c.phone_digits like ${`${digits}%`}`, sorted: sql`order by c.phone_digits using ~<~` }]),
    ...(lastName === undefined
      ? []
      : [
          {
            condition: sql`lower(c.first_name) = lower(${firstName}::text)
              and lower(c.last_name) like lower(${startPattern(lastName)}::text)`,
            sorted: sql`order by lower(c.first_name) using ~<~, lower(c.last_name) using ~<~`,
          },
        ]),
  ];
};

/** "Ada Lov" may also be the start of a whole name. */
const splitName = (text: string): [string, string | undefined] => {
  const [first = '', ...rest] = text.split(/\s+/);
  return [first, rest.length === 0 ? undefined : rest.join(' ')];
};

/** Rows that are found by the start of a name lie anywhere in the table, so each one costs a page read. */
const fewStarts = 100;

/** The index of each filter except `added`. Every index that is sorted like the list can be bounded by that date. */
const waysOf = (restuid: string, filter: CustomerFilter): { ways: Way[]; fits: Condition } => {
  const of = sql`c.restuid = ${restuid} and c.removed_at is null`;
  const added = within(sql`c.added`, filter.added);
  const found: (Omit<Way, 'isWhole'> & { condition: Condition })[] = [];
  const add = (inSequence: boolean, each: readonly Condition[], sorted?: readonly Condition[], few?: number): void => {
    if (each.length === 0) return;
    const ranges = each.map((one) => and([of, one, ...(inSequence ? added : [])]));
    const condition = sql`(${sql.join(
      each.map((one) => sql`(${one})`),
      sql` or `,
    )})`;
    found.push({ ranges, inSequence, condition, ...(sorted && { sorted }), ...(few !== undefined && { few }) });
  };
  const period = (column: Condition, asked: Period | undefined): void => {
    const bounds = within(column, asked);
    add(false, bounds.length === 0 ? [] : [and(bounds)], [sql`order by ${column}`]);
  };
  if (filter.code !== undefined) add(false, [sql`c.code = ${filter.code}`]);
  if (filter.subrestaurantUid !== undefined) add(true, [sql`c.subrestaurant_uid = ${filter.subrestaurantUid}`]);
  if (filter.signedup !== undefined)
    add(true, [filter.signedup ? sql`c.signup_uid is not null` : sql`c.signup_uid is null`]);
  period(sql`c.first_order`, filter.firstOrder);
  period(sql`c.last_order`, filter.lastOrder);
  period(sql`c.devices_unregistered`, filter.devicesUnregistered);
  if (filter.start !== undefined) {
    const starts = startsWith(filter.start);
    add(
      false,
      starts.map(({ condition }) => condition),
      starts.map(({ sorted }) => sorted),
      fewStarts,
    );
  }
  const isAlone = found.length === 1;
  const ways = found.map(({ condition: _condition, ...way }) => ({ ...way, isWhole: isAlone && way.inSequence }));
  const all: Way = { ranges: [and([of, ...added])], inSequence: true, isWhole: found.length === 0 };
  return { ways: [...ways, all], fits: and([of, ...added, ...found.map(({ condition }) => condition)]) };
};

const key = [
  { column: sql`c.added`, type: sql`timestamptz` },
  { column: sql`c.uid`, type: sql`text collate "C"` },
];

/**
 * Newest first, ties by uid descending. Throws VALIDATION_ERROR for a page number beyond the ones that can be reached.
 */
export const listCustomers = (
  db: Kysely<unknown>,
  restuid: string,
  filter: CustomerFilter,
  query: ListQuery,
): Promise<Listed<Customer>> => {
  const tenant = sql`c.restuid = ${restuid}`;
  const way = waysOf(restuid, filter);
  const named = { table: sql`ordering.customers`, alias: 'c', columns: customerColumns, tables: customerTables };
  const source = { ...named, key, tenant, ...way };
  const keyOf = ({ added, uid }: Customer): Key => [added.toISOString(), uid];
  // Triggers maintain the number of all customers.
  const isAll = way.ways.length === 1 && within(sql`c.added`, filter.added).length === 0;
  return readList(db, source, query, keyOf, isAll ? () => readTally(db, restuid, 'customers') : undefined);
};

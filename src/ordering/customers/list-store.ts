/** The list of customers in PostgreSQL: filters, one page by offset or by key, and the count. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { readTally } from '../tally-store.ts';
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
  /** Start of a name, email or phone, without case. */
  start?: string | undefined;
};

/** Sort key of a customer: newest first, ties by uid descending. */
export type CustomerKey = { added: string; uid: string };

const within = (column: RawBuilder<unknown>, period: Period | undefined): RawBuilder<unknown>[] => [
  ...(period?.from === undefined ? [] : [sql`${column} >= ${period.from}`]),
  ...(period?.before === undefined ? [] : [sql`${column} < ${period.before}`]),
];

/** What a caller types is text, not a pattern. */
const startPattern = (text: string): string => `${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;

/** Each alternative has an index of its own; a phone is found as it is written and by its digits. */
const startsWith = (start: string): RawBuilder<unknown> => {
  const pattern = startPattern(start);
  const digits = /^[0-9\s()+./-]+$/.test(start) ? start.replaceAll(/[^0-9]/g, '') : '';
  const [firstName, lastName] = splitName(start);
  const alternatives = [
    sql`lower(c.first_name) like lower(${pattern}::text)`,
    sql`lower(c.last_name) like lower(${pattern}::text)`,
    sql`lower(c.email) like lower(${pattern}::text)`,
    sql`lower(c.phone) like lower(${pattern}::text)`,
    ...(digits === '' ? [] : [sql`c.phone_digits like ${`${digits}%`}`]),
    ...(lastName === undefined
      ? []
      : [
          sql`(lower(c.first_name) = lower(${firstName}) and lower(c.last_name) like lower(${startPattern(lastName)}))`,
        ]),
  ];
  return sql`(${sql.join(alternatives, sql` or `)})`;
};

/** "Ada Lov" may also be the start of a whole name. */
const splitName = (text: string): [string, string | undefined] => {
  const [first = '', ...rest] = text.split(/\s+/);
  return [first, rest.length === 0 ? undefined : rest.join(' ')];
};

const conditionsOf = (filter: CustomerFilter): RawBuilder<unknown>[] => [
  ...within(sql`c.added`, filter.added),
  ...within(sql`c.first_order`, filter.firstOrder),
  ...within(sql`c.last_order`, filter.lastOrder),
  ...within(sql`c.devices_unregistered`, filter.devicesUnregistered),
  ...(filter.signedup === undefined
    ? []
    : [filter.signedup ? sql`c.signup_uid is not null` : sql`c.signup_uid is null`]),
  ...(filter.subrestaurantUid === undefined ? [] : [sql`c.subrestaurant_uid = ${filter.subrestaurantUid}`]),
  ...(filter.code === undefined ? [] : [sql`c.code = ${filter.code}`]),
  ...(filter.start === undefined ? [] : [startsWith(filter.start)]),
];

const matching = (restuid: string, filter: CustomerFilter): RawBuilder<unknown> =>
  sql.join([sql`c.restuid = ${restuid} and c.removed_at is null`, ...conditionsOf(filter)], sql` and `);

export const listCustomers = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: CustomerFilter,
  page: { after: CustomerKey | undefined; offset: number; limit: number },
): Promise<Customer[]> => {
  const after =
    page.after === undefined
      ? sql``
      : sql`and (c.added, c.uid) < (${page.after.added}::timestamptz, ${page.after.uid}::text collate "C")`;
  const { rows } = await sql<Customer>`
    select ${customerColumns} from ${customerTables} where ${matching(restuid, filter)} ${after}
    order by c.added desc, c.uid desc limit ${page.limit} offset ${page.offset}`.execute(db);
  return rows;
};

export const countCustomers = async (db: Kysely<unknown>, restuid: string, filter: CustomerFilter): Promise<number> => {
  if (conditionsOf(filter).length === 0) return readTally(db, restuid, 'customers');
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ordering.customers c where ${matching(restuid, filter)}`.execute(db);
  return rows[0]?.total ?? 0;
};

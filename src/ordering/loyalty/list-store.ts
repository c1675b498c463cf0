/** The list of ledger entries in PostgreSQL: its filters, and the index that each filter uses. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Key, type Listed, type ListQuery, readList, type Way } from '#src/platform/db/bounded-list.ts';
import { readTally } from '../lists/tally-store.ts';
import { shownColumns, shownTables } from './ledger-store.ts';
import type { EntryType, ShownEntry } from './loyalty-entry.ts';

export type EntryFilter = {
  clientUid?: string | undefined;
  clientEmail?: string | undefined;
  orderUid?: string | undefined;
  type?: EntryType | undefined;
  /** Inclusive. */
  createdFrom?: Date | undefined;
  /** Exclusive. */
  createdBefore?: Date | undefined;
};

type Condition = RawBuilder<unknown>;

const and = (conditions: readonly Condition[]): Condition => sql.join(conditions, sql` and `);

/** The index of each filter except dates. Every index that is sorted like the list can be bounded by dates. */
const waysOf = (
  restuid: string,
  filter: Omit<EntryFilter, 'clientEmail'> & { emailUid: string | undefined },
): { ways: Way[]; fits: Condition } => {
  const of = sql`e.restuid = ${restuid}`;
  const dates = [
    ...(filter.createdFrom === undefined ? [] : [sql`e.created >= ${filter.createdFrom}`]),
    ...(filter.createdBefore === undefined ? [] : [sql`e.created < ${filter.createdBefore}`]),
  ];
  const found: { condition: Condition; inSequence: boolean }[] = [];
  const add = (condition: Condition, inSequence = true): number => found.push({ condition, inSequence });
  if (filter.orderUid !== undefined) add(sql`e.order_uid = ${filter.orderUid}`, false);
  if (filter.clientUid !== undefined) add(sql`e.customer_uid = ${filter.clientUid}`);
  if (filter.emailUid !== undefined) add(sql`e.customer_uid = ${filter.emailUid}`);
  if (filter.type !== undefined) add(sql`e.type = ${filter.type}`);
  const isAlone = found.length === 1;
  const ways = found.map(({ condition, inSequence }) => ({
    ranges: [and([of, condition, ...(inSequence ? dates : [])])],
    inSequence,
    isWhole: isAlone && inSequence,
  }));
  const all: Way = { ranges: [and([of, ...dates])], inSequence: true, isWhole: found.length === 0 };
  return { ways: [...ways, all], fits: and([of, ...dates, ...found.map(({ condition }) => condition)]) };
};

const key = [
  { column: sql`e.created`, type: sql`timestamptz` },
  { column: sql`e.seq`, type: sql`integer` },
  { column: sql`e.uid`, type: sql`text collate "C"` },
];

/**
 * Newest first. At the same moment the higher seq of a customer comes first, then the higher uid. Throws
 * VALIDATION_ERROR for a page number beyond the ones that can be reached.
 */
export const listEntries = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: EntryFilter,
  query: ListQuery,
): Promise<Listed<ShownEntry>> => {
  // The customer is found first, so that PostgreSQL can plan for a customer with very many entries.
  const emailUid = filter.clientEmail === undefined ? undefined : await uidOf(db, restuid, filter.clientEmail);
  const named = { table: sql`ordering.loyalty_entries`, alias: 'e', columns: shownColumns, tables: shownTables };
  const source = { ...named, key, tenant: sql`e.restuid = ${restuid}`, ...waysOf(restuid, { ...filter, emailUid }) };
  const keyOf = ({ created, seq, uid }: ShownEntry): Key => [created.toISOString(), seq, uid];
  const isAll = Object.values(filter).every((value) => value === undefined);
  return readList(db, source, query, keyOf, isAll ? () => readTally(db, restuid, 'loyalty_entries') : undefined);
};

/** '' when no customer has this email. */
const uidOf = async (db: Kysely<unknown>, restuid: string, email: string): Promise<string> => {
  const { rows } = await sql<{ uid: string }>`
    select uid from ordering.customers where restuid = ${restuid} and lower(email) = lower(${email}::text)`.execute(db);
  return rows[0]?.uid ?? '';
};

/** The list of imports, plans and reverts in PostgreSQL: running ones first, then newest first. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Key, type Listed, type ListQuery, lookMax, readList } from '#src/platform/db/bounded-list.ts';
import { type ImportRecord, importColumns, visible } from './record-store.ts';

/** A running import writes progress more often than this, because its statements end after half a minute at most. */
const silentSecondsMax = 120;

const isLiving = sql`touched >= clock_timestamp() - make_interval(secs => ${silentSecondsMax})`;

const isRunning = sql`(state = 'running' and ${isLiving})`;

const shown = sql`case when state = 'running' and not ${isLiving} then 'failed' else state end as state`;

/**
 * `applied`: when it changed the menu, if it did. `hasPlan`: it is a plan whose elements no replace of another point of sale took
 * over.
 */
export type ListedImport = ImportRecord & { applied: Date; hasPlan: boolean };

const columns = sql`
  ${importColumns}, ${shown}, plan is not null as "hasPlan",
  case when plan_id is not null and state = 'applied' then touched else created end as applied`;

type Row = ListedImport & { isRunning: boolean };

/**
 * `clientId` null: imports of all clients. Throws VALIDATION_ERROR for a page number beyond the ones that can be
 * reached.
 */
export const listImports = (
  db: Kysely<unknown>,
  restuid: string,
  clientId: string | null,
  query: ListQuery,
): Promise<Listed<Row>> => {
  const table = sql`ordering.menu_imports`;
  const range = visible(restuid, clientId);
  const source = {
    table,
    alias: 'menu_imports',
    tables: table,
    tenant: sql`restuid = ${restuid}`,
    fits: sql`true`,
    columns: sql`${columns}, ${isRunning} as "isRunning"`,
    key: [
      { column: sql`${isRunning}::integer`, type: sql`integer` },
      { column: sql`created`, type: sql`timestamptz` },
      { column: sql`uid`, type: sql`text collate "C"` },
    ],
    ways: [
      {
        ranges: [range],
        inSequence: true,
        isWhole: true,
        candidates: (after: Key | undefined, limit: number) => runningFirst(range, after, limit),
      },
    ],
  };
  const keyOf = (row: Row): Key => [row.isRunning ? 1 : 0, row.created.toISOString(), row.uid];
  return readList<Row>(db, source, query, keyOf, async () => countImports(db, range));
};

/** One query per index. Only a few imports run at the same time. */
const runningFirst = (range: RawBuilder<unknown>, after: Key | undefined, limit: number): RawBuilder<unknown> => {
  const part = (isFirst: boolean): RawBuilder<unknown> => {
    const reached =
      after === undefined || after[0] !== (isFirst ? 1 : 0)
        ? sql`${after === undefined || !isFirst}::boolean`
        : sql`(created, uid) < (${after[1]}::timestamptz, ${after[2]}::text collate "C")`;
    return sql`
      (select ${isFirst ? 1 : 0}::integer as k0, created as k1, uid as k2, true as fits from ordering.menu_imports
       where ${range} and ${isFirst ? sql`state = 'running' and ${isLiving}` : sql`not ${isRunning}`} and ${reached}
       order by created desc, uid desc limit ${limit})`;
  };
  return sql`select * from (${part(true)} union all ${part(false)}) as both_parts
    order by k0 desc, k1 desc, k2 desc limit ${limit}`;
};

const countImports = async (db: Kysely<unknown>, range: RawBuilder<unknown>): Promise<number | null> => {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (select from ordering.menu_imports where ${range} limit ${lookMax + 1}) as counted`.execute(
    db,
  );
  const total = rows[0]?.total ?? 0;
  return total > lookMax ? null : total;
};

export const findImportByUid = async (
  db: Kysely<unknown>,
  restuid: string,
  uid: string,
): Promise<ListedImport | undefined> => {
  const { rows } = await sql<ListedImport>`
    select ${columns} from ordering.menu_imports where restuid = ${restuid} and uid = ${uid}`.execute(db);
  return rows[0];
};

/** The import or revert that made this version of the menu. */
export const findImportOfVersion = async (
  db: Kysely<unknown>,
  restuid: string,
  version: number,
): Promise<ListedImport | undefined> => {
  const { rows } = await sql<ListedImport>`
    select ${columns} from ordering.menu_imports
    where restuid = ${restuid} and version = ${version} and version > base_version`.execute(db);
  return rows[0];
};

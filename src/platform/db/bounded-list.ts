/**
 * Lists whose cost does not grow with the table. Each filter has a way through the table: ranges of one index, in the order
 * of the list where possible. A single filter is read along its way; of several, one with few rows is read completely.
 * When every filter has many rows, one request looks at a bounded number of them and reports how far it got, so the next
 * cursor continues there even when no row was found. Totals are counted up to the same bound.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { validationFault } from '#src/contract/fault.ts';

/** The bound on rows that one request looks at, where no index leads to exactly the rows that fit. */
export const lookMax = 1_000;

/** How many items a page number can reach. */
export const pagedMax = 10_000;

/**
 * Stored bytes of documents after which a page ends, at least one item: each item is parsed, mapped and written by the
 * process that serves all other requests. They are compressed, so the answer has about eight times as many.
 */
export const documentsMax = 512 * 1024;

type Condition = RawBuilder<unknown>;

/** Values of the sort key of one row, in the order of its columns. */
export type Key = readonly (string | number)[];

export type Way = {
  /** Conditions that enter the index. Several ranges share no rows, unless `inSequence` is false. */
  ranges: readonly Condition[];
  /** The index returns the rows of each range in the order of the list. */
  inSequence: boolean;
  /** The order of the index of each range, where it differs from that of the list: the cheapest way to its first rows. */
  sorted?: readonly Condition[];
  /** A way with at most so many rows is read completely. Default: `lookMax`. */
  few?: number;
  /** Every row in the ranges fits the filter. */
  isWhole: boolean;
  /** Replaces `ranges`: the keys k0, k1, … and `fits` of at most `limit` rows after `after`, in the order of the list. */
  candidates?: (after: Key | undefined, limit: number) => Condition;
};

export type ListSource = {
  table: Condition;
  /** The alias of the table in every part below. */
  alias: string;
  /** Sort key; the last column is the uid. A value of a cursor is cast to `type`. */
  key: readonly { column: Condition; type: Condition }[];
  /** Default: descending. */
  isAscending?: boolean;
  /** Columns of a row and the tables that they are in, with the same alias. */
  columns: Condition;
  /**
   * With `weight`: the columns of an item, from a row of `columns` with the same alias, where they cost more than reading what
   * is stored. They are computed for the items of the page only. Default: all.
   */
  shown?: Condition;
  tables: Condition;
  /** Together with the uid it identifies one row. */
  tenant: Condition;
  /** The whole filter. */
  fits: Condition;
  /** Stored bytes of the documents of a row, where one row may have many. */
  weight?: Condition;
  /** Rows that one request looks through, where the filter reads more of each than an index has. Default: `lookMax`. */
  look?: number;
  ways: readonly Way[];
};

/** `total` undefined: it must be counted. */
export type ListQuery = {
  page: number;
  pagesize: number;
  offset: number;
  after: Key | undefined;
  total: number | null | undefined;
};

/** The first page, without a cursor. */
export const firstItems = (pagesize: number): ListQuery => ({
  page: 1,
  pagesize,
  offset: 0,
  after: undefined,
  total: null,
});

/** `last`: where the next page begins. `total` null: more than are counted. */
export type Listed<Row> = { rows: Row[]; more: boolean; last: Key | undefined; total: number | null };

/** VALIDATION_ERROR: a page number cannot reach the items of this page. */
const pageBeyond = (message: string) => validationFault([{ pointer: 'page', code: 'RANGE', message }]);

const tooFar = (): Error =>
  pageBeyond(`a list has pages for its first ${pagedMax} items; follow next_cursor from the first page`);

const pageTooLarge = () =>
  validationFault([
    {
      pointer: 'pagesize',
      code: 'RANGE',
      message:
        'so many of these items are too large for pages by number; send less, or follow next_cursor from the first page',
    },
  ]);

const and = (conditions: readonly Condition[]): Condition => sql.join(conditions, sql` and `);

const directionOf = ({ isAscending }: ListSource): Condition => (isAscending === true ? sql`asc` : sql`desc`);

const fromOf = ({ table, alias }: ListSource): Condition => sql`${table} as ${sql.ref(alias)}`;

const sequenceOf = (source: ListSource): Condition =>
  sql`order by ${sql.join(source.key.map(({ column }) => sql`${column} ${directionOf(source)}`))}`;

const names = ['k0', 'k1', 'k2', 'k3'] as const;

const namesOf = ({ key }: ListSource): Condition => sql.join(key.map((_, i) => sql.ref(names[i] ?? '')));

const namedSequence = (source: ListSource): Condition =>
  sql`order by ${sql.join(source.key.map((_, i) => sql`${sql.ref(names[i] ?? '')} ${directionOf(source)}`))}`;

const keyColumns = ({ key }: ListSource): Condition =>
  sql.join(key.map(({ column }, i) => sql`${column} as ${sql.ref(names[i] ?? '')}`));

const behind = ({ key, isAscending }: ListSource, after: Key | undefined): Condition[] =>
  after === undefined
    ? []
    : [
        sql`(${sql.join(key.map(({ column }) => column))}) ${isAscending === true ? sql`>` : sql`<`} (${sql.join(
          key.map(({ type }, i) => sql`${after[i]}::${type}`),
        )})`,
      ];

/** Keys along a way, in the order of the list, with `fits`. */
const along = (source: ListSource, way: Way, query: ListQuery, limit: number): Condition => {
  if (way.candidates !== undefined) return way.candidates(query.after, limit);
  const fits = way.isWhole ? sql`true` : source.fits;
  const reached = behind(source, query.after);
  const select = (from: Condition, conditions: readonly Condition[]): Condition => sql`
    select ${keyColumns(source)}, (${fits}) as fits from ${from}
    where ${and([sql`true`, ...conditions])} ${sequenceOf(source)} limit ${limit}`;
  if (!way.inSequence) {
    // A separate step: it finds the few rows first and sorts them afterwards.
    const few = sql`select * from ${fromOf(source)} where (${sql.join(
      way.ranges.map((range) => sql`(${range})`),
      sql` or `,
    )}) offset 0`;
    return select(sql`(${few}) as ${sql.ref(source.alias)}`, reached);
  }
  const parts = way.ranges.map((range) => select(fromOf(source), [range, ...reached]));
  const [first = sql`select`, ...others] = parts;
  if (others.length === 0) return first;
  const all = sql.join(
    parts.map((part) => sql`(${part})`),
    sql` union all `,
  );
  return sql`select * from (${all}) as merged ${namedSequence(source)} limit ${limit}`;
};

const fewOf = ({ few = lookMax }: Way): number => few;

/** Rows of each way after the cursor, counted up to one more than `few`. */
const probe = async (
  db: Kysely<unknown>,
  source: ListSource,
  ways: readonly Way[],
  query: ListQuery,
): Promise<number[]> => {
  const counts = ways.map((way) => {
    const limit = fewOf(way) + 1;
    // An index with another sequence cannot start after the cursor.
    const reached = way.inSequence ? behind(source, query.after) : [];
    const ranges = way.ranges.map((range, i) => {
      const sequence = way.inSequence ? sequenceOf(source) : (way.sorted?.[i] ?? sql``);
      return sql`(select from ${fromOf(source)} where ${and([range, ...reached])} ${sequence} limit ${limit})`;
    });
    return sql`(select count(*)::int from (select from (${sql.join(ranges, sql` union all `)}) as ranges limit ${limit}) as counted)`;
  });
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}] as counts`.execute(db);
  return rows[0]?.counts ?? [];
};

const readRows = <Row>(db: Kysely<unknown>, source: ListSource, uids: Condition): Promise<Read<Row>> => {
  const uid = source.key.at(-1)?.column ?? sql`null`;
  return readWeighed(db, source, sql`where ${source.tenant} and ${uid} = any(${uids}) ${sequenceOf(source)}`);
};

/** The rows of `part` until the page is full of documents, at least one. The documents of the others stay unread. */
const readWeighed = async <Row>(db: Kysely<unknown>, source: ListSource, part: Condition): Promise<Read<Row>> => {
  const { columns, tables, weight, alias } = source;
  if (weight === undefined) {
    const { rows } = await sql<Row>`select ${columns} from ${tables} ${part}`.execute(db);
    return { rows, found: rows.length };
  }
  const { rows } = await sql<Row & { found: number }>`
    select ${source.shown === undefined ? sql`*` : sql`${source.shown}, found`} from (
      select *, sum(weight) over (${namedSequence(source)} rows unbounded preceding) - weight as lighter,
        count(weight) over () as found
      from (select ${columns}, ${weight} as weight, ${keyColumns(source)} from ${tables} ${part}) as listed
    ) as ${sql.ref(alias)} where lighter < ${documentsMax} ${namedSequence(source)}`.execute(db);
  return { rows: rows.map((row) => withoutAids(row) as Row), found: rows[0]?.found ?? 0 };
};

const aids: ReadonlySet<string> = new Set(['weight', 'lighter', 'found', ...names]);

const withoutAids = (row: object): object =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !aids.has(name)));

/** Throws VALIDATION_ERROR for a page that a number cannot reach. `keyOf`: the sort key of a row. */
export const readList = async <Row>(
  db: Kysely<unknown>,
  source: ListSource,
  query: ListQuery,
  keyOf: (row: Row) => Key,
  knownTotal?: () => Promise<number | null>,
): Promise<Listed<Row>> => {
  const { ways } = source;
  if (ways.some(({ ranges }) => ranges.length === 0)) return { rows: [], more: false, last: undefined, total: 0 };
  const whole = ways.find(({ isWhole, inSequence }) => isWhole && inSequence);
  if (whole === undefined) return lookThrough(db, source, query, keyOf);
  const read = await readAlong<Row>(db, source, whole, query);
  const { rows } = read;
  const isFirstOfAll = query.after === undefined && query.offset === 0 && read.found <= query.pagesize;
  const total =
    query.total !== undefined
      ? query.total
      : knownTotal !== undefined
        ? await knownTotal()
        : isFirstOfAll
          ? read.found
          : bounded((await probe(db, source, [whole], query))[0]);
  const shown = rows.slice(0, query.pagesize);
  return { rows: shown, more: read.found > shown.length, last: lastKey(shown, keyOf), total };
};

const bounded = (count = 0): number | null => (count > lookMax ? null : count);

const lastKey = <Row>(rows: readonly Row[], keyOf: (row: Row) => Key): Key | undefined => {
  const last = rows.at(-1);
  return last === undefined ? undefined : keyOf(last);
};

/** `found`: rows before those were left out whose documents are too large for the page. */
type Read<Row> = { rows: Row[]; found: number };

/** Returns one row more than the page has, when there is one. */
const readAlong = async <Row>(
  db: Kysely<unknown>,
  source: ListSource,
  way: Way,
  query: ListQuery,
): Promise<Read<Row>> => {
  const [range, ...others] = way.ranges;
  const limit = query.pagesize + 1;
  if (range !== undefined && others.length === 0 && query.offset === 0 && way.candidates === undefined) {
    return readWeighed<Row>(
      db,
      source,
      sql`where ${and([range, ...behind(source, query.after)])} ${sequenceOf(source)} limit ${limit}`,
    );
  }
  // Only keys are read on the way to a later page.
  const offset = Math.min(query.offset, pagedMax);
  const uid = sql.ref(names[source.key.length - 1] ?? '');
  const keys = sql`select ${uid} from (${along(source, way, query, offset + limit)}) as keys
    ${namedSequence(source)} offset ${offset} limit ${limit}`;
  const read = await readRows<Row>(db, source, sql`array(${keys})`);
  if (offset < query.offset && read.found > 0) throw tooFar();
  if (query.offset > 0 && source.weight !== undefined) {
    const first = sql`select ${uid} from (${along(source, way, query, query.pagesize)}) as keys
      ${namedSequence(source)} limit ${query.pagesize}`;
    await refuseCutPages(db, source, { ...read, pagesize: query.pagesize }, sql`array(${first})`);
  }
  return read;
};

/**
 * A page by number begins where the page before it would end if it had all of its items. So it is refused where a page
 * was cut: this one, or the first, which is the only one that is ever answered in part.
 */
const refuseCutPages = async (
  db: Kysely<unknown>,
  source: ListSource,
  { rows, found, pagesize }: Read<unknown> & { pagesize: number },
  first: Condition,
): Promise<void> => {
  if (rows.length < Math.min(found, pagesize)) throw pageTooLarge();
  const before = await readRows(db, { ...source, columns: sql`null`, shown: sql`null` }, first);
  if (before.rows.length < before.found) throw pageTooLarge();
};

/** The way with the fewest rows, if they are few. */
const fewestOf = async (db: Kysely<unknown>, source: ListSource, query: ListQuery): Promise<Way | undefined> => {
  const { ways } = source;
  // With one way there is nothing to choose.
  if (ways.length === 1) return undefined;
  const counts = await probe(db, source, ways, query);
  const few = ways.map((way, i) => ({ way, count: counts[i] ?? 0 })).filter(({ way, count }) => count <= fewOf(way));
  return few.toSorted((a, b) => a.count - b.count)[0]?.way;
};

type Looked = { looked: number; fitting: number; early: number; edge: unknown[]; found: unknown[][] };

/** Several filters, or one filter whose index has another sequence. */
const lookThrough = async <Row>(
  db: Kysely<unknown>,
  source: ListSource,
  query: ListQuery,
  keyOf: (row: Row) => Key,
): Promise<Listed<Row>> => {
  const few = await fewestOf(db, source, query);
  const isFew = few !== undefined;
  const way = few ?? source.ways.find(({ inSequence }) => inSequence);
  if (way === undefined) throw new Error('a list needs one way in its own sequence');
  // A page number must find the same rows again as the pages before it.
  const isPaged = query.offset > 0;
  const least = source.look ?? lookMax;
  const bound = isPaged || isFew ? pagedMax : least;
  const { looked, fitting, early, edge, found } = await look(db, source, way, { ...query, bound, least });
  const isCut = looked >= bound;
  if (isPaged && isCut && (early < query.pagesize || found.length === 0))
    throw pageBeyond(
      'with these filters a page by number does not reach so far; follow next_cursor from the first page',
    );
  const uidsOf = (keys: readonly (readonly unknown[])[]): string[] =>
    keys.slice(0, query.pagesize).map((key) => String(key.at(-1)));
  const none = { rows: [], found: 0 };
  const read = found.length === 0 ? none : await readRows<Row>(db, source, sql`${uidsOf(found)}::text[]`);
  const { rows } = read;
  if (isPaged && source.weight !== undefined) {
    const first = await look(db, source, way, { ...query, offset: 0, bound: least, least });
    await refuseCutPages(db, source, { ...read, pagesize: query.pagesize }, sql`${uidsOf(first.found)}::text[]`);
  }
  const total = query.total === undefined ? (isCut ? null : fitting) : query.total;
  if (rows.length < read.found) return { rows, more: true, last: lastKey(rows, keyOf), total };
  const isFull = found.length > query.pagesize;
  const last = isFull ? (found[query.pagesize - 1] ?? edge) : edge;
  return { rows, more: isFull || isCut, last: edgeOf(last), total };
};

const edgeOf = (values: readonly unknown[]): Key =>
  values.map((value) => (value instanceof Date ? value.toISOString() : (value as string | number)));

const look = async (
  db: Kysely<unknown>,
  source: ListSource,
  way: Way,
  query: ListQuery & { bound: number; least: number },
): Promise<Looked> => {
  const keys = namesOf(source);
  const { rows } = await sql<Record<string, unknown> & Omit<Looked, 'edge' | 'found'>>`
    with walked as materialized (
      select ${keys}, fits, row_number() over (${namedSequence(source)}) as place
      from (${along(source, way, query, query.bound)}) as candidates
    ),
    sums as (
      select count(*) as looked, count(*) filter (where fits) as fitting,
        count(*) filter (where fits and place <= ${query.least}) as early from walked
    ),
    found as (
      select ${keys}, place from walked where fits order by place offset ${query.offset} limit ${query.pagesize + 1}
    )
    select sums.*, true as "isEdge", ${keys}, place from sums left join (
      select * from walked order by place desc limit 1) as edge on true
    union all
    select sums.*, false, ${keys}, place from sums cross join found
    order by "isEdge" desc, place`.execute(db);
  const [first, ...found] = rows;
  const valuesOf = (row: Record<string, unknown> | undefined): unknown[] =>
    source.key.map((_, i) => row?.[names[i] ?? '']);
  return {
    looked: first?.looked ?? 0,
    fitting: first?.fitting ?? 0,
    early: first?.early ?? 0,
    edge: valuesOf(first),
    found: found.map(valuesOf),
  };
};

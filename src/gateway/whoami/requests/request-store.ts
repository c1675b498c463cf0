/** SQL of the requests of callers. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { timesOf } from '../../audit/event/request-id-times.ts';
import type { RequestEntry } from './request-entry.ts';
import type { statusClasses } from './status-class.ts';

type Db = Kysely<unknown>;
type Condition = RawBuilder<unknown>;

/** One statement. An entry that was written before is left as it is, so that a batch may be repeated. */
export const insertRequests = async (db: Db, entries: readonly RequestEntry[]): Promise<void> => {
  const column = <T>(read: (entry: RequestEntry) => T): T[] => entries.map(read);
  await sql`
    insert into gateway.requests (caller, at, number, request_id, id_indexed, method, route, status, code, duration_ms,
      tenant, idempotency_key)
    select * from unnest(${column(({ caller }) => caller)}::text[], ${column(({ at }) => at)}::timestamptz[],
      ${column(({ number }) => number)}::integer[], ${column(({ requestId }) => requestId)}::text[],
      ${column(({ idIndexed }) => idIndexed)}::boolean[], ${column(({ method }) => method)}::text[],
      ${column(({ route }) => route)}::text[], ${column(({ status }) => status)}::smallint[],
      ${column(({ code }) => code)}::text[], ${column(({ durationMs }) => durationMs)}::integer[],
      ${column(({ tenant }) => tenant)}::text[], ${column(({ idempotencyKey }) => idempotencyKey)}::text[])
    on conflict do nothing`.execute(db);
};

/** Milliseconds and number of the last entry of a page. */
export type RequestKey = readonly [atMs: number, number: number];

export type RequestFilter = {
  status?: (typeof statusClasses)[number] | undefined;
  route?: string | undefined;
  code?: string | undefined;
  requestId?: string | undefined;
  tenant?: string | undefined;
  /** From this moment on, and before this one. */
  since?: Date | undefined;
  until?: Date | undefined;
};

export type FoundRequest = Omit<RequestEntry, 'idIndexed' | 'number'>;

export type FoundRequests = { requests: FoundRequest[]; more: boolean; last: RequestKey | undefined };

/** Where filters pass few of many requests, one page looks at so many, and the next one goes on from there. */
const lookMax = 1_000;

type Asked = {
  callers: readonly string[];
  /** The end of the retention. */
  keptSince: Date;
  filter: RequestFilter;
  after: RequestKey | undefined;
};

/** Newest first. Each caller is read along an index, so the cost does not grow with what is stored. */
export const findRequests = async (db: Db, asked: Asked, limit: number): Promise<FoundRequests> => {
  const { callers, keptSince, filter, after } = asked;
  const since = filter.since !== undefined && filter.since > keptSince ? filter.since : keptSince;
  const reached = [
    sql`caller = asked.id`,
    sql`at >= ${since}`,
    ...(filter.until === undefined ? [] : [sql`at < ${filter.until}`]),
    ...(after === undefined ? [] : [sql`(at, number) < (${new Date(after[0])}, ${after[1]})`]),
  ];
  const fits = fitting(filter);
  const look = fits.length === 0 ? limit + 1 : Math.max(lookMax, limit + 1);
  const walks = waysOf(filter).map(
    (way) => sql`(select * from gateway.requests where ${and([...reached, ...way])}
      order by at desc, number desc limit ${look})`,
  );
  const { rows } = await sql<FoundRequest & { number: number; looked: number; isEdge: boolean }>`
    with walked as materialized (
      select found.*, ${and([sql`true`, ...fits])} as fits
      from unnest(${[...callers]}::text[]) as asked (id)
      cross join lateral (${sql.join(walks, sql` union all `)}) as found
      order by at desc, number desc limit ${look}
    ),
    edge as (select * from walked order by at, number limit 1),
    page as (select * from walked where fits order by at desc, number desc limit ${limit + 1})
    select caller, at, number, request_id as "requestId", method, route, status, code, duration_ms as "durationMs", tenant,
      idempotency_key as "idempotencyKey", (select count(*)::int from walked) as looked, shown.is_edge as "isEdge"
    from (select *, false as is_edge from page union all select *, true from edge) as shown
    order by is_edge, at desc, number desc`.execute(db);
  const found = rows.filter(({ isEdge }) => !isEdge);
  const edge = rows.find(({ isEdge }) => isEdge);
  const isFull = found.length > limit;
  const last = isFull ? found[limit - 1] : edge;
  const more = isFull || (edge !== undefined && edge.looked >= look);
  const requests = found.slice(0, limit).map(({ number, looked, isEdge, ...request }) => request);
  return { requests, more, last: last === undefined ? undefined : [last.at.getTime(), last.number] };
};

const and = (conditions: readonly Condition[]): Condition => sql.join(conditions, sql` and `);

/** An id that tells its time is found by the time, any other one by its index. Without an id there is one way. */
const waysOf = ({ requestId }: RequestFilter): Condition[][] => {
  if (requestId === undefined) return [[]];
  const indexed = [sql`id_indexed`, sql`request_id = ${requestId}`];
  const times = timesOf(requestId);
  if (times === undefined) return [indexed];
  const { from, to } = times;
  const timed = [sql`not id_indexed`, sql`request_id = ${requestId}`, sql`at >= ${from}`, sql`at <= ${to}`];
  return [indexed, timed];
};

const fitting = ({ status, route, code, tenant }: RequestFilter): Condition[] => [
  ...(status === undefined ? [] : [inClass(status)]),
  ...(route === undefined ? [] : [sql`route is not distinct from ${route}`]),
  ...(code === undefined ? [] : [sql`code is not distinct from ${code}`]),
  ...(tenant === undefined ? [] : [sql`tenant is not distinct from ${tenant}`]),
];

const inClass = (status: (typeof statusClasses)[number]): Condition =>
  status === 'none' ? sql`status is null` : sql`coalesce(status / 100 = ${Number(status[0])}::int, false)`;

/** Rotations that are followed back. */
const rotationsMax = 20;

/** The id, and those of the keys that this key replaced, one after the other. */
export const listPredecessors = async (db: Db, id: string): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    with recursive line as (
      select key_id, successor_of, 1 as place from gateway.api_keys where key_id = ${id}
      union all
      select k.key_id, k.successor_of, place + 1 from gateway.api_keys k join line on k.key_id = line.successor_of
      where place < ${rotationsMax}
    )
    select key_id as id from line order by place`.execute(db);
  return rows.length === 0 ? [id] : rows.map((row) => row.id);
};

/**
 * SQL of access paths: a search reads a bounded number of events along the index of one of its filters, so its cost
 * does not depend on the number of events.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { changesProcess } from '../chain/chain.ts';
import { marksOf } from '../event/token-uses.ts';
import {
  addressesAsked,
  all,
  type EventFilter,
  isOfManyTokens,
  keyAsked,
  manyTokens,
  networkAsked,
  otherConditions,
} from './filter-store.ts';

type Condition = RawBuilder<unknown>;

/** Position from which a search continues. `use`: index of the token shown last, for an event of several tokens. */
export type Place = { at: Date; chain: number; seq: number; use?: number };

type Part = {
  /** SQL after `from`, with these bounds. */
  rows: (bounds: Condition, limit: number) => Condition;
  /** Sequence in which the index returns the rows. Undefined: all rows are read and sorted. */
  sequence?: Condition;
};

/**
 * `covers`: members of the filter that every event of the parts matches. No event is in two parts. `fewOnly`: unless
 * the path covers the whole filter, it is used only when it has few events. `sorting`: of the events that it returns.
 */
export type AccessPath = {
  parts: readonly Part[];
  covers: ReadonlySet<string>;
  fewOnly?: boolean;
  sorting: 'time' | 'position';
};

/**
 * Both mean the newest first. Events of one chain may have times that differ from their positions by the wait for its
 * lock, so a search that reads along the positions returns and continues by the positions.
 */
export const sortings = {
  time: sql`order by at desc, chain desc, seq desc`,
  position: sql`order by chain desc, seq desc`,
} as const;

/** Columns whose index does not contain the time. */
const listColumns = ['tenants', 'request_ids', 'use_keys'] as const;
export type ListColumn = (typeof listColumns)[number];

/** Largest number of index ranges that one statement merges. */
const rangesMax = 4;

const inSequence = (condition: Condition, sequence: Condition): Part => ({
  rows: (bounds) => sql`gateway.audit_events where ${condition} and ${bounds}`,
  sequence,
});

/**
 * `between` one value: only this index has the resulting sequence, so the planner cannot use the time index instead.
 */
const alongValue = (column: string, value: string, more: Condition = sql`true`): Part =>
  inSequence(sql`${sql.ref(column)} between ${value} and ${value} and ${more}`, sql`${sql.ref(column)} desc, at desc`);

const alongTime = (condition: Condition): Part => inSequence(condition, sql`at desc`);

const unsorted = (condition: Condition): Part => ({
  rows: (bounds) => sql`(select * from gateway.audit_events where ${condition} and ${bounds} offset 0) few where true`,
});

/** `isRare`: few events have the wanted value in that column. The last path contains every event. */
export const accessPathsOf = (filter: EventFilter, isRare: (column: ListColumn) => boolean): AccessPath[] => {
  const paths: AccessPath[] = [];
  const add = (covers: readonly string[], ...parts: Part[]) =>
    paths.push({ parts, covers: new Set(covers), sorting: 'time' });
  if (filter.actor !== undefined) return [{ parts: [changes], covers: new Set(), sorting: 'position' }];
  const { client, credential, tenant, requestId, action, route, address, outcome } = filter;
  const hasMany = isOfManyTokens(filter);
  if (!hasMany || isRare('use_keys')) paths.push(...tokenPaths(filter, hasMany));
  if (credential !== undefined && action === 'token.issued') {
    add(['credential', 'action'], alongValue('credential_id', credential, sql`action = 'token.issued'`));
  } else if (credential !== undefined) add(['credential'], alongValue('credential_id', credential));
  if (client !== undefined) add(['client'], alongValue('client_id', client));
  if (tenant !== undefined && isRare('tenants')) add(['tenant'], unsorted(all(otherConditions({ tenant }))));
  if (requestId !== undefined && isRare('request_ids')) {
    add(['requestId'], unsorted(all(otherConditions({ requestId }))));
  }
  if (action !== undefined && action !== 'request.allowed') {
    add(['action'], alongValue('action', action, sql`action <> 'request.allowed'`));
  }
  if (route !== undefined) add(['route'], alongValue('route_id', route));
  // No index has the addresses of a network beside each other.
  if (address !== undefined && networkAsked(address) === undefined)
    add(['address'], ...addressesAsked(address).map((value) => alongValue('address', value)));
  if (outcome === 'failure') add(['outcome'], alongTime(sql`outcome = 'failure'`));
  add([], alongTime(sql`true`));
  return paths;
};

/** Every event with an actor is a change, and there are few of them beside the requests. */
const changes: Part = {
  rows: (bounds, limit) => sql`(
    select each.* from (select chain from gateway.audit_chains where process = ${changesProcess}) as kept
    cross join lateral (
      select * from gateway.audit_events where audit_events.chain between kept.chain and kept.chain and ${bounds}
      order by audit_events.chain desc, seq desc limit ${limit}) as each) few where true`,
};

const tokenPaths = (filter: EventFilter, hasMany: boolean): AccessPath[] => {
  const { fingerprint, tokenId } = filter;
  const many: Part[] = hasMany ? [{ rows: (bounds) => manyTokens(filter, bounds) ?? sql`` }] : [];
  if (tokenId !== undefined) {
    return [{ parts: [alongValue('token_id', tokenId), ...many], covers: new Set(['tokenId']), sorting: 'time' }];
  }
  if (fingerprint === undefined) return [];
  const values = typeof fingerprint === 'string' ? [fingerprint] : [...new Set(fingerprint)];
  const isFailure = filter.outcome === 'failure';
  const more = isFailure ? sql`outcome = 'failure'` : sql`true`;
  const covers = new Set(isFailure ? ['fingerprint', 'outcome'] : ['fingerprint']);
  if (values.length <= rangesMax) {
    return [
      { parts: [...values.map((value) => alongValue('fingerprint', value, more)), ...many], covers, sorting: 'time' },
    ];
  }
  return [{ parts: [ofEach(values, more), ...many], covers, fewOnly: true, sorting: 'time' }];
};

/** Looks up each value, and reads at most `limit` events of it. */
const ofEach = (values: readonly string[], more: Condition): Part => ({
  rows: (bounds, limit) => sql`(
    select each.* from unnest(${[...values]}::text[]) as asked (value) cross join lateral (
      select * from gateway.audit_events
      where fingerprint between asked.value and asked.value and ${more} and ${bounds}
      order by fingerprint desc, at desc limit ${limit}) as each) few where true`,
});

export const coversFilter = ({ covers }: AccessPath, filter: EventFilter): boolean =>
  Object.entries(filter).every(
    ([name, value]) => value === undefined || name === 'since' || name === 'until' || covers.has(name),
  );

const boundsOf = (
  { since, until }: EventFilter,
  before: Place | undefined,
  sorting: AccessPath['sorting'],
): Condition => {
  const bounds: Condition[] = [];
  if (since !== undefined) bounds.push(sql`at >= ${since}`);
  if (until !== undefined) bounds.push(sql`at < ${until}`);
  if (before !== undefined && sorting === 'position') {
    bounds.push(sql`(chain, seq) < (${before.chain}::integer, ${before.seq}::bigint)`);
  } else if (before !== undefined) {
    const { at, chain, seq, use } = before;
    const end = sql`(${at}::timestamptz, ${chain}::integer, ${seq}::bigint)`;
    // The separate condition on the time excludes newer partitions.
    bounds.push(sql`at <= ${at}`, sql`(at, chain, seq) ${use === undefined ? sql`<` : sql`<=`} ${end}`);
  }
  return all(bounds);
};

type Walk = { filter: EventFilter; before: Place | undefined; limit: number };

/** A select of the newest events along a path. */
export const along = ({ parts, sorting }: AccessPath, { filter, before, limit }: Walk): Condition => {
  const bounds = boundsOf(filter, before, sorting);
  const selects = parts.map(({ rows, sequence }) => {
    const sorted = sequence === undefined ? sortings[sorting] : sql`order by ${sequence}, chain desc, seq desc`;
    return sql`(select * from ${rows(bounds, limit)} ${sorted} limit ${limit})`;
  });
  return sql`select * from (${sql.join(selects, sql` union all `)}) ways ${sortings[sorting]} limit ${limit}`;
};

export type Reach = { events: number; oldest: Date | null };

/** Number of events of each path, up to `walk.limit`, and the time to which they reach back. */
export const probePaths = async (db: Kysely<unknown>, paths: readonly AccessPath[], walk: Walk): Promise<Reach[]> => {
  const probes = paths.map(({ parts, sorting }, path) => {
    const bounds = boundsOf(walk.filter, walk.before, sorting);
    const selects = parts.map(({ rows, sequence }) => {
      const sorted = sequence === undefined ? sql`` : sql`order by ${sequence}`;
      return sql`(select at from ${rows(bounds, walk.limit)} ${sorted} limit ${walk.limit})`;
    });
    return sql`select ${path}::int as way, count(*)::int as events, min(at) as oldest from (
      select at from (${sql.join(selects, sql` union all `)}) parts order by at desc limit ${walk.limit}) probed`;
  });
  const { rows } = await sql<Reach>`${sql.join(probes, sql` union all `)} order by way`.execute(db);
  return rows;
};

const keysMax = 20;

/**
 * Finds the columns in which few events have the wanted value, from the statistics of PostgreSQL. The indexes of these
 * columns do not contain the time, so all events of a value would be read. A value that the statistics do not list is
 * rarer than every listed one.
 */
export const findRare = async (
  db: Kysely<unknown>,
  filter: EventFilter,
  few: number,
): Promise<(column: ListColumn) => boolean> => {
  const { tenant, requestId } = filter;
  const asked: Condition[] = [];
  const ask = (column: ListColumn, values: Condition) => asked.push(sql`(${column}::name, (${values})::text[])`);
  if (tenant !== undefined) ask('tenants', sql`${[tenant]}`);
  if (requestId !== undefined) ask('request_ids', sql`${[requestId]}`);
  if (isOfManyTokens(filter) && (marksOf(filter)?.length ?? 0) <= keysMax) ask('use_keys', keyAsked(filter));
  if (asked.length === 0) return () => true;
  const { rows } = await sql<{ column: ListColumn }>`
    select asked."column" from (values ${sql.join(asked)}) as asked ("column", elements)
    join pg_stats stats on stats.schemaname = 'gateway' and stats.tablename like 'audit\\_events\\_%'
      and stats.attname = asked."column" and stats.most_common_elems is not null
    join pg_class partition on partition.relname = stats.tablename
      and partition.relnamespace = 'gateway'::regnamespace
    cross join lateral unnest(asked.elements) as wanted (element)
    group by asked."column"
    having sum(partition.reltuples * coalesce(stats.most_common_elem_freqs[
      array_position(stats.most_common_elems::text::text[], wanted.element)], 0)) > ${few}`.execute(db);
  const common = new Set(rows.map(({ column }) => column));
  return (column) => !common.has(column);
};

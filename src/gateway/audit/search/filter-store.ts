/** SQL conditions for a filter of events. */
import { type RawBuilder, sql } from 'kysely';
import { plainAddress } from '../../limits/address-list.ts';
import { networkOf } from '../../limits/source-address.ts';
import { timesOf } from '../event/request-id-times.ts';
import { keyLength, keysAsked, marksOf } from '../event/token-uses.ts';

export type EventFilter = {
  /** With several fingerprints, an event matches when it has one of them. */
  fingerprint?: string | readonly string[] | undefined;
  client?: string | undefined;
  credential?: string | undefined;
  tenant?: string | undefined;
  requestId?: string | undefined;
  tokenId?: string | undefined;
  action?: string | undefined;
  route?: string | undefined;
  /**
   * A whole IPv6 address also finds events that have its /64 network alone: those of release 1.0.0, and counted floods. A /64
   * network finds those of all its addresses.
   */
  address?: string | undefined;
  outcome?: 'success' | 'failure' | undefined;
  /** Changes by this actor. Of a user of the panel also the changes of the account, whose details contain its id. */
  actor?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

type Condition = RawBuilder<unknown>;

/** Joins conditions with `and`; without any, every event matches. */
export const all = (conditions: readonly Condition[], more?: Condition): Condition => {
  const both = more === undefined ? conditions : [...conditions, more];
  return both.length === 0 ? sql`true` : sql.join(both, sql` and `);
};

/** Conditions for events of a single caller. Events of many tokens are found by `manyTokens`. */
export const conditionsOf = (filter: EventFilter): Condition[] => {
  const conditions: Condition[] = [];
  if (typeof filter.fingerprint === 'string') conditions.push(sql`fingerprint = ${filter.fingerprint}`);
  else if (filter.fingerprint !== undefined) conditions.push(sql`fingerprint = any (${filter.fingerprint}::text[])`);
  if (filter.tokenId !== undefined) conditions.push(sql`token_id = ${filter.tokenId}`);
  conditions.push(...otherConditions(filter));
  return conditions;
};

/** Conditions for every member of the filter except tokens and fingerprints. */
export const otherConditions = (filter: EventFilter): Condition[] => {
  const conditions: Condition[] = [];
  if (filter.client !== undefined) conditions.push(sql`client_id = ${filter.client}`);
  if (filter.credential !== undefined) conditions.push(sql`credential_id = ${filter.credential}`);
  if (filter.tenant !== undefined) conditions.push(sql`tenants @> array[${filter.tenant}]::text[]`);
  if (filter.requestId !== undefined) conditions.push(holdsRequest(filter.requestId));
  if (filter.action !== undefined) conditions.push(sql`action = ${filter.action}`);
  // Repeated as a constant, because the planner uses the partial indexes only when it sees their condition.
  if (filter.action !== undefined && filter.action !== 'request.allowed') {
    conditions.push(sql`action <> 'request.allowed'`);
  }
  if (filter.action === 'token.issued') conditions.push(sql`action = 'token.issued'`);
  if (filter.route !== undefined) conditions.push(sql`route_id = ${filter.route}`);
  if (filter.address !== undefined) conditions.push(isFrom(filter.address));
  // Written as a constant, so that the partial index of failures can be used.
  if (filter.outcome === 'failure') conditions.push(sql`outcome = 'failure'`);
  if (filter.outcome === 'success') conditions.push(sql`outcome = 'success'`);
  if (filter.actor !== undefined) conditions.push(isBy(filter.actor));
  if (filter.since !== undefined) conditions.push(sql`at >= ${filter.since}`);
  if (filter.until !== undefined) conditions.push(sql`at < ${filter.until}`);
  return conditions;
};

/** The network that a search for `text` means; undefined for a single address. */
export const networkAsked = (text: string): string | undefined => {
  const [address = '', bits] = text.trim().split('/', 2);
  const network = bits === '64' ? networkOf(address) : undefined;
  return network?.endsWith('/64') === true ? network : undefined;
};

const isFrom = (text: string): Condition => {
  const network = networkAsked(text);
  return network === undefined
    ? sql`address = any (${addressesAsked(text)}::text[])`
    : sql`${networkText(sql`address`)} = ${network}`;
};

/**
 * `networkOf` of a stored address. A text that is no address, which a writer of the tables may have stored, stays as it is: a cast
 * would fail for all rows.
 */
export const networkText = (address: RawBuilder<unknown>): Condition => sql`case
  when ${address} like '%:%' and ${address} not like '%/%' and pg_input_is_valid(${address}, 'inet') then (
    select concat_ws(':', ${groupOf(1)}, ${groupOf(5)}, ${groupOf(9)}, ${groupOf(13)}) || '::/64'
    from encode(substring(inet_send(${address}::inet) from 5 for 8), 'hex') as digits)
  else ${address} end`;

const groupOf = (first: number): Condition => sql`to_hex(('x' || substr(digits, ${sql.lit(first)}, 4))::bit(16)::int)`;

/** The texts under which events of an address are stored. */
export const addressesAsked = (text: string): string[] => {
  const address = plainAddress(text.trim()) ?? text;
  return [...new Set([address, networkOf(address) ?? address])];
};

/** Details are compact JSON, so a member and its value are one text. */
const isBy = (actor: string): Condition => {
  const [, user] = /^panel:(.+)$/.exec(actor) ?? [];
  if (user === undefined) return sql`actor = ${actor}`;
  return sql`(actor = ${actor} or strpos(details, ${`"user_id":${JSON.stringify(user)}`}) > 0)`;
};

/** True when events of many tokens can match: the filter names a token or fingerprint, and only allowed requests. */
export const isOfManyTokens = (filter: EventFilter): boolean => {
  const { action = 'request.allowed', outcome = 'success' } = filter;
  if (marksOf(filter) === undefined || action !== 'request.allowed' || outcome !== 'success') return false;
  return keysAsked(filter)?.length !== 0;
};

/** SQL array of the index keys that the filter asks for. */
export const keyAsked = (filter: EventFilter): Condition => {
  const keys = keysAsked(filter);
  return keys === undefined ? sql`array[${keyOfToken(filter.tokenId)}]` : sql`${keys}::bigint[]`;
};

/**
 * SQL after `from` for events of many tokens that contain a token of the filter. Undefined when no such event can
 * match. `offset 0` keeps the planner from merging the subquery: it does not know how rare a token is, and would walk
 * the time index through all events.
 */
export const manyTokens = (filter: EventFilter, more?: Condition): Condition | undefined => {
  if (!isOfManyTokens(filter)) return undefined;
  const key = sql`use_keys ${keysAsked(filter) === undefined ? sql`@>` : sql`&&`} ${keyAsked(filter)}`;
  const conditions = [key, ...otherConditions(filter)];
  return sql`(select * from gateway.audit_events where ${all(conditions, more)} offset 0) many where ${marked(filter)}`;
};

/**
 * With more than `marksMax` tokens only the 48-bit keys are compared here; `expandEvent` compares whole fingerprints.
 */
const marked = (filter: EventFilter): Condition => {
  const marks = marksOf(filter) ?? [];
  if (marks.length > marksMax) return sql`true`;
  return sql`(${sql.join(
    marks.map((mark) => sql`strpos(uses, ${mark}) > 0`),
    sql` or `,
  )})`;
};

/** Condition for the whole filter, for events that were read along another index. */
export const fitsFilter = (filter: EventFilter): Condition => {
  const alone = all(conditionsOf(filter));
  if (!isOfManyTokens(filter)) return alone;
  const keys = keysAsked(filter);
  const key = keys === undefined ? sql`true` : sql`use_keys && ${keys}::bigint[]`;
  const many = all([sql`uses is not null`, key, marked(filter), ...otherConditions(filter)]);
  return sql`(${alone} or (${many}))`;
};

/** Each mark costs one search through the text of each event. */
const marksMax = 20;

/**
 * Index key of a token id; null when it was never used. gather-allowed.ts writes an event for each used token alone.
 */
const keyOfToken = (tokenId: string | undefined): Condition => sql`(
  select ('x' || lpad(left(fingerprint, ${keyLength}), 16, '0'))::bit(64)::bigint from gateway.audit_events
  where token_id = ${tokenId} and action = 'request.allowed' and fingerprint ~ '^[0-9a-f]{32}$' order by at desc limit 1)`;

/** Number of requests of an event that belong to the tokens of the filter. */
export const requestsOf = (filter: EventFilter): Condition => {
  const marks = marksOf(filter) ?? [];
  if (marks.length === 0) return sql`count`;
  const place = filter.fingerprint === undefined || filter.tokenId !== undefined ? 1 : 2;
  const counts = marks.map(
    (mark) =>
      sql`coalesce(nullif(split_part(split_part(split_part(uses, ${mark}, 2), ';', 1), ' ', ${place}), '')::int, 0)`,
  );
  return sql`case when uses is null then count else ${sql.join(counts, sql` + `)} end`;
};

/** Finds a request id by the time that it contains, or by the index of ids that contain none. */
const holdsRequest = (id: string): Condition => {
  const found = sql`request_ids @> array[${id}]::text[]`;
  const times = timesOf(id);
  if (times === undefined) return sql`(ids_indexed and ${found})`;
  return sql`((ids_indexed and ${found}) or (at between ${times.from} and ${times.to} and ${found}))`;
};

/** SQL of the use of many credentials at once, identified by their fingerprints. */
import { type Kysely, sql } from 'kysely';
import { detailsOf } from '../event/found-event.ts';
import { keysAsked } from '../event/token-uses.ts';
import { listedAddresses } from './addresses-store.ts';
import { conditionsOf, all as every } from './filter-store.ts';

type Db = Kysely<unknown>;

/**
 * Fingerprints of the newest `tokensMax` tokens that were issued for a credential, and the number of all its tokens.
 * Earlier versions did not write the fingerprint into the event of the issue; then the first event of the token's use
 * has it.
 */
export const listIssuedFingerprints = async (
  db: Db,
  credential: string,
  tokensMax: number,
): Promise<{ fingerprints: string[]; tokens: number }> => {
  const issued = every(conditionsOf({ credential, action: 'token.issued' }));
  const { rows } = await sql<{ tokenId: string | null; details: string; tokens: number }>`
    select token_id as "tokenId", details, (select count(*)::int from gateway.audit_events where ${issued}) as tokens
    from gateway.audit_events where ${issued} order by at desc limit ${tokensMax}`.execute(db);
  const fingerprints: string[] = [];
  const others: string[] = [];
  // A writer of the tables may have stored details that are no JSON, for which a statement would fail as a whole.
  for (const { tokenId, details } of rows) {
    const { token_fingerprint: written } = detailsOf(details);
    if (typeof written === 'string') fingerprints.push(written);
    else if (tokenId !== null) others.push(tokenId);
  }
  if (others.length > 0) fingerprints.push(...(await listFirstFingerprints(db, others)));
  return { fingerprints, tokens: rows[0]?.tokens ?? 0 };
};

const listFirstFingerprints = async (db: Db, tokenIds: readonly string[]): Promise<string[]> => {
  const { rows } = await sql<{ fingerprint: string | null }>`
    select (
      select e.fingerprint from gateway.audit_events e
      where e.token_id = i.token_id and e.action = 'request.allowed' and e.fingerprint is not null
      order by e.at limit 1) as fingerprint
    from unnest(${[...tokenIds]}::text[]) as i (token_id)`.execute(db);
  return rows.flatMap(({ fingerprint }) => (fingerprint === null ? [] : [fingerprint]));
};

export type SumOfUse = {
  allowed: number;
  refused: number;
  /** There are more events than were read. */
  partial: boolean;
  addresses: string[];
  /** There are more addresses than are listed. */
  moreAddresses: boolean;
  first: Date | null;
  last: Date | null;
};

const eventsMax = 50_000;

/** Sums up the allowed and refused requests with these credentials, from the newest events. */
export const sumUse = async (db: Db, fingerprints: readonly string[]): Promise<SumOfUse> => {
  const keys = keysAsked({ fingerprint: fingerprints }) ?? [];
  const { rows } = await sql<SumOfUse>`
    with alone as materialized (
      select at, action, count, address from gateway.audit_events
      where fingerprint = any (${[...fingerprints]}::text[]) and action in ('request.allowed', 'request.denied')
      order by at desc limit ${eventsMax}),
    many as materialized (
      select at, uses, address from (
        select at, uses, address from gateway.audit_events
        where use_keys && ${keys}::bigint[] and action = 'request.allowed' offset 0) held
      order by at desc limit ${eventsMax}),
    together as (
      select m.at, m.address, sum(split_part(u.use, ' ', 3)::int) as count
      from many m, string_to_table(ltrim(m.uses, ';'), ';') as u (use)
      where split_part(u.use, ' ', 1) = any (${[...fingerprints]}::text[])
      group by m.at, m.address),
    found as (
      select at, action, count, address from alone
      union all select at, 'request.allowed', count, address from together)
    select coalesce(sum(count) filter (where action = 'request.allowed'), 0)::int as allowed,
      coalesce(sum(count) filter (where action = 'request.denied'), 0)::int as refused,
      (select count(*) from alone) >= ${eventsMax} or (select count(*) from many) >= ${eventsMax} as partial,
      min(at) as first, max(at) as last,
      ${listedAddresses}
    from found`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('the sum over the audit returned no row');
  return row;
};

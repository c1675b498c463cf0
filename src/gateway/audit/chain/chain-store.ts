/** SQL of chain heads and of the events at the ends of chains. */
import { type Kysely, sql } from 'kysely';
import { changesProcess, type Head } from './chain.ts';
import { type ChainRow, chainColumns, type StoredEvent, storedColumns } from './event-store.ts';

type Db = Kysely<unknown>;

/** Locks the newest chain of changes to the end of the transaction. While it waits, a newer one may be opened. */
export const lockNewestChanges = async (tx: Db): Promise<ChainRow | undefined> => {
  const { rows } = await sql<ChainRow>`
    select ${chainColumns} from gateway.audit_chains
    where process = ${changesProcess} order by chain desc limit 1 for update`.execute(tx);
  return rows[0];
};

export const newestChanges = async (tx: Db): Promise<number | undefined> => {
  const { rows } = await sql<{ chain: number | null }>`
    select max(chain) as chain from gateway.audit_chains where process = ${changesProcess}`.execute(tx);
  return rows[0]?.chain ?? undefined;
};

/** The chains of changes below this number, the highest first. */
export const listChangesBelow = async (tx: Db, chain: number, limit: number): Promise<ChainRow[]> => {
  const { rows } = await sql<ChainRow>`
    select ${chainColumns} from gateway.audit_chains where process = ${changesProcess} and chain < ${chain}
    order by chain desc limit ${limit}`.execute(tx);
  return rows;
};

export const findChain = async (db: Db, chain: number): Promise<ChainRow | undefined> => {
  const { rows } = await sql<ChainRow>`
    select ${chainColumns} from gateway.audit_chains where chain = ${chain}`.execute(db);
  return rows[0];
};

export const findChains = async (db: Db, chains: readonly number[]): Promise<ChainRow[]> =>
  (
    await sql<ChainRow>`
      select ${chainColumns} from gateway.audit_chains where chain = any(${chains}::integer[])
      order by chain`.execute(db)
  ).rows;

/** The last two events, the later one first. */
export const listLastEvents = async (db: Db, chain: number): Promise<StoredEvent[]> => {
  const { rows } = await sql<StoredEvent>`
    select ${storedColumns} from gateway.audit_events where chain = ${chain} order by seq desc, at desc limit 2`.execute(
    db,
  );
  return rows;
};

/** The heads that were signed last, and every chain of changes. */
export const listRecentHeads = async (db: Db, limit: number): Promise<ChainRow[]> => {
  const { rows } = await sql<ChainRow>`
    (select ${chainColumns} from gateway.audit_chains order by signed desc, chain desc limit ${limit})
    union select ${chainColumns} from gateway.audit_chains where process = ${changesProcess}`.execute(db);
  return rows;
};

/** Returns false and changes nothing when the stored signature is not `before`. */
export const replaceHead = async (db: Db, head: Head, mac: Buffer, before: Buffer): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    update gateway.audit_chains set seq = ${head.seq}, hash = decode(${head.hash}, 'hex'), signed = ${head.signed},
      closed = ${head.closed}, seen = ${head.seen}, mac = ${mac}
    where chain = ${head.chain} and mac = ${before}`.execute(db);
  return numAffectedRows === 1n;
};

/** The hash at each of these positions, where exactly one event has that position. */
export const hashesAt = async (
  db: Db,
  places: readonly { chain: number; seq: number }[],
): Promise<Map<string, string>> => {
  if (places.length === 0) return new Map();
  const text = JSON.stringify(places.map(({ chain, seq }) => ({ chain, seq })));
  const { rows } = await sql<{ chain: number; seq: number; hash: string }>`
    select p.chain, p.seq, min(encode(e.hash, 'hex')) as hash
    from (select distinct chain, seq from json_to_recordset(${text}::json) as asked (chain integer, seq bigint)) p
      cross join lateral (select hash from gateway.audit_events where chain = p.chain and seq = p.seq limit 2) e
    group by p.chain, p.seq having count(*) = 1`.execute(db);
  return new Map(rows.map(({ chain, seq, hash }) => [placeKey(chain, seq), hash]));
};

export const placeKey = (chain: number, seq: number): string => `${chain}-${seq}`;

/** Chains that have events but no head, with their first event; at most `limit`. `after` undefined: from the lowest number. */
export const listHeadless = async (
  db: Db,
  after: number | undefined,
  limit: number,
): Promise<{ chain: number; seq: number }[]> => {
  const first = after === undefined ? sql`` : sql`where chain > ${after}`;
  const { rows } = await sql<{ chain: number; seq: number }>`
    with recursive numbered (chain) as (
      select (select min(chain) from gateway.audit_events ${first})
      union all
      select (select min(e.chain) from gateway.audit_events e where e.chain > n.chain) from numbered n
      where n.chain is not null
    )
    select n.chain, (select min(seq) from gateway.audit_events e where e.chain = n.chain) as seq
    from numbered n left join gateway.audit_chains c on c.chain = n.chain
    where n.chain is not null and c.chain is null order by n.chain limit ${limit}`.execute(db);
  return rows;
};

/** Number of the first event of a chain. The retention leaves no event before the signed beginning. */
export const firstSeq = async (db: Db, chain: number): Promise<number | undefined> => {
  const { rows } = await sql<{ seq: number | null }>`
    select min(seq) as seq from gateway.audit_events where chain = ${chain}`.execute(db);
  return rows[0]?.seq ?? undefined;
};

/** True when an event with this action and these details exists. */
export const hasEvent = async (db: Db, action: string, details: string): Promise<boolean> => {
  const { rows } = await sql`
    select 1 from gateway.audit_events where action = ${action} and action <> 'request.allowed'
      and details = ${details} limit 1`.execute(db);
  return rows.length > 0;
};

/**
 * Whether the gateway has anything whose creation is in the audit, by `before` when given. It is created in the transaction
 * of its event, so an audit without a chain is then an emptied one.
 */
export const hasAuditedRows = async (db: Db, before?: Date): Promise<boolean> => {
  const old = before === undefined ? sql`true` : sql`created < ${before}`;
  const { rows } = await sql<{ found: boolean }>`
    select exists (select 1 from gateway.tenants where ${old}) or exists (select 1 from gateway.clients where ${old})
      as found`.execute(db);
  return rows[0]?.found === true;
};

/** The first number from `from` on that no head and no event uses. */
export const freeNumber = async (tx: Db, from: number): Promise<number> => {
  const { rows } = await sql<{ chain: number }>`
    select n as chain from generate_series(${from}::integer, ${from}::integer + ${numbersTried}) n
    where not exists (select 1 from gateway.audit_chains where chain = n)
      and not exists (select 1 from gateway.audit_events where chain = n)
    order by n limit 1`.execute(tx);
  const [free] = rows;
  if (free === undefined) throw new Error('the audit has no free number for a chain');
  return free.chain;
};

const numbersTried = 100_000;

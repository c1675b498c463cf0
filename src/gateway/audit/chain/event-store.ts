/** SQL of the chains of the audit, their heads and their events. */
import { type Kysely, sql } from 'kysely';
import { named } from '#src/platform/db/driver/named.ts';
import type { ChainedEvent } from '../event/event.ts';
import { tellTheirTime } from '../event/request-id-times.ts';
import type { ChainEnd, Head } from './chain.ts';

type Db = Kysely<unknown>;

export type ChainRow = Head & {
  mac: Buffer;
  anchorSeq: number;
  anchorHash: string;
  anchorMac: Buffer;
};

/** A chain and the number of its last signed event. */
export type ChainPosition = Pick<ChainRow, 'chain' | 'seq'>;

export const chainColumns = sql`chain, process, opened, seq, encode(hash, 'hex') as hash, signed, closed, seen, mac,
  anchor_seq as "anchorSeq", encode(anchor_hash, 'hex') as "anchorHash", anchor_mac as "anchorMac"`;

/** Serialises the opening of chains, so that their numbers have no gap. */
export const lockChains = async (tx: Db): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtext('gateway.audit_chains'))`.execute(tx);
};

export const insertChain = async (tx: Db, row: ChainRow): Promise<void> => {
  await sql`
    insert into gateway.audit_chains
      (chain, process, opened, seq, hash, signed, closed, seen, mac, anchor_seq, anchor_hash, anchor_mac)
    values (${row.chain}, ${row.process}, ${row.opened}, ${row.seq}, decode(${row.hash}, 'hex'), ${row.signed},
      ${row.closed}, ${row.seen}, ${row.mac}, ${row.anchorSeq}, decode(${row.anchorHash}, 'hex'), ${row.anchorMac})`.execute(
    tx,
  );
};

/** Undefined when there is no such chain. Locked to the end of the transaction. */
export const lockChain = async (tx: Db, chain: number): Promise<ChainRow | undefined> => {
  const { rows } = await sql<ChainRow>`
    select ${chainColumns} from gateway.audit_chains where chain = ${chain} for update`.execute(tx);
  return rows[0];
};

/** `after` undefined: from the lowest number, which only a forged chain has below 0. */
export const listChains = async (db: Db, after: number | undefined, limit: number): Promise<ChainRow[]> => {
  const { rows } = await sql<ChainRow>`
    select ${chainColumns} from gateway.audit_chains where ${after === undefined ? sql`true` : sql`chain > ${after}`}
    order by chain limit ${limit}`.execute(db);
  return rows;
};

/** The heads with numbers below this one, the highest first. */
export const listChainsBelow = async (db: Db, chain: number, limit: number): Promise<ChainRow[]> => {
  const { rows } = await sql<ChainRow>`
    select ${chainColumns} from gateway.audit_chains where chain < ${chain}::bigint
    order by chain desc limit ${limit}`.execute(db);
  return rows;
};

/**
 * What tells that a head was written since it was read last, without its contents. The server numbers each write of a row in
 * `xmin`, which no writer of the table can choose; after a restore of older files the signature differs too.
 */
export type HeadVersion = { chain: number; version: string };

/** `after` as in `listChains`. */
export const listHeadVersions = async (db: Db, after: number | undefined, limit: number): Promise<HeadVersion[]> => {
  const { rows } = await sql<HeadVersion>`
    select chain, concat_ws(' ', xmin, encode(mac, 'hex')) as version from gateway.audit_chains
    where ${after === undefined ? sql`true` : sql`chain > ${after}`} order by chain limit ${limit}`.execute(db);
  return rows;
};

export type SignedAnchor = ChainEnd & { chain: number; mac: Buffer };

/** One statement for all: the retention writes them while nothing else can use the table of the events. */
export const updateAnchors = async (tx: Db, anchors: readonly SignedAnchor[]): Promise<void> => {
  const rows = anchors.map(({ mac, ...anchor }) => ({ ...anchor, mac: mac.toString('hex') }));
  await sql`
    update gateway.audit_chains c set anchor_seq = a.seq, anchor_hash = decode(a.hash, 'hex'),
      anchor_mac = decode(a.mac, 'hex')
    from json_to_recordset(${JSON.stringify(rows)}::json) as a (chain integer, seq bigint, hash text, mac text)
    where c.chain = a.chain`.execute(tx);
};

export const ensurePartition = async (db: Db, moment: Date): Promise<void> => {
  await sql`select gateway.audit_partition(${moment})`.execute(db);
};

/** `ids_indexed` may be given when it is known already. */
type InsertedEvent = ChainedEvent & { ids_indexed?: boolean };

/** Request ids contain no blank, and PostgreSQL parses one text faster than a list. */
const toRows = (events: readonly InsertedEvent[]): string =>
  JSON.stringify(
    events.map(({ request_ids, ...event }) => ({
      ...event,
      ids: request_ids.join(' '),
      ids_indexed: event.ids_indexed ?? !tellTheirTime(request_ids, event.at),
    })),
  );

const written = sql`
  insert into gateway.audit_events
    (chain, seq, at, action, outcome, reason, count, request_ids, ids_indexed, fingerprint, kind, credential_id, token_id,
     client_id, tenants, route_id, scopes, address, actor, details, uses, use_keys, hash)
  select chain, seq, at, action, outcome, reason, count, string_to_array(ids, ' '), ids_indexed, fingerprint, kind,
    credential_id, token_id, client_id, tenants, route_id, scopes, address, actor, details, uses, use_keys::bigint[],
    decode(hash, 'hex')`;

const recordType = sql`(
  chain integer, seq bigint, at timestamptz, action text, outcome text, reason text, count integer, ids text,
  ids_indexed boolean, fingerprint text, kind text, credential_id text, token_id text, client_id text, tenants text[],
  route_id text, scopes text[], address text, actor text, details text, uses text, use_keys text, hash text)`;

/** Inserts all events or none. */
export const insertEvents = async (db: Db, events: readonly InsertedEvent[]): Promise<void> => {
  await sql`${named} ${written} from json_to_recordset(${toRows(events)}::json) as e ${recordType}`.execute(db);
};

/**
 * Writes events and the signed head that covers them in one statement, so a chain never holds unsigned events. Returns
 * false and writes nothing when the stored signature of the head is not `before`. `seen` of the head is not changed.
 */
export const insertSigned = async (
  db: Db,
  events: readonly InsertedEvent[],
  head: Head,
  mac: Buffer,
  before: Buffer,
): Promise<boolean> => {
  const { numAffectedRows } = await sql`${named}
    with head as (
      update gateway.audit_chains set seq = ${head.seq}, hash = decode(${head.hash}, 'hex'), signed = ${head.signed},
        mac = ${mac}
      where chain = ${head.chain} and mac = ${before} returning chain
    ) ${written} from json_to_recordset(${toRows(events)}::json) as e ${recordType}
    where exists (select 1 from head)`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
};

export const eventColumns = sql`chain, seq, at, action, outcome, reason, count, request_ids, fingerprint, kind, credential_id,
  token_id, client_id, tenants, route_id, scopes, address, actor, details, uses, use_keys::text as use_keys,
  encode(hash, 'hex') as hash`;

/** `exact`: the time is in whole milliseconds, which is all that the hash covers. */
export type StoredEvent = ChainedEvent & { ids_indexed: boolean; exact: boolean };

export const storedColumns = sql`${eventColumns}, ids_indexed, at = date_trunc('milliseconds', at) as exact`;

/** `after`: the last event read. When several events have one number, each is listed. */
export const listChainEvents = async (
  db: Db,
  chain: number,
  after: { seq: number; at?: Date },
  limit: number,
): Promise<StoredEvent[]> => {
  const reached =
    after.at === undefined
      ? sql`seq > ${after.seq}`
      : sql`seq >= ${after.seq} and (seq, at) > (${after.seq}, ${after.at})`;
  const { rows } = await sql<StoredEvent>`
    select ${storedColumns} from gateway.audit_events where chain = ${chain} and ${reached}
    order by seq, at limit ${limit}`.execute(db);
  return rows;
};

/** One event by its position. */
export const findEvent = async (db: Db, chain: number, seq: number): Promise<ChainedEvent | undefined> => {
  const { rows } = await sql<ChainedEvent>`
    select ${eventColumns} from gateway.audit_events where chain = ${chain} and seq = ${seq}`.execute(db);
  return rows[0];
};

export const listNewest = async (db: Db, limit: number): Promise<{ chain: number; seq: number; action: string }[]> => {
  const { rows } = await sql<{ chain: number; seq: number; action: string }>`
    select chain, seq, action from gateway.audit_events order by at desc, chain desc, seq desc limit ${limit}`.execute(
    db,
  );
  return rows;
};

export type RouteCalls = { routeId: string | null; scopes: string[]; calls: number };

/** Allowed requests of a client, by route and by the scopes that the route required at the time. */
export const callsByRoute = async (db: Db, clientId: string, since: Date): Promise<RouteCalls[]> => {
  const { rows } = await sql<RouteCalls>`
    select route_id as "routeId", scopes, sum(count)::bigint as calls from gateway.audit_events
    where client_id = ${clientId} and action = 'request.allowed' and at >= ${since}
    group by route_id, scopes`.execute(db);
  return rows;
};

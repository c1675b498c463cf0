/**
 * SQL of the sinks: which gateway holds the lease to send, and how far each chain was sent. Leases use the clock of the
 * store, which all gateways share.
 */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/**
 * True when `holder` has the lease for the next `seconds`: it held it before, or it was free. No gateway leases for longer, so a
 * lease that ends a minute later than that was written by another program, or before the clock was set back, and counts as free.
 */
export const takeLease = async (db: Db, sink: string, holder: string, seconds: number): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    insert into gateway.audit_sinks as s (sink, holder, leased_until)
    values (${sink}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (sink) do update set holder = excluded.holder, leased_until = excluded.leased_until
    where s.holder = excluded.holder or s.leased_until <= now()
      or s.leased_until > excluded.leased_until + interval '1 minute'`.execute(db);
  return numAffectedRows === 1n;
};

export const releaseLease = async (db: Db, sink: string, holder: string): Promise<void> => {
  await sql`delete from gateway.audit_sinks where sink = ${sink} and holder = ${holder}`.execute(db);
};

/** For a new sink: events dropped before now are not reported as gaps, later ones are. */
export const beginPositions = async (db: Db, sink: string, sign: SignPosition): Promise<void> => {
  const { rows } = await sql<{ chain: number; seq: number }>`
    select chain, anchor_seq as seq from gateway.audit_chains
    where anchor_seq > 0 and not exists (select 1 from gateway.audit_sink_positions where sink = ${sink})`.execute(db);
  for (const { chain, seq } of rows) await savePosition(db, sink, chain, seq, sign);
};

export type SignPosition = (chain: number, seq: number) => Buffer;

export type Position = { chain: number; anchorSeq: number; position: number; mac: Buffer | null };
/** `mac`: null when the sink has no position, or an unsigned one. */
export type Unsent = Position;

/** Chains with events that the sink has not taken, oldest first. */
export const listUnsent = async (db: Db, sink: string, limit: number): Promise<Unsent[]> => {
  const { rows } = await sql<Unsent>`
    select c.chain, c.anchor_seq as "anchorSeq", coalesce(p.seq, 0)::bigint as position, p.mac
    from gateway.audit_chains c left join gateway.audit_sink_positions p on p.sink = ${sink} and p.chain = c.chain
    where not (c.closed and coalesce(p.seq, 0) >= c.seq)
      and (c.anchor_seq > coalesce(p.seq, 0)
        or exists (select 1 from gateway.audit_events e where e.chain = c.chain and e.seq > coalesce(p.seq, 0)))
    order by c.chain limit ${limit}`.execute(db);
  return rows;
};

export const listPositions = async (db: Db, sink: string): Promise<Position[]> => {
  const { rows } = await sql<Position>`
    select p.chain, coalesce(c.anchor_seq, 0)::bigint as "anchorSeq", p.seq as position, p.mac
    from gateway.audit_sink_positions p left join gateway.audit_chains c on c.chain = p.chain
    where p.sink = ${sink}`.execute(db);
  return rows;
};

/** Never moves a position backwards, because a sender that lost its lease may still save. */
export const savePosition = async (
  db: Db,
  sink: string,
  chain: number,
  seq: number,
  sign: SignPosition,
): Promise<void> => {
  await sql`
    insert into gateway.audit_sink_positions as p (sink, chain, seq, mac)
    values (${sink}, ${chain}, ${seq}, ${sign(chain, seq)})
    on conflict (sink, chain) do update set seq = excluded.seq, mac = excluded.mac where p.seq < excluded.seq`.execute(
    db,
  );
};

/** Resets a position that this installation did not sign to the beginning, so that the sink gets the chain again. */
export const resetPosition = async (
  db: Db,
  sink: string,
  { chain, anchorSeq, position }: Position,
  sign: SignPosition,
): Promise<void> => {
  await sql`
    update gateway.audit_sink_positions set seq = ${anchorSeq}, mac = ${sign(chain, anchorSeq)}
    where sink = ${sink} and chain = ${chain} and seq = ${position}`.execute(db);
};

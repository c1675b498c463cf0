/** SQL of the sinks: who may send, and how far each chain was sent. Leases run on the clock of the store, the one clock that all gateways share. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** True when `holder` may send for the next `seconds`: it did before, or nobody does. */
export const takeLease = async (db: Db, sink: string, holder: string, seconds: number): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    insert into gateway.audit_sinks as s (sink, holder, leased_until)
    values (${sink}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (sink) do update set holder = excluded.holder, leased_until = excluded.leased_until
    where s.holder = excluded.holder or s.leased_until <= now()`.execute(db);
  return numAffectedRows === 1n;
};

export const giveLeaseBack = async (db: Db, sink: string, holder: string): Promise<void> => {
  await sql`delete from gateway.audit_sinks where sink = ${sink} and holder = ${holder}`.execute(db);
};

/** A sink that never took anything has missed nothing of what was dropped until now; whatever it lacks later is a gap. */
export const beginPositions = async (db: Db, sink: string): Promise<void> => {
  await sql`
    insert into gateway.audit_sink_positions (sink, chain, seq)
    select ${sink}, chain, anchor_seq from gateway.audit_chains
    where not exists (select 1 from gateway.audit_sink_positions where sink = ${sink})
    on conflict do nothing`.execute(db);
};

export type Unsent = { chain: number; anchorSeq: number; position: number };

/** Chains with something that the sink has not taken, oldest first. */
export const listUnsent = async (db: Db, sink: string, limit: number): Promise<Unsent[]> => {
  const { rows } = await sql<Unsent>`
    select c.chain, c.anchor_seq as "anchorSeq", coalesce(p.seq, 0)::bigint as position
    from gateway.audit_chains c left join gateway.audit_sink_positions p on p.sink = ${sink} and p.chain = c.chain
    where not (c.closed and coalesce(p.seq, 0) >= c.seq)
      and (c.anchor_seq > coalesce(p.seq, 0)
        or exists (select 1 from gateway.audit_events e where e.chain = c.chain and e.seq > coalesce(p.seq, 0)))
    order by c.chain limit ${limit}`.execute(db);
  return rows;
};

/** Never backwards: a sender that was overtaken may still save. */
export const savePosition = async (db: Db, sink: string, chain: number, seq: number): Promise<void> => {
  await sql`
    insert into gateway.audit_sink_positions as p (sink, chain, seq) values (${sink}, ${chain}, ${seq})
    on conflict (sink, chain) do update set seq = greatest(p.seq, excluded.seq)`.execute(db);
};

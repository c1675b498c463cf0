/**
 * The transactional outbox: a change and its event commit together. The outbox also stores which kinds a tenant has switched
 * on, and the last recorded seq of each entity, since both decide what the transaction of the change writes. The caller
 * holds a row lock on the entity, so the seqs of one entity are recorded in order.
 */

import { type Kysely, sql } from 'kysely';
import { buildEventBody, type RecordedEvent } from '#src/contract/event.ts';
import { newId } from '../../ids.ts';
import { named } from '../driver/named.ts';
import { statement } from '../driver/statement.ts';
import { hintAfterCommit, withCommit } from '../transaction.ts';
import type { WeeklyTable } from './partitions.ts';

export type EventDraft = {
  tenant: string;
  kind: string;
  event: string;
  /** Uid of the entity whose seq this is. */
  entity: string;
  seq: number;
  created: Date;
  /** Name and value of the object member of the body. Called only when the kind is on. */
  object: string;
  value: () => Record<string, unknown> | Promise<Record<string, unknown>>;
  trailing?: Record<string, unknown>;
};

/** Channel of the hint that wakes the dispatcher after the commit. The dispatcher also polls. */
export const outboxChannel = 'orderpass_outbox';

/** Writes the event if the tenant has its kind switched on; returns it, or undefined when the kind is off. */
export const recordEvent = async (tx: Kysely<unknown>, draft: EventDraft): Promise<RecordedEvent | undefined> =>
  (await recordEvents(tx, [draft]))[0];

/**
 * The same for several events of one entity, in the order of their seq, for the cost of one: the caller holds locks that
 * others wait for. All events are of one kind, so all or none are written.
 */
export const recordEvents = async (
  tx: Kysely<unknown>,
  drafts: readonly [EventDraft, ...EventDraft[]],
): Promise<RecordedEvent[]> => {
  const [{ tenant, kind, entity }] = drafts;
  if (drafts.some((draft) => draft.tenant !== tenant || draft.kind !== kind || draft.entity !== entity))
    throw new Error('events that are recorded together must belong to one entity');
  const { rows } = await sql<{ last: number | null }>`
    select (select last_seq from outbox.heads where tenant = ${tenant} and kind = ${kind} and entity = ${entity}) as last
    from outbox.switches where tenant = ${tenant} and kind = ${kind} and enabled`.execute(tx);
  if (rows[0] === undefined) return [];
  let previousSeq = rows[0].last;
  const events: RecordedEvent[] = [];
  for (const draft of drafts) {
    events.push(await eventOf(tx, draft, previousSeq));
    previousSeq = draft.seq;
  }
  await insertEvents(tx, events);
  return events;
};

/** True when the tenant has switched this kind of events on. */
export const isKindOn = async (tx: Kysely<unknown>, tenant: string, kind: string): Promise<boolean> => {
  const { rows } = await statement`
    select 1 from outbox.switches where tenant = ${tenant} and kind = ${kind} and enabled`.execute(tx);
  return rows.length > 0;
};

/** Events of an entity that this transaction creates, of a kind that is on. The entity has no earlier events. */
export const recordFirstEvents = async (
  tx: Kysely<unknown>,
  drafts: readonly [EventDraft, ...EventDraft[]],
): Promise<void> => {
  const events: RecordedEvent[] = [];
  for (const draft of drafts) events.push(await eventOf(tx, draft, events.at(-1)?.seq ?? null));
  await withCommit(tx, insertEvents(tx, events));
};

/** Connection or transaction -> milliseconds that the times of its drafts are ahead of the real one. */
const leads = new WeakMap<Kysely<unknown>, number>();

/**
 * From now on the drafts that are recorded with this transaction have times that are ahead of the real one. Their events get the
 * real time, because an event is kept, found and read by the time at which it was recorded.
 */
export const recordAhead = (tx: Kysely<unknown>, aheadMs: number): void => {
  // A reading outside of a transaction records nothing, and what it reads with is shared by all tenants.
  if (tx.isTransaction) leads.set(tx, aheadMs);
};

const eventOf = async (tx: Kysely<unknown>, draft: EventDraft, previousSeq: number | null): Promise<RecordedEvent> => {
  const { tenant, kind, event, entity, seq, object, trailing } = draft;
  const created = new Date(draft.created.getTime() - (leads.get(tx) ?? 0));
  const id = newId('evt', created.getTime());
  const body = buildEventBody({
    event,
    object,
    value: await draft.value(),
    id,
    created,
    tenant,
    seq,
    previousSeq,
    ...(trailing === undefined ? undefined : { trailing }),
  });
  return { id, tenant, kind, event, entity, seq, previousSeq, created, body };
};

/** Events of one entity with rising seq; the head moves to the last one. */
const insertEvents = async (tx: Kysely<unknown>, events: readonly RecordedEvent[]): Promise<void> => {
  const last = events.at(-1);
  if (last === undefined) return;
  // Before the statement, whose answer may arrive together with that of the commit.
  hintAfterCommit(tx, outboxChannel);
  const rows = events.map(
    ({ id, tenant, kind, event, entity, seq, previousSeq, created, body }) =>
      sql`(${id}, ${tenant}, ${kind}, ${event}, ${entity}, ${seq}::bigint, ${previousSeq}::bigint,
        ${created}::timestamptz, ${body}, true)`,
  );
  await sql`${named}
    with head as (
      insert into outbox.heads (tenant, kind, entity, last_seq)
      values (${last.tenant}, ${last.kind}, ${last.entity}, ${last.seq})
      on conflict (tenant, kind, entity) do update set last_seq = excluded.last_seq
    ), recorded as (
      insert into outbox.events (id, tenant, kind, event, entity, seq, previous_seq, created, body, queued)
      values ${sql.join(rows)} returning position, id, tenant, kind, event, entity, created
    )
    insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
    select * from recorded`.execute(tx);
};

/** Switches kinds on or off for a tenant; kinds that are not named stay. */
export const setKinds = async (
  tx: Kysely<unknown>,
  tenant: string,
  kinds: Readonly<Record<string, boolean>>,
): Promise<void> => {
  for (const [kind, enabled] of Object.entries(kinds)) {
    await sql`
      insert into outbox.switches (tenant, kind, enabled) values (${tenant}, ${kind}, ${enabled})
      on conflict (tenant, kind) do update set enabled = excluded.enabled`.execute(tx);
  }
};

export const enabledKinds = async (db: Kysely<unknown>, tenant: string): Promise<Record<string, boolean>> => {
  const { rows } = await sql<{ kind: string; enabled: boolean }>`
    select kind, enabled from outbox.switches where tenant = ${tenant}`.execute(db);
  return Object.fromEntries(rows.map((row) => [row.kind, row.enabled]));
};

/** Bodies of events by id. An event past its retention is missing. */
export const readBodies = async (db: Kysely<unknown>, ids: readonly string[]): Promise<Map<string, string>> => {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; body: string }>`
    select event.id, event.body from unnest(${ids}::text[]) as wanted (id)
    join outbox.events as event on event.id = wanted.id`.execute(db);
  return new Map(rows.map(({ id, body }) => [id, body]));
};

export type KindDigest = { tenant: string; kind: string; count: number; sha256: string };

/**
 * Counts the events of some tenants that were created from `from` on and before `to`, by tenant and kind, with the SHA-256
 * (hex) of their ids, sorted by byte and joined by line feeds. Kinds without events are missing.
 */
export const digestEvents = async (
  db: Kysely<unknown>,
  { tenants, from, to }: { tenants: readonly string[]; from: Date; to: Date },
): Promise<KindDigest[]> => {
  // The bounds by id lead to the few rows of the hour.
  const { rows } = await sql<KindDigest>`
    select tenant, kind, count(*) as count,
      encode(sha256(convert_to(string_agg(id, E'\\n' order by id), 'UTF8')), 'hex') as sha256
    from outbox.events
    where tenant = any(${tenants}::text[]) and created >= ${from} and created < ${to}
      and id >= platform.id_bound('evt', ${from}) and id < platform.id_bound('evt', ${to})
    group by tenant, kind`.execute(db);
  return rows;
};

/**
 * Seconds since the start of the oldest open writing transaction: events with an earlier timestamp may still be committed.
 */
export const oldestWriterSeconds = async (db: Kysely<unknown>): Promise<number> => {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 as seconds
    from pg_stat_activity
    where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()`.execute(db);
  return rows[0]?.seconds ?? 0;
};

/** Events of one week, which are dropped together. */
export const eventWeeks: WeeklyTable = { schema: 'outbox', name: 'events', key: 'id', prefix: 'evt' };

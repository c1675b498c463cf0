/** SQL of the events that wait for receivers. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type QueuedEvent = {
  position: string;
  jti: string;
  txn: string;
  type: string;
  subject: object;
  payload: object;
  created: Date;
};

/** About whom an event is: a client, or a credential whose client the store knows; a key is a subject of its own. */
export type About = { clientId: string | null; credentialId: string | null; session: string | null };

/**
 * Adds the event to every stream that gets it: that of the client itself, and those of clients that may see all, unless the
 * receiver excluded the subject or did not request the type. `id`: unique; each stream gets a `jti` from it.
 */
export const insertSignal = async (
  tx: Db,
  about: About,
  event: { id: string; txn: string; type: string; payload: object; at: Date },
): Promise<void> => {
  await sql`
    with about as (
      select coalesce(
        ${about.clientId}::text,
        (select client_id from gateway.client_secrets where secret_id = ${about.credentialId}::text),
        (select client_id from gateway.client_keys where client_id || '/' || key_id = ${about.credentialId}::text
          and client_id = split_part(${about.credentialId}::text, '/', 1))
      ) as client
    ), named as (select client, coalesce(client, ${about.credentialId}::text) as subject from about)
    insert into gateway.signal_events (stream_id, jti, txn, event_type, subject, payload, created)
    select s.stream_id, ${event.id}::text || '.' || s.stream_id, ${event.txn}, ${event.type},
      case when ${about.session}::text is null
        then jsonb_build_object('format', 'iss_sub', 'iss', s.issuer, 'sub', n.subject)
        else jsonb_build_object('format', 'complex',
          'user', jsonb_build_object('format', 'iss_sub', 'iss', s.issuer, 'sub', n.subject),
          'session', jsonb_build_object('format', 'opaque', 'id', ${about.session}::text)) end,
      ${JSON.stringify(event.payload)}::jsonb, ${event.at}
    from named n cross join gateway.signal_streams s join gateway.clients c on c.client_id = s.client_id
    where n.subject is not null and s.status <> 'disabled' and c.signals is distinct from 'off'
      and (s.events_requested is null or ${event.type} = any(s.events_requested))
      and (s.client_id = n.client
        or (c.signals = 'all' and c.disabled_at is null and c.quarantined_reason is null))
      and not exists (
        select from gateway.signal_exclusions e where e.stream_id = s.stream_id and e.subject = n.subject)`.execute(tx);
};

/** Deletes the waiting events that the client may not see now, by the rule of `insertSignal`. Events about its stream stay. */
export const deleteUnseen = async (tx: Db, clientId: string): Promise<void> => {
  await sql`
    delete from gateway.signal_events e using gateway.signal_streams s, gateway.clients c
    where e.stream_id = s.stream_id and s.client_id = ${clientId} and c.client_id = s.client_id
      and e.subject->>'format' <> 'opaque'
      and (c.signals = 'off'
        or (coalesce(e.subject->>'sub', e.subject->'user'->>'sub') is distinct from c.client_id
          and (c.signals is null or c.disabled_at is not null or c.quarantined_reason is not null)))`.execute(tx);
};

/**
 * Tenants of the client, at most `limit`. Locks the client: grants change other rows, so of two at the same time each would
 * read a list without the other one.
 */
export const readTenantsOf = async (tx: Db, clientId: string, limit: number): Promise<string[]> => {
  await sql`select from gateway.clients where client_id = ${clientId} for no key update`.execute(tx);
  const { rows } = await sql<{ tenant: string }>`
    select tenant from gateway.client_tenants where client_id = ${clientId} and withdrawn_at is null
    order by tenant limit ${limit}`.execute(tx);
  return rows.map(({ tenant }) => tenant);
};

/**
 * Keeps the streams that may get an event about the client from being changed or deleted until the transaction ends, as an event that
 * is added to them does later. Before the chain of changes, which those that change a stream lock after it.
 */
export const lockStreams = async (tx: Db, clientId: string | null): Promise<void> => {
  await sql`
    select from gateway.signal_streams s join gateway.clients c on c.client_id = s.client_id
    where s.client_id = ${clientId}::text or c.signals = 'all'
    order by s.stream_id for key share of s`.execute(tx);
};

export const hasStreams = async (tx: Db): Promise<boolean> =>
  (await sql`select from gateway.signal_streams limit 1`.execute(tx)).rows.length > 0;

/** An event about the stream itself. */
export const insertStreamEvent = async (
  tx: Db,
  streamId: string,
  event: { id: string; type: string; payload: object; at: Date; always: boolean },
): Promise<void> => {
  await sql`
    insert into gateway.signal_events (stream_id, jti, txn, event_type, subject, payload, always, created)
    values (${streamId}, ${event.id}::text || '.' || ${streamId}::text, ${event.id}, ${event.type},
      jsonb_build_object('format', 'opaque', 'id', ${streamId}::text),
      ${JSON.stringify(event.payload)}::jsonb, ${event.always}, ${event.at})`.execute(tx);
};

/** The oldest events that may be sent now, at most `limit`. */
export const readEvents = async (db: Db, streamId: string, limit: number): Promise<QueuedEvent[]> =>
  (
    await sql<QueuedEvent>`
      select position::text as position, jti, txn, event_type as type, subject, payload, e.created
      from gateway.signal_events e join gateway.signal_streams s using (stream_id)
      where stream_id = ${streamId} and (s.status = 'enabled' or e.always)
      order by e.position limit ${limit}`.execute(db)
  ).rows;

/** Those of `streamIds` that have an event to send. */
export const streamsWithEvents = async (db: Db, streamIds: readonly string[]): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select wanted.id from unnest(${streamIds}::text[]) as wanted (id)
    join gateway.signal_streams s on s.stream_id = wanted.id
    where exists (
      select from gateway.signal_events e where e.stream_id = wanted.id and (s.status = 'enabled' or e.always))`.execute(
    db,
  );
  return rows.map(({ id }) => id);
};

export const deleteEvents = async (db: Db, streamId: string, jtis: readonly string[]): Promise<void> => {
  await sql`
    delete from gateway.signal_events where stream_id = ${streamId} and jti = any(${jtis}::text[])`.execute(db);
};

export const deleteAllEvents = async (tx: Db, streamId: string): Promise<void> => {
  await sql`delete from gateway.signal_events where stream_id = ${streamId}`.execute(tx);
};

export type PendingStream = { streamId: string; status: string; waiting: number; since: Date };

/** Streams with events, those that wait longest first; each is counted up to `countedMax`. */
export const readPending = async (
  db: Db,
  { streamsMax, countedMax }: { streamsMax: number; countedMax: number },
): Promise<PendingStream[]> => {
  const { rows } = await sql<PendingStream>`
    select s.stream_id as "streamId", s.status, held.waiting, oldest.created as since
    from gateway.signal_streams s
      cross join lateral (
        select created from gateway.signal_events e where e.stream_id = s.stream_id order by position limit 1) as oldest
      cross join lateral (select count(*)::int as waiting from (
        select from gateway.signal_events e where e.stream_id = s.stream_id limit ${countedMax}) as counted) as held
    order by oldest.created limit ${streamsMax}`.execute(db);
  return rows;
};

/** Streams whose oldest event is older than `before`, or that hold more than `eventsMax`. */
export const findOverfull = async (db: Db, before: Date, eventsMax: number): Promise<string[]> => {
  const { rows } = await sql<{ stream_id: string }>`
    select stream_id from gateway.signal_streams s
    where status <> 'disabled' and (
      exists (select from gateway.signal_events e where e.stream_id = s.stream_id and e.created < ${before})
      or (select count(*) from (
        select from gateway.signal_events e where e.stream_id = s.stream_id limit ${eventsMax + 1}) as held) > ${eventsMax})`.execute(
    db,
  );
  return rows.map(({ stream_id }) => stream_id);
};

export const deleteOldEvents = async (db: Db, before: Date): Promise<void> => {
  await sql`delete from gateway.signal_events where created < ${before}`.execute(db);
};

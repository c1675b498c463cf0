/** SQL of streams: their configuration, their status and the lease of the worker that pushes. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export const statuses = ['enabled', 'paused', 'disabled'] as const;
export type StreamStatus = (typeof statuses)[number];

/** `eventsRequested`: null for every type. */
export type Stream = {
  streamId: string;
  clientId: string;
  issuer: string;
  delivery: 'push' | 'poll';
  endpointUrl: string | null;
  authorizationSealed: Buffer | null;
  eventsRequested: string[] | null;
  description: string | null;
  status: StreamStatus;
  statusReason: string | null;
  verifiedAt: Date | null;
  failures: number;
};

const columns = sql`stream_id as "streamId", client_id as "clientId", issuer, delivery, endpoint_url as "endpointUrl",
  authorization_sealed as "authorizationSealed", events_requested as "eventsRequested", description, status,
  status_reason as "statusReason", verified_at as "verifiedAt", failures`;

/** False: the client has a stream already. */
export const insertStream = async (tx: Db, stream: Stream, now: Date): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    insert into gateway.signal_streams (stream_id, client_id, issuer, delivery, endpoint_url, authorization_sealed,
      events_requested, description, created, next_try)
    values (${stream.streamId}, ${stream.clientId}, ${stream.issuer}, ${stream.delivery}, ${stream.endpointUrl},
      ${stream.authorizationSealed}, ${stream.eventsRequested}::text[], ${stream.description}, ${now}, ${now})
    on conflict (client_id) do nothing`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
};

export const streamOfClient = async (db: Db, clientId: string): Promise<Stream | undefined> =>
  (await sql<Stream>`select ${columns} from gateway.signal_streams where client_id = ${clientId}`.execute(db)).rows[0];

/** Locked to the end of the transaction. */
export const lockStream = async (tx: Db, streamId: string): Promise<Stream | undefined> =>
  (
    await sql<Stream>`select ${columns} from gateway.signal_streams where stream_id = ${streamId} for update`.execute(
      tx,
    )
  ).rows[0];

/** Writes what a receiver may change. The next push is tried at once. */
export const updateStream = async (tx: Db, stream: Stream, now: Date): Promise<void> => {
  await sql`
    update gateway.signal_streams set delivery = ${stream.delivery}, endpoint_url = ${stream.endpointUrl},
      authorization_sealed = ${stream.authorizationSealed}, events_requested = ${stream.eventsRequested}::text[],
      description = ${stream.description}, status = ${stream.status}, status_reason = ${stream.statusReason},
      failures = 0, next_try = ${now}
    where stream_id = ${stream.streamId}`.execute(tx);
};

export const markVerified = async (tx: Db, streamId: string, now: Date): Promise<void> => {
  await sql`update gateway.signal_streams set verified_at = ${now} where stream_id = ${streamId}`.execute(tx);
};

export const deleteStream = async (tx: Db, streamId: string): Promise<void> => {
  await sql`delete from gateway.signal_streams where stream_id = ${streamId}`.execute(tx);
};

/** At most `subjectsMax` are kept; false: the list is full. */
export const excludeSubject = async (
  tx: Db,
  streamId: string,
  subject: string,
  subjectsMax: number,
): Promise<boolean> => {
  const { rows } = await sql<{ held: number }>`
    select count(*)::int as held from gateway.signal_exclusions where stream_id = ${streamId}`.execute(tx);
  if ((rows[0]?.held ?? 0) >= subjectsMax) return false;
  await sql`
    insert into gateway.signal_exclusions (stream_id, subject) values (${streamId}, ${subject})
    on conflict do nothing`.execute(tx);
  return true;
};

export const includeSubject = async (tx: Db, streamId: string, subject: string): Promise<void> => {
  await sql`
    delete from gateway.signal_exclusions where stream_id = ${streamId} and subject = ${subject}`.execute(tx);
};

/** `pushedAt`: the last push that the receiver took. `lastError`: of the last one that it did not, at `failedAt`. */
export type ListedStream = Stream & {
  waiting: number;
  reach: string | null;
  created: Date;
  clientName: string;
  pushedAt: Date | null;
  lastError: string | null;
  failedAt: Date | null;
};

const listedColumns = sql`${columns}, s.created, s.pushed_at as "pushedAt", s.last_error as "lastError",
  s.failed_at as "failedAt", (select signals from gateway.clients c where c.client_id = s.client_id) as reach,
  (select name from gateway.clients c where c.client_id = s.client_id) as "clientName",
  (select count(*)::int from gateway.signal_events e where e.stream_id = s.stream_id) as waiting`;

/** Streams from the id after `after` on, with the number of their events. */
export const listStreams = async (db: Db, after: string, limit: number): Promise<ListedStream[]> =>
  (
    await sql<ListedStream>`
      select ${listedColumns} from gateway.signal_streams s
      where stream_id > ${after} order by stream_id limit ${limit}`.execute(db)
  ).rows;

export const findListedStream = async (db: Db, streamId: string): Promise<ListedStream | undefined> =>
  (
    await sql<ListedStream>`
      select ${listedColumns} from gateway.signal_streams s where stream_id = ${streamId}`.execute(db)
  ).rows[0];

/** `reach`: null for the events of the client itself. False: there is no such client. */
export const updateReach = async (tx: Db, clientId: string, reach: 'all' | 'off' | null): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    update gateway.clients set signals = ${reach} where client_id = ${clientId}`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
};

type Lease = { by: string; until: Date; now: Date };

/** `nextTry` tells whether the stream was changed meanwhile: each change sets it. */
export type Leased = { streamId: string; failures: number; nextTry: Date };

/** Push streams with an event to send that no other worker holds. */
export const leaseStreams = async (db: Db, { by, until, now }: Lease, limit: number): Promise<Leased[]> =>
  (
    await sql<Leased>`
      update gateway.signal_streams set leased_by = ${by}, lease_until = ${until}
      where stream_id in (
        select stream_id from gateway.signal_streams s
        where delivery = 'push' and next_try <= ${now} and (lease_until is null or lease_until <= ${now})
          and exists (
            select from gateway.signal_events e where e.stream_id = s.stream_id and (s.status = 'enabled' or e.always))
        order by next_try limit ${limit} for no key update skip locked)
      returning stream_id as "streamId", failures, next_try as "nextTry"`.execute(db)
  ).rows;

/** Undefined: the lease is another worker's, or the stream is gone or no longer pushed. */
export const renewLease = async (
  db: Db,
  streamId: string,
  { by, until }: Lease,
): Promise<(Stream & Leased) | undefined> =>
  (
    await sql<Stream & Leased>`
      update gateway.signal_streams set lease_until = ${until}
      where stream_id = ${streamId} and leased_by = ${by} and delivery = 'push'
      returning ${columns}, next_try as "nextTry"`.execute(db)
  ).rows[0];

/** Of those of `streamIds` that this worker holds. */
export const renewLeases = async (db: Db, streamIds: readonly string[], { by, until }: Lease): Promise<void> => {
  await sql`
    update gateway.signal_streams set lease_until = ${until}
    where stream_id = any(${[...streamIds]}::text[]) and leased_by = ${by}`.execute(db);
};

/**
 * How the pushes of a lease ended. `tried`: the stream as the last attempt found it. `pushedAt`: null when the receiver took
 * no event. `error`: null without a failure. `failures` 0 and `nextTry` now after a success.
 */
export type Pushed = {
  tried: Leased;
  failures: number;
  nextTry: Date;
  pushedAt: Date | null;
  error: string | null;
  now: Date;
};

/** `pushed`: undefined when no attempt ended. Its failures are not those of a stream that was changed during the attempt. */
export const endLease = async (db: Db, streamId: string, by: string, pushed: Pushed | undefined): Promise<void> => {
  if (pushed !== undefined) {
    const { tried, failures, nextTry, error, now } = pushed;
    await sql`
      update gateway.signal_streams set failures = ${failures}, next_try = ${nextTry},
        last_error = coalesce(${error}::text, last_error),
        failed_at = case when ${error}::text is null then failed_at else ${now}::timestamptz end
      where stream_id = ${streamId} and leased_by = ${by} and next_try = ${tried.nextTry}`.execute(db);
  }
  await sql`
    update gateway.signal_streams set leased_by = null, lease_until = null,
      pushed_at = coalesce(${pushed?.pushedAt ?? null}::timestamptz, pushed_at)
    where stream_id = ${streamId} and leased_by = ${by}`.execute(db);
};

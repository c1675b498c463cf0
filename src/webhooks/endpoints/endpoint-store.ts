/** Endpoints in PostgreSQL. A removed one keeps its row, without its secrets, as long as the log has deliveries of it. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Listed, type ListQuery, readList } from '#src/platform/db/bounded-list.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Endpoint, EndpointHealth, Viewer } from './endpoint.ts';

const jsonOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const insertEndpoint = async (db: Kysely<unknown>, row: Endpoint): Promise<void> => {
  await sql`
    insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, description, kinds, enabled, disabled_reason,
      signature_header, signature, v1a, max_per_second, digest, auth, auth_shown, secret, created)
    values (${row.tenant}, ${row.uid}, ${row.ownerKind}, ${row.ownerId}, ${row.url}, ${row.description},
      ${row.kinds}::text[], ${row.enabled}, ${row.disabledReason}, ${row.signatureHeader}, ${row.signature},
      ${row.v1a}, ${row.maxPerSecond}, ${row.digest}, ${row.auth}, ${jsonOf(row.authShown)}::jsonb, ${row.secret},
      ${row.created})`.execute(db);
};

/** Holds off other creations of the same owner until the transaction ends, so that none is counted too late. */
export const countEndpoints = async (
  tx: Kysely<unknown>,
  owner: { tenant: string; kind: string; id: string },
): Promise<number> => {
  const name = JSON.stringify(['webhooks.endpoints', owner.tenant, owner.kind, owner.id]);
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from webhooks.endpoints
    where tenant = ${owner.tenant} and owner_kind = ${owner.kind} and owner_id = ${owner.id} and removed is null`.execute(
    tx,
  );
  return rows[0]?.count ?? 0;
};

/** A removed endpoint keeps its address. */
export const updateEndpointUrl = async (
  db: Kysely<unknown>,
  tenant: string,
  uid: string,
  url: string,
): Promise<void> => {
  await sql`
    update webhooks.endpoints set url = ${url} where tenant = ${tenant} and uid = ${uid} and removed is null`.execute(
    db,
  );
};

const columns = sql`
  endpoint.tenant, endpoint.uid, owner_kind as "ownerKind", owner_id as "ownerId", url, description, kinds, enabled,
  disabled_reason as "disabledReason", signature_header as "signatureHeader", signature, v1a,
  max_per_second as "maxPerSecond", digest, auth, auth_shown as "authShown",
  withheld_kinds as "withheldKinds", secret, previous_secret as "previousSecret", previous_secret_expires as "previousSecretExpires",
  cancel_through as "cancelThrough", endpoint.created`;

/** The kinds that are sent, as the column `kinds`. */
export const sentKinds = sql`
  case when withheld_kinds = '{}' then kinds
    else array(select one from unnest(kinds) as one where one <> all(withheld_kinds)) end as kinds`;

/** The rows of `endpoint` that the viewer may see. Removed endpoints are visible to no one. */
export const visibleTo = ({ tenant, client }: Viewer): RawBuilder<unknown> =>
  client === undefined
    ? sql`endpoint.tenant = ${tenant} and endpoint.removed is null`
    : sql`endpoint.tenant = ${tenant} and endpoint.removed is null and endpoint.owner_kind = 'api_client'
        and endpoint.owner_id = ${client}`;

/** With `lock` the endpoint cannot change until the transaction ends, and the dispatcher makes no deliveries for it. */
export const findEndpoint = async (
  db: Kysely<unknown>,
  viewer: Viewer,
  uid: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Endpoint | undefined> => {
  const { rows } = await sql<Endpoint>`
    select ${columns} from webhooks.endpoints as endpoint where ${visibleTo(viewer)} and endpoint.uid = ${uid}
    ${lock ? sql`for no key update` : sql``}`.execute(db);
  return rows[0];
};

/** Of any tenant, for the command line. */
export const findEndpointByUid = async (db: Kysely<unknown>, uid: string): Promise<Endpoint | undefined> => {
  const { rows } = await sql<Endpoint>`
    select ${columns} from webhooks.endpoints as endpoint where endpoint.uid = ${uid} and endpoint.removed is null`.execute(
    db,
  );
  return rows[0];
};

export type WatchedEndpoint = Endpoint & EndpointHealth;

const watchedColumns = sql`
  ${columns}, health.failing_since as "failingSince", health.warned, health.last_success as "lastSuccess",
  health.last_failure as "lastFailure", upcoming.next_attempt_at as "nextAttempt",
  (select gate from webhooks.ready where endpoint_uid = endpoint.uid) as "heldUntil"`;

const watchedTables = sql`
  webhooks.endpoints as endpoint
  left join webhooks.endpoint_health as health on health.endpoint_uid = endpoint.uid
  left join lateral (
    select next_attempt_at from webhooks.deliveries as delivery
    where delivery.endpoint_uid = endpoint.uid and state = 'pending' and endpoint.enabled
      and endpoint.cancel_through is null
    order by delivery.endpoint_uid, next_attempt_at limit 1
  ) as upcoming on true`;

/** Columns and tables of WatchedEndpoint. */
export const watched = sql`${watchedColumns} from ${watchedTables}`;

export const findWatchedEndpoint = async (
  db: Kysely<unknown>,
  viewer: Viewer,
  uid: string,
): Promise<WatchedEndpoint | undefined> => {
  const { rows } = await sql<WatchedEndpoint>`
    select ${watched} where ${visibleTo(viewer)} and endpoint.uid = ${uid}`.execute(db);
  return rows[0];
};

const key = [
  { column: sql`endpoint.created`, type: sql`timestamptz` },
  { column: sql`endpoint.uid`, type: sql`text` },
];

/** Newest first. Throws VALIDATION_ERROR for a page that is not reached by number. */
export const listEndpoints = (
  db: Kysely<unknown>,
  viewer: Viewer,
  query: ListQuery,
): Promise<Listed<WatchedEndpoint>> => {
  const source = {
    table: sql`webhooks.endpoints`,
    alias: 'endpoint',
    key,
    columns: watchedColumns,
    tables: watchedTables,
    tenant: sql`endpoint.tenant = ${viewer.tenant}`,
    fits: sql`true`,
    ways: [{ ranges: [visibleTo(viewer)], inSequence: true, isWhole: true }],
  };
  return readList<WatchedEndpoint>(db, source, query, ({ created, uid }) => [created.toISOString(), uid]);
};

/** Saves everything that an owner may set. Call with the lock of `findEndpoint`. */
export const saveEndpoint = async (tx: Kysely<unknown>, row: Endpoint): Promise<void> => {
  await sql`
    update webhooks.endpoints set url = ${row.url}, description = ${row.description}, kinds = ${row.kinds}::text[],
      enabled = ${row.enabled}, disabled_reason = ${row.disabledReason},
      disabled_at = case when ${row.enabled} then null else disabled_at end, signature_header = ${row.signatureHeader},
      signature = ${row.signature}, v1a = ${row.v1a}, max_per_second = ${row.maxPerSecond}, digest = ${row.digest},
      auth = ${row.auth}, auth_shown = ${jsonOf(row.authShown)}::jsonb, secret = ${row.secret},
      previous_secret = ${row.previousSecret}, previous_secret_expires = ${row.previousSecretExpires}
    where tenant = ${row.tenant} and uid = ${row.uid}`.execute(tx);
};

/**
 * An endpoint that is enabled again starts without failures and without the hold that they led to; the time of its last success
 * stays. Call with the lock of `findEndpoint`; the schedule is written before health, in the sequence of locks.
 */
export const forgetFailures = async (tx: Kysely<unknown>, uid: string, now: Date): Promise<void> => {
  await sql`
    update webhooks.ready set gate = null, due_at = least(due_at, ${now})
    where endpoint_uid = ${uid} and gate is not null`.execute(tx);
  await sql`
    update webhooks.endpoint_health set failing_since = null, failures_count = 0, warned = null
    where endpoint_uid = ${uid}`.execute(tx);
};

/** Marks the endpoint as removed and deletes its secrets. */
export const markRemoved = async (tx: Kysely<unknown>, uid: string, now: Date): Promise<void> => {
  await sql`
    update webhooks.endpoints set removed = ${now}, secret = ''::bytea, previous_secret = null,
      previous_secret_expires = null, auth = null, auth_shown = null
    where uid = ${uid}`.execute(tx);
};

/**
 * Deletes endpoints that were removed before and of which the log has nothing more, at most `limit`; returns how many. Each
 * list of deliveries looks at every endpoint of its tenant, so the rows of many removed ones would make it slow.
 */
export const deleteRemoved = (db: Kysely<unknown>, before: Date, limit: number): Promise<number> =>
  inTransaction(db, async (tx) => {
    // The limit of the subquery keeps it a look into an index for each endpoint, however many deliveries there are.
    const { rows } = await sql<{ uid: string }>`
      select uid from webhooks.endpoints as endpoint left join lateral (
        select true as has_any from webhooks.deliveries as delivery
        where delivery.tenant = endpoint.tenant and delivery.endpoint_uid = endpoint.uid limit 1
      ) as logged on true
      where removed < ${before} and cancel_through is null and has_any is null
        and not exists (select from webhooks.redeliveries where endpoint_uid = endpoint.uid)
      limit ${limit}`.execute(tx);
    const uids = rows.map(({ uid }) => uid);
    for (const table of ['ready', 'digests', 'endpoint_health'])
      await sql`delete from webhooks.${sql.id(table)} where endpoint_uid = any(${uids}::text[])`.execute(tx);
    await sql`delete from webhooks.endpoints where uid = any(${uids}::text[])`.execute(tx);
    return uids.length;
  });

/**
 * Deletes secrets whose overlap is over, and returns how many. Several rows are locked in the sequence in which the dispatcher
 * locks them, since each of the two could otherwise hold a row that the other one waits for.
 */
export const dropPreviousSecrets = async (db: Kysely<unknown>, now: Date): Promise<number> => {
  const result = await sql`
    with over as materialized (
      select uid from webhooks.endpoints where previous_secret_expires <= ${now} order by tenant, uid for update)
    update webhooks.endpoints e set previous_secret = null, previous_secret_expires = null
    from over where e.uid = over.uid`.execute(db);
  return Number(result.numAffectedRows ?? 0n);
};

/**
 * Disables the endpoint: with the commit, no more deliveries are made for it or sent to it, because the dispatcher
 * holds the row while it makes deliveries. Its unfinished deliveries are cancelled afterwards, a piece at a time
 * (`cancel-backlog.ts`).
 */
export const disableEndpoint = async (
  tx: Kysely<unknown>,
  uid: string,
  reason: 'gone' | 'failing' | 'owner',
  now: Date,
): Promise<void> => {
  await sql`
    update webhooks.endpoints set enabled = false, disabled_reason = ${reason}, disabled_at = ${now}, cancel_through = ${now}
    where uid = ${uid}`.execute(tx);
};

/** Locks the row of an enabled endpoint. Returns false when it is disabled. */
const lockEnabled = async (tx: Kysely<unknown>, uid: string): Promise<boolean> => {
  const { rows } = await sql`
    select from webhooks.endpoints where uid = ${uid} and enabled for no key update`.execute(tx);
  return rows.length > 0;
};

/**
 * Disables an endpoint whose receiver at `url` answered 410. `stays`: its owner gave it another address during the attempt, or
 * disabled and enabled it, so the answer says nothing about the endpoint as it is now.
 */
export const disableGone = async (
  tx: Kysely<unknown>,
  { uid, url }: { uid: string; url: string },
  now: Date,
): Promise<'disabled' | 'was_disabled' | 'stays'> => {
  const { rows } = await sql<{ enabled: boolean; isAsked: boolean }>`
    select enabled, url = ${url} and (not enabled or cancel_through is null) as "isAsked"
    from webhooks.endpoints where uid = ${uid} for no key update`.execute(tx);
  const [found] = rows;
  if (found?.isAsked !== true) return 'stays';
  if (!found.enabled) return 'was_disabled';
  await disableEndpoint(tx, uid, 'gone', now);
  return 'disabled';
};

/** Applies the rule of interface 12.4 to the stored row, because a success may have been written since. */
export const disableFailing = async (
  tx: Kysely<unknown>,
  uid: string,
  rule: { failingSinceBefore: Date; failuresMin: number },
  now: Date,
): Promise<boolean> => {
  if (!(await lockEnabled(tx, uid))) return false;
  const { rows } = await sql`
    select from webhooks.endpoint_health
    where endpoint_uid = ${uid} and failing_since <= ${rule.failingSinceBefore} and failures_count >= ${rule.failuresMin}`.execute(
    tx,
  );
  if (rows.length > 0) await disableEndpoint(tx, uid, 'failing', now);
  return rows.length > 0;
};

/** SQL of credentials whose value was reported as leaked. Each is reported once; later reports change nothing. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

const places = {
  api_key: sql`gateway.api_keys where key_id`,
  client_secret: sql`gateway.client_secrets where secret_id`,
  token: sql`gateway.revoked_tokens where jti`,
};

/** Waits for no lock. */
export const wasReported = async (db: Db, { kind, id }: { kind: keyof typeof places; id: string }): Promise<boolean> =>
  (await sql`select 1 from ${places[kind]} = ${id} and leak_reported_at is not null`.execute(db)).rows.length > 0;

/** `endedMs`: when it had ended already; null: it was live. */
type Leaked<T> = (T & { endedMs: number | null }) | undefined;

const endedMs = (now: Date) =>
  sql`floor(extract(epoch from least(before.revoked_at, case when before.expires <= ${now} then before.expires end)) * 1000)::float8`;

/** Undefined: no such key, or it was reported before. */
export const markKeyLeaked = async (
  tx: Db,
  keyId: string,
  reason: string,
  now: Date,
): Promise<Leaked<{ tenant: string }>> =>
  (
    await sql<{ tenant: string; endedMs: number | null }>`
      with before as (
        select tenant, revoked_at, expires from gateway.api_keys
        where key_id = ${keyId} and leak_reported_at is null for update
      ), marked as (
        update gateway.api_keys set revoked_at = coalesce(revoked_at, ${now}),
          revoked_reason = coalesce(revoked_reason, ${reason}), leak_reported_at = ${now}
        where key_id = ${keyId} and exists (select 1 from before)
      )
      select tenant, ${endedMs(now)} as "endedMs" from before`.execute(tx)
  ).rows[0];

/** Undefined: no such secret, or it was reported before. */
export const markSecretLeaked = async (
  tx: Db,
  secretId: string,
  now: Date,
): Promise<Leaked<{ clientId: string; tenants: string[] }>> =>
  (
    await sql<{ clientId: string; tenants: string[]; endedMs: number | null }>`
      with before as (
        select client_id, revoked_at, expires from gateway.client_secrets
        where secret_id = ${secretId} and leak_reported_at is null for update
      ), marked as (
        update gateway.client_secrets set revoked_at = coalesce(revoked_at, ${now}), leak_reported_at = ${now}
        where secret_id = ${secretId} and exists (select 1 from before)
      )
      select client_id as "clientId", ${endedMs(now)} as "endedMs",
        array(select tenant from gateway.client_tenants g
              where g.client_id = before.client_id and g.withdrawn_at is null order by tenant) as tenants
      from before`.execute(tx)
  ).rows[0];

/** For a token that was revoked before. False: it was reported before. */
export const markTokenLeaked = async (tx: Db, jti: string, now: Date): Promise<boolean> =>
  ((
    await sql`
      update gateway.revoked_tokens set leak_reported_at = ${now}
      where jti = ${jti} and leak_reported_at is null`.execute(tx)
  ).numAffectedRows ?? 0n) > 0n;

/** SQL of live credentials across tenants and clients, and of one credential by its id. Without digests. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type CredentialRow = {
  id: string;
  name: string;
  /** Tenant of a key; client of a secret or of a client key. */
  holder: string;
  holderName: string;
  created: Date;
  expires: Date | null;
  /** Reason of its own quarantine, or of that of its client. */
  quarantinedReason: string | null;
  /** True when the credential, its client or its tenant has ended. */
  ended: boolean;
};

export type CredentialPlace = { created: Date; holder: string; id: string };

const keys = sql`
  select k.key_id as id, k.name, k.tenant as holder, coalesce(t.facts->>'name', '') as "holderName", k.created, k.expires,
    k.quarantined_reason as "quarantinedReason", k.revoked_at is not null or t.gone_at is not null as ended
  from gateway.api_keys k join gateway.tenants t on t.id = k.tenant`;

const secrets = sql`
  select s.secret_id as id, '' as name, s.client_id as holder, c.name as "holderName", s.created, s.expires,
    coalesce(s.quarantined_reason, c.quarantined_reason) as "quarantinedReason",
    s.revoked_at is not null or c.disabled_at is not null as ended
  from gateway.client_secrets s join gateway.clients c using (client_id)`;

const clientKeys = sql`
  select k.key_id as id, coalesce(k.jwk->>'kty', '') as name, k.client_id as holder, c.name as "holderName", k.created,
    null::timestamptz as expires, c.quarantined_reason as "quarantinedReason",
    k.revoked_at is not null or c.disabled_at is not null as ended
  from gateway.client_keys k join gateway.clients c using (client_id)`;

const certificates = sql`
  select x.thumbprint as id, x.subject as name, x.client_id as holder, c.name as "holderName", x.created, x.expires,
    c.quarantined_reason as "quarantinedReason", x.revoked_at is not null or c.disabled_at is not null as ended
  from gateway.client_certificates x join gateway.clients c using (client_id)`;

/** Newest first. */
export const listLiveKeys = async (
  db: Db,
  { before, now, limit }: { before: CredentialPlace | undefined; now: Date; limit: number },
): Promise<CredentialRow[]> =>
  (
    await sql<CredentialRow>`${keys}
      where k.revoked_at is null and t.gone_at is null and (k.expires is null or k.expires > ${now})
        and ${before === undefined ? sql`true` : sql`(k.created, k.key_id) < (${before.created}, ${before.id})`}
      order by k.created desc, k.key_id desc limit ${limit}`.execute(db)
  ).rows;

export const listLiveSecrets = async (
  db: Db,
  { before, now, limit }: { before: CredentialPlace | undefined; now: Date; limit: number },
): Promise<CredentialRow[]> =>
  (
    await sql<CredentialRow>`${secrets}
      where s.revoked_at is null and c.disabled_at is null and (s.expires is null or s.expires > ${now})
        and ${before === undefined ? sql`true` : sql`(s.created, s.secret_id) < (${before.created}, ${before.id})`}
      order by s.created desc, s.secret_id desc limit ${limit}`.execute(db)
  ).rows;

export const listLiveClientKeys = async (
  db: Db,
  { before, limit }: { before: CredentialPlace | undefined; limit: number },
): Promise<CredentialRow[]> =>
  (
    await sql<CredentialRow>`${clientKeys}
      where k.revoked_at is null and c.disabled_at is null
        and ${
          before === undefined
            ? sql`true`
            : sql`(k.created, k.client_id, k.key_id) < (${before.created}, ${before.holder}, ${before.id})`
        }
      order by k.created desc, k.client_id desc, k.key_id desc limit ${limit}`.execute(db)
  ).rows;

/** By client, along the primary key, so that a page costs as much as it shows. */
export const listLiveCertificates = async (
  db: Db,
  { before, now, limit }: { before: CredentialPlace | undefined; now: Date; limit: number },
): Promise<CredentialRow[]> =>
  (
    await sql<CredentialRow>`${certificates}
      where x.revoked_at is null and c.disabled_at is null and (x.expires is null or x.expires > ${now})
        and ${before === undefined ? sql`true` : sql`(x.client_id, x.thumbprint) > (${before.holder}, ${before.id})`}
      order by x.client_id, x.thumbprint limit ${limit}`.execute(db)
  ).rows;

/** Of several clients with the same certificate: the one whose certificate is valid, and was registered last. */
export const findCertificateRow = async (db: Db, thumbprint: string): Promise<CredentialRow | undefined> =>
  (
    await sql<CredentialRow>`${certificates} where x.thumbprint = ${thumbprint}
      order by x.revoked_at is not null, x.created desc limit 1`.execute(db)
  ).rows[0];

export const findKeyRow = async (db: Db, id: string): Promise<CredentialRow | undefined> =>
  (await sql<CredentialRow>`${keys} where k.key_id = ${id}`.execute(db)).rows[0];

export const findSecretRow = async (db: Db, id: string): Promise<CredentialRow | undefined> =>
  (await sql<CredentialRow>`${secrets} where s.secret_id = ${id}`.execute(db)).rows[0];

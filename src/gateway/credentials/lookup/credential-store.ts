/**
 * SQL of tenants, API keys and API clients. Only credentials.ts calls the changes, because each must raise the epoch and
 * name the credentials that it changes.
 */
import { type Kysely, sql } from 'kysely';
import type { OwnLimits } from '../../model/own-limits.ts';
import { type CredentialState, type StateColumns, stateColumns, stateOf } from './epoch-store.ts';

type Db = Kysely<unknown>;

/** `cell`: null for the default one. */
export type TenantState = { id: string; apiEnabled: boolean; gone: boolean; cell: string | null };

/** Limits of its own and networks that it may be used from; null: the defaults, and everywhere. */
type Bounds = { limits: OwnLimits | null; allowIp: readonly string[] | null };

export type KeyRow = Bounds & {
  keyId: string;
  revoked: boolean;
  /** When it was reported as leaked, which revoked it. */
  leakedMs: number | null;
  expiresMs: number | null;
  quarantinedReason: string | null;
  /** Id under which its quotas are counted, of a successor. */
  quotaOf: string | null;
  tenant: TenantState;
};

export type SecretRow = {
  secretId: string;
  digest: Buffer;
  /** 0 for a leaked one: it has ended by every clock. */
  expiresMs: number | null;
  quarantinedReason: string | null;
  /** When it was reported as leaked. */
  leakedMs: number | null;
};

/** `ended`: removed. */
/** `endedBeforeMs`: it was removed then, and registered again; null: it never was. */
export type CertificateRow = {
  thumbprint: string;
  expiresMs: number | null;
  ended: boolean;
  endedBeforeMs: number | null;
};

export type ClientKeyRow = { keyId: string; jwk: Readonly<Record<string, unknown>> };

export type ClientRow = Bounds & {
  clientId: string;
  /** null: all. */
  scopes: readonly string[] | null;
  mayUseTokens: boolean;
  mayIntrospect: boolean;
  /** The client gets only tokens that are bound to a key (RFC 9449). */
  dpopRequired: boolean;
  certificateRequired: boolean;
  certificateName: string | null;
  /** The client is held to the FAPI 2.0 Security Profile (dpop/profile.ts). */
  fapi2Required: boolean;
  disabled: boolean;
  quarantinedReason: string | null;
  /** Tokens issued before this time are refused. */
  tokensNotBeforeMs: number | null;
  /** Secrets that are not revoked, and leaked ones; the caller checks `expiresMs`. */
  secrets: readonly SecretRow[];
  keys: readonly ClientKeyRow[];
  certificates: readonly CertificateRow[];
  /** Granted tenants, including removed ones. */
  tenants: readonly TenantState[];
};

/** `state`: state of all credentials in the snapshot in which the row was read. */
export type Found<T> = { row: T | undefined; state: CredentialState };

/** A key by its digest. Revoked keys are included, because their holder gets that reason. */
export const findApiKey = async (db: Db, digest: Buffer): Promise<Found<KeyRow>> => {
  const { rows } = await sql<ReadKey>`
    select ${stateColumns}, k.key_id, k.revoked_at is not null as revoked, k.leak_reported_at, k.expires, k.quarantined_reason, k.limits,
      k.allow_ip, k.quota_of, t.cell, t.id, t.api_enabled, t.gone_at is not null as gone
    from gateway.credential_epoch e
    left join (gateway.api_keys k join gateway.tenants t on t.id = k.tenant) on k.digest = ${digest}`.execute(db);
  const row = stateRow(rows);
  const { key_id: keyId } = row;
  const state = stateOf(row);
  if (keyId === null) return { state, row: undefined };
  const tenant = { id: row.id, apiEnabled: row.api_enabled, gone: row.gone, cell: row.cell };
  const { revoked, quarantined_reason: quarantinedReason, limits, allow_ip: allowIp, quota_of: quotaOf } = row;
  const [expiresMs, leakedMs] = [row.expires?.getTime() ?? null, row.leak_reported_at?.getTime() ?? null];
  return { state, row: { keyId, revoked, leakedMs, expiresMs, quarantinedReason, limits, allowIp, quotaOf, tenant } };
};

type ReadKey = StateColumns & {
  key_id: string | null;
  revoked: boolean;
  leak_reported_at: Date | null;
  expires: Date | null;
  quarantined_reason: string | null;
  id: string;
  api_enabled: boolean;
  gone: boolean;
  cell: string | null;
  limits: OwnLimits | null;
  allow_ip: string[] | null;
  quota_of: string | null;
};

const stateRow = <T>([row]: readonly T[]): T => {
  if (row === undefined) throw new Error('gateway.credential_epoch holds no row');
  return row;
};

/** A client with its live secrets and grants. One statement gives one snapshot, and the same cost for unknown ids. */
export const findClient = async (db: Db, clientId: string): Promise<Found<ClientRow>> => {
  const { rows } = await sql<Omit<ReadClient, 'client_id'> & StateColumns & { client_id: string | null }>`
    select ${stateColumns}, c.client_id, c.scopes, c.may_use_tokens, c.may_introspect,
      c.disabled_at is not null as disabled, c.dpop_required, c.fapi2_required, c.quarantined_reason, c.tokens_not_before,
      c.limits, c.allow_ip, c.certificate_required, c.certificate_name,
      (select coalesce(json_agg(json_build_object('id', s.secret_id, 'digest', encode(s.digest, 'hex'),
         'expires', floor(extract(epoch from s.expires) * 1000), 'quarantined', s.quarantined_reason,
         'leaked', floor(extract(epoch from s.leak_reported_at) * 1000)) order by s.created, s.secret_id), '[]')
       from (select * from gateway.client_secrets l where l.client_id = c.client_id and l.revoked_at is null union all
         select * from gateway.client_secrets l where l.client_id = c.client_id and l.revoked_at is not null
           and l.leak_reported_at > now() - interval '30 days') s) as secrets,
      (select coalesce(json_agg(json_build_object('id', k.key_id, 'jwk', k.jwk) order by k.created, k.key_id), '[]')
       from gateway.client_keys k where k.client_id = c.client_id and k.revoked_at is null) as keys,
      (select coalesce(json_agg(json_build_object('thumbprint', x.thumbprint, 'ended', x.revoked_at is not null,
         'endedBeforeMs', floor(extract(epoch from x.ended_before) * 1000),
         'expiresMs', floor(extract(epoch from x.expires) * 1000)) order by x.created, x.thumbprint), '[]')
       from gateway.client_certificates x where x.client_id = c.client_id) as certificates,
      (select coalesce(json_agg(json_build_object('id', t.id, 'enabled', t.api_enabled,
         'gone', t.gone_at is not null, 'cell', t.cell) order by t.id), '[]')
       from gateway.client_tenants g join gateway.tenants t on t.id = g.tenant
       where g.client_id = c.client_id and g.withdrawn_at is null) as tenants
    from gateway.credential_epoch e left join gateway.clients c on c.client_id = ${clientId}`.execute(db);
  const row = stateRow(rows);
  return {
    state: stateOf(row),
    row: row.client_id === null ? undefined : toClientRow({ ...row, client_id: row.client_id }),
  };
};

type ReadClient = {
  client_id: string;
  scopes: string[] | null;
  may_use_tokens: boolean;
  may_introspect: boolean;
  dpop_required: boolean;
  certificate_required: boolean;
  certificate_name: string | null;
  fapi2_required: boolean;
  disabled: boolean;
  quarantined_reason: string | null;
  tokens_not_before: Date | null;
  limits: OwnLimits | null;
  allow_ip: string[] | null;
  secrets: { id: string; digest: string; expires: number | null; quarantined: string | null; leaked: number | null }[];
  keys: { id: string; jwk: Record<string, unknown> }[];
  certificates: CertificateRow[];
  tenants: { id: string; enabled: boolean; gone: boolean; cell: string | null }[];
};

const toClientRow = (row: ReadClient): ClientRow => ({
  clientId: row.client_id,
  scopes: row.scopes,
  mayUseTokens: row.may_use_tokens,
  mayIntrospect: row.may_introspect,
  dpopRequired: row.dpop_required,
  certificateRequired: row.certificate_required,
  certificateName: row.certificate_name,
  fapi2Required: row.fapi2_required,
  disabled: row.disabled,
  quarantinedReason: row.quarantined_reason,
  tokensNotBeforeMs: row.tokens_not_before?.getTime() ?? null,
  limits: row.limits,
  allowIp: row.allow_ip,
  secrets: row.secrets.map(({ id, digest, expires, quarantined, leaked }) => ({
    secretId: id,
    digest: Buffer.from(digest, 'hex'),
    expiresMs: leaked === null ? expires : 0,
    quarantinedReason: quarantined,
    leakedMs: leaked,
  })),
  keys: row.keys.map(({ id, jwk }) => ({ keyId: id, jwk })),
  certificates: row.certificates,
  tenants: row.tenants.map(({ id, enabled, gone, cell }) => ({ id, apiEnabled: enabled, gone, cell })),
});

/** An issued value, live or ended. `clientId`: client of a secret. `fingerprint` null: issued by an earlier version. */
export type IssuedRow = { digest: Buffer; fingerprint: string | null; clientId: string | null };

export const findIssuedKey = async (db: Db, keyId: string): Promise<IssuedRow | undefined> =>
  (
    await sql<IssuedRow>`
      select digest, fingerprint, null as "clientId" from gateway.api_keys where key_id = ${keyId}`.execute(db)
  ).rows[0];

export const findIssuedSecret = async (db: Db, secretId: string): Promise<IssuedRow | undefined> =>
  (
    await sql<IssuedRow>`
      select digest, fingerprint, client_id as "clientId" from gateway.client_secrets where secret_id = ${secretId}`.execute(
      db,
    )
  ).rows[0];

export const insertTenant = async (
  db: Db,
  id: string,
  now: Date,
  facts: Readonly<Record<string, unknown>>,
): Promise<void> => {
  await sql`
    insert into gateway.tenants (id, created, facts) values (${id}, ${now}, ${JSON.stringify(facts)}::jsonb)`.execute(
    db,
  );
};

/** Runs an update. The updates below return false when no row has the id. */
const changed = async (statement: ReturnType<typeof sql>, db: Db): Promise<boolean> =>
  ((await statement.execute(db)).numAffectedRows ?? 0n) > 0n;

export const updateTenantApi = (db: Db, id: string, enabled: boolean): Promise<boolean> =>
  changed(sql`update gateway.tenants set api_enabled = ${enabled} where id = ${id}`, db);

/** `cell`: null for the default one. */
export const updateTenantCell = (db: Db, id: string, cell: string | null): Promise<boolean> =>
  changed(sql`update gateway.tenants set cell = ${cell} where id = ${id} and gone_at is null`, db);

/** Null: the default one. Undefined: there is no such tenant. */
export const findTenantCell = async (db: Db, id: string): Promise<string | null | undefined> =>
  (
    await sql<{ cell: string | null }>`select cell from gateway.tenants where id = ${id} and gone_at is null`.execute(
      db,
    )
  ).rows[0]?.cell;

/** Facts about the tenant that callers may see. */
export const updateTenantFacts = (db: Db, id: string, facts: Readonly<Record<string, unknown>>): Promise<boolean> =>
  changed(sql`update gateway.tenants set facts = ${JSON.stringify(facts)}::jsonb where id = ${id}`, db);

/** Undefined: there is no such tenant. */
export const findTenantApi = async (db: Db, id: string): Promise<boolean | undefined> =>
  (await sql<{ enabled: boolean }>`select api_enabled as enabled from gateway.tenants where id = ${id}`.execute(db))
    .rows[0]?.enabled;

export const markTenantGone = (db: Db, id: string, now: Date): Promise<boolean> =>
  changed(sql`update gateway.tenants set gone_at = coalesce(gone_at, ${now}) where id = ${id}`, db);

export const tenantExists = async (db: Db, id: string): Promise<boolean> =>
  (await sql`select 1 from gateway.tenants where id = ${id} and gone_at is null`.execute(db)).rows.length > 0;

export type NewKeyRow = {
  tenant: string;
  keyId: string;
  name: string;
  digest: Buffer;
  fingerprint: string;
  created: Date;
  expires: Date | null;
};

export const insertApiKey = async (db: Db, key: NewKeyRow): Promise<void> => {
  await sql`
    insert into gateway.api_keys (tenant, key_id, name, digest, fingerprint, created, expires)
    values (${key.tenant}, ${key.keyId}, ${key.name}, ${key.digest}, ${key.fingerprint}, ${key.created},
      ${key.expires})`.execute(db);
};

/** Revoking a key again keeps the first time and reason. */
export const markKeyRevoked = (db: Db, keyId: string, reason: string, now: Date): Promise<boolean> =>
  changed(
    sql`update gateway.api_keys
        set revoked_at = coalesce(revoked_at, ${now}), revoked_reason = coalesce(revoked_reason, ${reason})
        where key_id = ${keyId}`,
    db,
  );

export type NewClientRow = {
  clientId: string;
  name: string;
  scopes: readonly string[] | null;
  dpopRequired: boolean;
  created: Date;
};

export const insertClient = async (db: Db, client: NewClientRow): Promise<void> => {
  await sql`
    insert into gateway.clients (client_id, name, scopes, dpop_required, created)
    values (${client.clientId}, ${client.name}, ${client.scopes}::text[], ${client.dpopRequired}, ${client.created})`.execute(
    db,
  );
};

export const clientExists = async (db: Db, clientId: string): Promise<boolean> =>
  (await sql`select 1 from gateway.clients where client_id = ${clientId}`.execute(db)).rows.length > 0;

export const markClientDisabled = (db: Db, clientId: string, now: Date): Promise<boolean> =>
  changed(
    sql`update gateway.clients set disabled_at = coalesce(disabled_at, ${now}) where client_id = ${clientId}`,
    db,
  );

export const updateClientScopes = (db: Db, clientId: string, scopes: readonly string[] | null): Promise<boolean> =>
  changed(sql`update gateway.clients set scopes = ${scopes}::text[] where client_id = ${clientId}`, db);

export const updateClientTokens = (db: Db, clientId: string, mayUseTokens: boolean): Promise<boolean> =>
  changed(sql`update gateway.clients set may_use_tokens = ${mayUseTokens} where client_id = ${clientId}`, db);

export type NewSecretRow = {
  secretId: string;
  clientId: string;
  digest: Buffer;
  fingerprint: string;
  created: Date;
  expires: Date | null;
};

export const insertSecret = async (db: Db, secret: NewSecretRow): Promise<void> => {
  await sql`
    insert into gateway.client_secrets (secret_id, client_id, digest, fingerprint, created, expires)
    values (${secret.secretId}, ${secret.clientId}, ${secret.digest}, ${secret.fingerprint}, ${secret.created},
      ${secret.expires})`.execute(db);
};

/** Returns the id of its client; undefined when no secret has the id. */
export const markSecretRevoked = async (db: Db, secretId: string, now: Date): Promise<string | undefined> => {
  const { rows } = await sql<{ client_id: string }>`
    update gateway.client_secrets set revoked_at = coalesce(revoked_at, ${now})
    where secret_id = ${secretId} returning client_id`.execute(db);
  return rows[0]?.client_id;
};

/** Granting a withdrawn tenant again makes the grant live. */
export const insertGrant = async (db: Db, clientId: string, tenant: string, now: Date): Promise<void> => {
  await sql`
    insert into gateway.client_tenants (tenant, client_id, granted_at) values (${tenant}, ${clientId}, ${now})
    on conflict (tenant, client_id) do update set granted_at = excluded.granted_at, withdrawn_at = null`.execute(db);
};

export const markGrantWithdrawn = (db: Db, clientId: string, tenant: string, now: Date): Promise<boolean> =>
  changed(
    sql`update gateway.client_tenants set withdrawn_at = coalesce(withdrawn_at, ${now})
        where tenant = ${tenant} and client_id = ${clientId}`,
    db,
  );

/** SQL that lists credentials, including ended and revoked ones, without digests. */
import { type Kysely, sql } from 'kysely';
import type { OwnLimits } from '../../model/own-limits.ts';

type Db = Kysely<unknown>;

export type ShownRow = {
  id: string;
  name: string;
  created: Date;
  expires: Date | null;
  revoked: boolean;
  quarantinedReason: string | null;
  /** A leak report ended it, or came after its end. Undefined: not of this kind. */
  leaked?: boolean;
};

export type ShownClientRow = ShownRow & {
  scopes: string[] | null;
  mayUseTokens: boolean;
  mayIntrospect: boolean;
  dpopRequired: boolean;
  certificateRequired: boolean;
  certificateName: string | null;
  fapi2Required: boolean;
  tokensNotBefore: Date | null;
  limits: OwnLimits | null;
  allowIp: string[] | null;
  tenants: string[];
};

/** Part of the clients; without a member all of them. `after`: those behind this client. */
export type ClientPart = { clientId?: string; after?: string | undefined; limit?: number };

/** Oldest first. */
export const listClients = async (db: Db, { clientId, after, limit }: ClientPart = {}): Promise<ShownClientRow[]> =>
  (
    await sql<ShownClientRow>`
      select c.client_id as id, c.name, c.created, null::timestamptz as expires, c.disabled_at is not null as revoked,
        c.quarantined_reason as "quarantinedReason", c.scopes, c.may_use_tokens as "mayUseTokens",
        c.may_introspect as "mayIntrospect", c.dpop_required as "dpopRequired", c.fapi2_required as "fapi2Required",
        c.tokens_not_before as "tokensNotBefore",
        c.certificate_required as "certificateRequired", c.certificate_name as "certificateName",
        c.limits, c.allow_ip as "allowIp",
        array(select tenant from gateway.client_tenants g
              where g.client_id = c.client_id and g.withdrawn_at is null order by tenant) as tenants
      from gateway.clients c where (${clientId ?? null}::text is null or c.client_id = ${clientId ?? null})
        and (${after ?? null}::text is null or (c.created, c.client_id) >
          (select created, client_id from gateway.clients where client_id = ${after ?? null}))
      order by c.created, c.client_id limit ${limit ?? null}`.execute(db)
  ).rows;

export const listSecrets = async (db: Db, clientId: string): Promise<ShownRow[]> =>
  (
    await sql<ShownRow>`
      select secret_id as id, '' as name, created, expires, revoked_at is not null as revoked,
        quarantined_reason as "quarantinedReason", leak_reported_at is not null as leaked
      from gateway.client_secrets where client_id = ${clientId} order by created, secret_id`.execute(db)
  ).rows;

export const listClientKeys = async (db: Db, clientId: string): Promise<ShownRow[]> =>
  (
    await sql<ShownRow>`
      select key_id as id, coalesce(jwk->>'kty', '') as name, created, null::timestamptz as expires,
        revoked_at is not null as revoked, null::text as "quarantinedReason"
      from gateway.client_keys where client_id = ${clientId} order by created, key_id`.execute(db)
  ).rows;

/** `name` is the subject. */
export const listCertificates = async (db: Db, clientId: string): Promise<ShownRow[]> =>
  (
    await sql<ShownRow>`
      select thumbprint as id, subject as name, created, expires, revoked_at is not null as revoked,
        null::text as "quarantinedReason"
      from gateway.client_certificates where client_id = ${clientId} order by created, thumbprint`.execute(db)
  ).rows;

export const listApiKeys = async (db: Db, tenant: string): Promise<ShownRow[]> =>
  (
    await sql<ShownRow>`
      select key_id as id, name, created, expires, revoked_at is not null as revoked,
        quarantined_reason as "quarantinedReason", leak_reported_at is not null as leaked
      from gateway.api_keys where tenant = ${tenant} order by created, key_id`.execute(db)
  ).rows;

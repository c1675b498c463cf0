/** The scopes that API clients hold now, for parts of the program that act for a client outside of its requests. */
import { type Kysely, sql } from 'kysely';
import { changesSince, credentialsOf } from './change-feed.ts';
import { type CredentialState, readChanges } from './epoch-store.ts';

export type ClientOfTenant = { tenant: string; clientId: string };

/**
 * `mayCall`: a request of the client for the tenant would pass, as far as client, grant and tenant are concerned (not
 * disabled, not quarantined, granted, API access on). `scopes`: null for every scope.
 */
export type ClientRights = ClientOfTenant & { mayCall: boolean; scopes: readonly string[] | null };

/** One entry for each wanted client that exists; their sequence is not that of `wanted`. */
export const readClientRights = async (
  db: Kysely<unknown>,
  wanted: readonly ClientOfTenant[],
): Promise<ClientRights[]> => {
  const { rows } = await sql<ClientRights>`
    select wanted.tenant, client.client_id as "clientId", client.scopes,
      client.disabled_at is null and client.quarantined_reason is null and exists (
        select from gateway.client_tenants as granted join gateway.tenants as tenant on tenant.id = granted.tenant
        where granted.client_id = client.client_id and granted.tenant = wanted.tenant
          and granted.withdrawn_at is null and tenant.api_enabled and tenant.gone_at is null
      ) as "mayCall"
    from unnest(${wanted.map(({ tenant }) => tenant)}::text[], ${wanted.map(({ clientId }) => clientId)}::text[])
      as wanted (tenant, client_id)
    join gateway.clients as client on client.client_id = wanted.client_id`.execute(db);
  return rows;
};

/**
 * `changed`: ids of the keys and clients that changed since `known`; `all`: any of them may have, as when `known` is
 * undefined.
 */
export const readChangedCredentials = async (
  db: Kysely<unknown>,
  known: CredentialState | undefined,
): Promise<{ state: CredentialState; changed: readonly string[] | 'all' }> => {
  const reading = await readChanges(db, known?.epoch);
  const changes = changesSince(known, reading);
  const changed = changes === undefined ? 'all' : credentialsOf(changes);
  return {
    state: { ...reading.credentials, store: reading.store },
    changed: changed === 'all' ? changed : [...changed],
  };
};

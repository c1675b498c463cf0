/**
 * The changes of tenants, API keys and API clients. Each function runs in a transaction of its own, or in the caller's
 * `tx`, and raises the epoch in it, with the keys and clients that are affected, so that every gateway forgets these
 * (lookup/cache.ts). Secret values are returned once and stored as digests only. An id that does not exist is a NOT_FOUND fault.
 */
import { validationFault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { newApiKey, newClientId } from '../model/credential-values.ts';
import type { OwnLimits } from '../model/own-limits.ts';
import { defaultCell } from '../model/upstream-policy.ts';
import { certificateChanges, type GivenName, readCertificateName } from './change/certificates.ts';
import {
  type Affected,
  all,
  change,
  none,
  noteChange,
  noteState,
  only,
  revoking,
  storedForm,
  type Tx,
} from './change/change.ts';
import { applyAllowIp, applyLimits, limitChanges } from './change/limits.ts';
import { type IssuedKey, type IssuedSecret, issueSecret, rotations } from './change/rotation.ts';
import { assertOneKind, isForSandboxes } from './change/sandbox-kind.ts';
import { stateChanges } from './change/states.ts';
import { trustChanges } from './change/trusts.ts';
import * as store from './lookup/credential-store.ts';
import { credentialViews } from './show/show-credentials.ts';
import { updateCertificateName } from './state/certificate-store.ts';
import { assertFound, type CredentialsDeps, found } from './state/credentials-deps.ts';
import type { LimitedKind } from './state/limit-store.ts';
import { updateClientDpop, updateClientIntrospection } from './state/state-store.ts';

export type { CredentialsDeps } from './state/credentials-deps.ts';

/** `allowIp`: addresses and networks in CIDR notation; without it everywhere. `limits`: beside the defaults. */
type NewBounds = { allowIp?: readonly string[]; limits?: OwnLimits };

export type NewApiKey = NewBounds & { tenant: string; name: string; expires?: Date };
export type NewClient = NewBounds & {
  name: string;
  tenants: readonly string[];
  /** Null, as without it: all scopes, including future ones. */
  scopes?: readonly string[] | null;
  /** The client may introspect tokens of every client (RFC 7662). */
  mayIntrospect?: boolean;
  /** The client gets only tokens that are bound to a key (RFC 9449). */
  dpopRequired?: boolean;
};

type MadeClient = IssuedSecret & { clientId: string };

export type Credentials = ReturnType<typeof createCredentials>;

export const createCredentials = (deps: CredentialsDeps) => ({
  ...tenantChanges(deps),
  ...keyChanges(deps),
  ...clientChanges(deps),
  ...secretChanges(deps),
  ...stateChanges(deps),
  ...limitChanges(deps),
  ...trustChanges(deps),
  ...rotations(deps),
  ...certificateChanges(deps),
  ...credentialViews(deps),
});

const tenantChanges = (deps: CredentialsDeps) => ({
  /** `facts`: facts about the tenant that callers may see; they are not interpreted here. */
  createTenant: (id: string, tx?: Tx, facts: Readonly<Record<string, unknown>> = {}): Promise<void> =>
    change(deps, tx, none, async (inner) => {
      await store.insertTenant(inner, id, deps.clock.now(), facts);
      const details = JSON.stringify({ sandbox: true });
      await noteChange(deps, inner, { action: 'tenant.created', tenants: [id], ...(isSandboxId(id) && { details }) });
    }),

  setTenantApiEnabled: (id: string, enabled: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, all, async (inner) => {
      assertFound(await store.updateTenantApi(inner, id, enabled), 'tenant', id);
      const details = JSON.stringify({ api_enabled: enabled });
      await noteChange(deps, inner, { action: 'tenant.changed', tenants: [id], details });
    }),

  /** Makes every gateway forward requests for the tenant to the upstream of this cell. It moves no rows. */
  setTenantCell: (id: string, cell: string, tx?: Tx): Promise<void> =>
    change(deps, tx, all, async (inner) => {
      assertFound(await store.updateTenantCell(inner, id, cell === defaultCell ? null : cell), 'tenant', id);
      await noteChange(deps, inner, { action: 'tenant.changed', tenants: [id], details: JSON.stringify({ cell }) });
    }),

  showTenantCell: async (id: string, tx?: Tx): Promise<string> =>
    found(await store.findTenantCell(tx ?? deps.db, id), 'tenant', id) ?? defaultCell,

  describeTenant: (id: string, facts: Readonly<Record<string, unknown>>, tx?: Tx): Promise<void> =>
    change(deps, tx, none, async (inner) => {
      assertFound(await store.updateTenantFacts(inner, id, facts), 'tenant', id);
      await noteChange(deps, inner, { action: 'tenant.changed', tenants: [id], details: JSON.stringify(facts) });
    }),

  isTenantApiEnabled: async (id: string, tx?: Tx): Promise<boolean> =>
    (await store.findTenantApi(tx ?? deps.db, id)) ?? false,

  /** Removes the tenant permanently. Its keys and grants remain stored and give no access. */
  removeTenant: (id: string, tx?: Tx): Promise<void> =>
    change(deps, tx, all, async (inner) => {
      assertFound(await store.markTenantGone(inner, id, deps.clock.now()), 'tenant', id);
      await noteChange(deps, inner, { action: 'tenant.removed', tenants: [id] });
    }),
});

const madeKey = ({ keyId }: IssuedKey): Affected => only(keyId);

const keyChanges = (deps: CredentialsDeps) => ({
  createApiKey: ({ tenant, name, expires, ...bounds }: NewApiKey, tx?: Tx): Promise<IssuedKey> =>
    change(deps, tx, madeKey, async (inner) => {
      assertFound(await store.tenantExists(inner, tenant), 'tenant', tenant);
      const { id, value } = newApiKey(isSandboxId(tenant));
      const stored = storedForm(deps, value);
      const created = deps.clock.now();
      await store.insertApiKey(inner, { tenant, keyId: id, name, ...stored, created, expires: expires ?? null });
      await noteChange(deps, inner, { action: 'key.created', kind: 'api_key', credential_id: id, tenants: [tenant] });
      await applyBounds(deps, inner, 'key', id, bounds);
      return { keyId: id, value };
    }),

  revokeApiKey: (keyId: string, tx?: Tx, reason = 'revoked'): Promise<void> =>
    change(deps, tx, revoking(keyId), async (inner) => {
      assertFound(await store.markKeyRevoked(inner, keyId, reason, deps.clock.now()), 'key', keyId);
      await noteState(deps, inner, { kind: 'api_key', credential: keyId, state: 'revoked', reason });
    }),
});

const applyBounds = async (
  deps: CredentialsDeps,
  tx: Tx,
  kind: LimitedKind,
  id: string,
  { allowIp, limits }: NewBounds,
): Promise<void> => {
  if (limits !== undefined) await applyLimits(deps, tx, kind, id, limits);
  if (allowIp !== undefined) await applyAllowIp(deps, tx, kind, id, allowIp);
};

const assertScopesExist = (deps: CredentialsDeps, scopes: readonly string[]): void => {
  const unknown = scopes.filter((scope) => deps.scopes?.includes(scope) === false);
  if (unknown.length === 0) return;
  throw validationFault(
    unknown.map((scope) => ({ pointer: 'scope', code: 'ENUM', message: `no such scope: ${scope}` })),
  );
};

const madeClient = ({ clientId }: { clientId: string }): Affected => only(clientId);

const insertClient = async (
  deps: CredentialsDeps,
  tx: Tx,
  { name, tenants, scopes = null, mayIntrospect, dpopRequired = false, ...bounds }: NewClient,
  certificateName?: string,
): Promise<string> => {
  if (scopes !== null) assertScopesExist(deps, scopes);
  const created = deps.clock.now();
  const clientId = newClientId(isForSandboxes(tenants));
  await store.insertClient(tx, { clientId, name, scopes, dpopRequired, created });
  if (mayIntrospect === true) await updateClientIntrospection(tx, clientId, true);
  if (certificateName !== undefined) await updateCertificateName(tx, clientId, certificateName);
  for (const tenant of tenants) {
    assertFound(await store.tenantExists(tx, tenant), 'tenant', tenant);
    await store.insertGrant(tx, clientId, tenant, created);
  }
  await noteChange(deps, tx, {
    action: 'client.created',
    client_id: clientId,
    tenants,
    scopes: scopes ?? [],
    details: JSON.stringify({ all: scopes === null, certificate_name: certificateName }),
  });
  await applyBounds(deps, tx, 'client', clientId, bounds);
  return clientId;
};

const clientChanges = (deps: CredentialsDeps) => ({
  createClient: (client: NewClient, tx?: Tx): Promise<MadeClient> =>
    change(deps, tx, madeClient, async (inner) => {
      const clientId = await insertClient(deps, inner, client);
      const secret = await issueSecret(deps, inner, clientId, null);
      return { clientId, ...secret };
    }),

  /** A client without a secret, known by the name in certificates of the operator's authorities (RFC 8705 section 2.1). */
  createCertificateClient: (client: NewClient, given: GivenName, tx?: Tx): Promise<{ clientId: string }> =>
    change(deps, tx, madeClient, async (inner) => ({
      clientId: await insertClient(deps, inner, client, readCertificateName(given)),
    })),

  /** Disables the client permanently. */
  disableClient: (clientId: string, tx?: Tx, reason = 'disabled'): Promise<void> =>
    change(deps, tx, revoking(clientId), async (inner) => {
      assertFound(await store.markClientDisabled(inner, clientId, deps.clock.now()), 'client', clientId);
      await noteState(deps, inner, { kind: 'client', credential: clientId, state: 'revoked', reason });
    }),

  /** null: all scopes. Issued tokens lose the scopes that the client loses. */
  setClientScopes: (clientId: string, scopes: readonly string[] | null, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      if (scopes !== null) assertScopesExist(deps, scopes);
      assertFound(await store.updateClientScopes(inner, clientId, scopes), 'client', clientId);
      const details = JSON.stringify({ all: scopes === null });
      const action = 'client.scopes_changed';
      await noteChange(deps, inner, { action, client_id: clientId, scopes: scopes ?? [], details });
    }),

  /** Without this right the client gets no tokens, and its issued tokens are refused. */
  setClientMayUseTokens: (clientId: string, mayUseTokens: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.updateClientTokens(inner, clientId, mayUseTokens), 'client', clientId);
      const details = JSON.stringify({ may_use_tokens: mayUseTokens });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),

  /**
   * While it is required, tokens that are not bound to a key (RFC 9449) are refused; afterwards they are valid again.
   */
  setClientDpopRequired: (clientId: string, dpopRequired: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await updateClientDpop(inner, clientId, dpopRequired), 'client', clientId);
      const details = JSON.stringify({ dpop_required: dpopRequired });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),

  grantTenant: (clientId: string, tenant: string, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.clientExists(inner, clientId), 'client', clientId);
      assertFound(await store.tenantExists(inner, tenant), 'tenant', tenant);
      assertOneKind(clientId, tenant);
      await store.insertGrant(inner, clientId, tenant, deps.clock.now());
      await noteChange(deps, inner, { action: 'client.granted', client_id: clientId, tenants: [tenant] });
    }),

  withdrawTenant: (clientId: string, tenant: string, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.markGrantWithdrawn(inner, clientId, tenant, deps.clock.now()), 'grant of', tenant);
      await noteChange(deps, inner, { action: 'client.withdrawn', client_id: clientId, tenants: [tenant] });
    }),
});

const secretChanges = (deps: CredentialsDeps) => ({
  /** Adds a live secret; the earlier ones remain valid until they expire or are revoked. */
  addClientSecret: (clientId: string, expires: Date | null = null, tx?: Tx): Promise<IssuedSecret> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.clientExists(inner, clientId), 'client', clientId);
      return issueSecret(deps, inner, clientId, expires);
    }),

  revokeClientSecret: async (secretId: string, tx?: Tx): Promise<void> => {
    await change(deps, tx, revoking, async (inner) => {
      const clientId = found(await store.markSecretRevoked(inner, secretId, deps.clock.now()), 'secret', secretId);
      await noteState(deps, inner, { kind: 'secret', credential: secretId, state: 'revoked', reason: 'revoked' });
      return clientId;
    });
  },
});

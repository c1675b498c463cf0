/**
 * Quarantine and reactivation, the right to introspect, and the revocation of all tokens of a client. A quarantined
 * credential is refused with the given reason; a revoked one is refused as revoked.
 */
import { Fault } from '#src/contract/fault.ts';
import { tenantExists } from '../lookup/credential-store.ts';
import { assertFound, type CredentialsDeps, found } from '../state/credentials-deps.ts';
import * as store from '../state/state-store.ts';
import { change, noteChange, noteState, only, revoking, type Tx } from './change.ts';

const updates = {
  client: store.updateClientQuarantine,
  secret: store.updateSecretQuarantine,
  api_key: store.updateKeyQuarantine,
} as const;

export type Quarantinable = keyof typeof updates;

/** The refused caller reads the reason, so it must be short. */
const reasonLengthMax = 200;

const assertReason = (reason: string): void => {
  if (reason.trim() === '' || reason.length > reasonLengthMax) {
    throw new Fault('VALIDATION_ERROR', `The reason must have 1 to ${reasonLengthMax} characters`);
  }
};

export const stateChanges = (deps: CredentialsDeps) => ({
  /** Makes every gateway refuse the credential with 403 and `reason` within a second, until it is reactivated. */
  quarantine: async (kind: Quarantinable, id: string, reason: string, tx?: Tx): Promise<void> => {
    assertReason(reason);
    await change(deps, tx, only, async (inner) => {
      const affected = found(await updates[kind](inner, id, reason), labelOf[kind], id);
      await noteState(deps, inner, { kind, credential: id, state: 'quarantined', reason });
      return affected;
    });
  },

  /** Ends a quarantine. CONFLICT for a client that is disabled. */
  reactivate: async (kind: Quarantinable, id: string, reason: string, tx?: Tx): Promise<void> => {
    assertReason(reason);
    await change(deps, tx, only, async (inner) => {
      const affected = found(await updates[kind](inner, id, null), labelOf[kind], id);
      if (kind === 'client' && (await store.isClientDisabled(inner, id))) {
        throw new Fault('CONFLICT', `The client ${id} was disabled permanently`);
      }
      await noteState(deps, inner, { kind, credential: id, state: 'active', reason });
      return affected;
    });
  },

  /** Sets whether the client may introspect tokens of every client (RFC 7662). */
  setClientMayIntrospect: (clientId: string, mayIntrospect: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.updateClientIntrospection(inner, clientId, mayIntrospect), 'client', clientId);
      const details = JSON.stringify({ may_introspect: mayIntrospect });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),

  /**
   * While it is required, the client's secrets and its tokens that are bound to no key are refused (dpop/profile.ts); afterwards
   * they are valid again.
   */
  setClientFapi2Required: (clientId: string, fapi2Required: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.updateClientFapi2(inner, clientId, fapi2Required), 'client', clientId);
      const details = JSON.stringify({ fapi2_required: fapi2Required });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),

  /**
   * Revokes every token of the client that was issued before `before` (default now). Tokens contain whole seconds, so a
   * token issued in the same second is refused too; the next token request gets a valid one. Returns `before`.
   */
  revokeClientTokens: async (clientId: string, before = deps.clock.now(), tx?: Tx): Promise<Date> => {
    if (before.getTime() > deps.clock.now().getTime()) {
      throw new Fault('VALIDATION_ERROR', 'The time must not be in the future: later tokens would be refused');
    }
    return change(deps, tx, revoking(clientId), async (inner) => {
      assertFound(await store.updateTokensNotBefore(inner, clientId, before), 'client', clientId);
      const reason = `tokens issued before ${before.toISOString()}`;
      await noteState(deps, inner, { kind: 'tokens', credential: clientId, state: 'revoked', reason });
      return before;
    });
  },

  /**
   * Revokes all live keys of the tenant and returns their ids. NOT_FOUND for an unknown tenant, to catch typing errors.
   */
  revokeTenantKeys: (tenant: string, reason = 'all keys of the tenant revoked', tx?: Tx): Promise<string[]> =>
    change(deps, tx, revoking, async (inner) => {
      const ids = await store.revokeTenantKeys(inner, tenant, reason, deps.clock.now());
      if (ids.length === 0) assertFound(await tenantExists(inner, tenant), 'tenant', tenant);
      for (const id of ids) {
        await noteState(deps, inner, { kind: 'api_key', credential: id, state: 'revoked', reason });
      }
      return ids;
    }),
});

const labelOf: Readonly<Record<Quarantinable, string>> = { client: 'client', secret: 'secret', api_key: 'key' };

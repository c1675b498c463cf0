/**
 * Quarantine and its end, the rights of a client, and the end of its tokens. A quarantined credential is known and refused
 * with the reason; a revoked one is not known any more.
 */
import { Fault } from '#src/contract/fault.ts';
import { tenantExists } from '../lookup/credential-store.ts';
import { assertFound, type CredentialsDeps, change, noteChange, noteState, type Tx } from './change.ts';
import * as store from './state-store.ts';

const updates = {
  client: store.updateClientQuarantine,
  secret: store.updateSecretQuarantine,
  api_key: store.updateKeyQuarantine,
} as const;

export type Quarantinable = keyof typeof updates;

/** It is read by whoever is refused, so it must be a sentence and not a page. */
const reasonLengthMax = 200;

const assertReason = (reason: string): void => {
  if (reason.trim() === '' || reason.length > reasonLengthMax) {
    throw new Fault('VALIDATION_ERROR', `The reason must have 1 to ${reasonLengthMax} characters`);
  }
};

export const stateChanges = (deps: CredentialsDeps) => ({
  /** Refused with 403 and `reason` by every gateway within a second, until it is reactivated. */
  quarantine: async (kind: Quarantinable, id: string, reason: string, tx?: Tx): Promise<void> => {
    assertReason(reason);
    return change(deps, tx, async (inner) => {
      assertFound(await updates[kind](inner, id, reason), wordOf[kind], id);
      await noteState(deps, inner, { kind, credential: id, state: 'quarantined', reason });
    });
  },

  /** Ends a quarantine. What was revoked stays so: CONFLICT. */
  reactivate: async (kind: Quarantinable, id: string, reason: string, tx?: Tx): Promise<void> => {
    assertReason(reason);
    return change(deps, tx, async (inner) => {
      assertFound(await updates[kind](inner, id, null), wordOf[kind], id);
      if (kind === 'client' && (await store.isClientDisabled(inner, id))) {
        throw new Fault('CONFLICT', `The client ${id} was disabled for good`);
      }
      await noteState(deps, inner, { kind, credential: id, state: 'active', reason });
    });
  },

  /** Whether the client may ask about tokens of everybody (RFC 7662). */
  setClientMayIntrospect: (clientId: string, mayIntrospect: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, async (inner) => {
      assertFound(await store.updateClientIntrospection(inner, clientId, mayIntrospect), 'client', clientId);
      const details = JSON.stringify({ may_introspect: mayIntrospect });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),

  /**
   * Refuses every token of the client that was issued before `before` (default now). Tokens carry whole seconds, so one
   * that is issued in the same second is refused as well; the next request for a token gives a good one.
   */
  revokeClientTokens: async (clientId: string, before = deps.clock.now(), tx?: Tx): Promise<void> => {
    if (before.getTime() > deps.clock.now().getTime()) {
      throw new Fault('VALIDATION_ERROR', 'The time must not lie ahead: tokens that come later would be refused');
    }
    return change(deps, tx, async (inner) => {
      assertFound(await store.updateTokensNotBefore(inner, clientId, before), 'client', clientId);
      const reason = `tokens issued before ${before.toISOString()}`;
      await noteState(deps, inner, { kind: 'tokens', credential: clientId, state: 'revoked', reason });
    });
  },

  /** All live keys of the tenant; returns their ids. NOT_FOUND: nobody may believe that a mistyped tenant is shut out. */
  revokeTenantKeys: (tenant: string, reason = 'all keys of the tenant revoked', tx?: Tx): Promise<string[]> =>
    change(deps, tx, async (inner) => {
      const ids = await store.revokeTenantKeys(inner, tenant, reason, deps.clock.now());
      if (ids.length === 0) assertFound(await tenantExists(inner, tenant), 'tenant', tenant);
      for (const id of ids) {
        await noteState(deps, inner, { kind: 'api_key', credential: id, state: 'revoked', reason });
      }
      return ids;
    }),
});

const wordOf: Readonly<Record<Quarantinable, string>> = { client: 'client', secret: 'secret', api_key: 'key' };

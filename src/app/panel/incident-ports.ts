/** The port of the incident page: trace and revoke a credential. */
import {
  appendChange,
  findCredential,
  type IssuedToken as GatewayToken,
  type HashedTrace,
  revokeHashed,
  traceHashed,
} from '#src/gateway/index.ts';
import type { CredentialTrace, IssuedToken, SecurityPorts } from '#src/panel/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { toEntry } from './audit-entry.ts';
import type { PortDeps } from './port-deps.ts';

export const createIncidentPorts = ({
  installation: { store, box, clock },
}: PortDeps): Pick<SecurityPorts, 'trace' | 'revoke'> => {
  const deps = { db: store.db, box, clock };

  const stateOf = async (traced: HashedTrace): Promise<CredentialTrace['state']> => {
    const { kind, credential_id: id } = traced;
    if (kind === 'token') return traced.state;
    return (await findCredential(deps, kind, id))?.state;
  };

  return {
    trace: async ({ actor, address }, hashed) => {
      const traced = await traceHashed(deps, hashed);
      const { fingerprint, client_id, credential_id } = traced;
      const state = await stateOf(traced);
      // The reading is recorded in the audit before its result is returned.
      await inTransaction(store.db, (tx) =>
        appendChange(tx, box, clock.now(), {
          action: 'audit.read',
          actor,
          address,
          fingerprint,
          client_id,
          credential_id,
          details: JSON.stringify({ read: 'trace', kind: traced.kind }),
        }),
      );
      return toTrace(traced, state);
    },
    revoke: async ({ actor }, hashed) => (await revokeHashed({ ...deps, actor }, hashed)).events.map(toEntry),
  };
};

const toTrace = (traced: HashedTrace, state: CredentialTrace['state']): CredentialTrace => {
  const issued = traced.issued === null ? undefined : toEntry(traced.issued);
  return {
    kind: traced.kind,
    id: traced.credential_id,
    fingerprint: traced.fingerprint,
    genuine: traced.genuine,
    exists: traced.exists,
    state,
    clientId: traced.client_id,
    restaurants: issued?.restaurants ?? [],
    parent: traced.parent,
    issued,
    calls: traced.calls,
    refused: traced.refused,
    partial: traced.partial,
    scopesUsed: traced.scopes_used,
    addresses: traced.addresses,
    firstUsed: dateOf(traced.first_used),
    lastUsed: dateOf(traced.last_used),
    tokens: traced.tokens,
    descendants: traced.descendants.map(toToken),
    issuedUse: traced.issued_use === null ? undefined : toUse(traced.issued_use),
    refusals: traced.refusals.map(toEntry),
  };
};

const toUse = (use: NonNullable<HashedTrace['issued_use']>): CredentialTrace['issuedUse'] => ({
  calls: use.calls,
  refused: use.refused,
  partial: use.partial,
  addresses: use.addresses,
  lastUsed: dateOf(use.last_used),
});

const dateOf = (text: string | null): Date | undefined => (text === null ? undefined : new Date(text));

export const toToken = (token: GatewayToken): IssuedToken => ({
  id: token.token_id,
  clientId: token.client_id,
  parent: token.parent,
  issued: new Date(token.issued),
  expires: new Date(token.expires),
  scopes: token.scopes,
  address: token.address,
  state: token.state,
});

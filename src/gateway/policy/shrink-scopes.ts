/** Removes scopes from a client. A concurrent change can never make it add a scope. */
import { Fault } from '#src/contract/fault.ts';
import { change, noteChange, only } from '../credentials/change/change.ts';
import { updateClientScopes } from '../credentials/lookup/credential-store.ts';
import { lockClientScopes } from '../credentials/show/client-page-store.ts';
import type { CredentialsDeps } from '../credentials/state/credentials-deps.ts';

/**
 * Keeps the scopes that the client holds and `keep` lists, and returns them. `deps.scopes`: the scopes of a client that
 * holds all. NOT_FOUND.
 */
export const shrinkClientScopes = (
  deps: CredentialsDeps & { scopes: readonly string[] },
  clientId: string,
  keep: readonly string[],
): Promise<string[]> =>
  change(deps, undefined, only(clientId), async (tx) => {
    const held = await lockClientScopes(tx, clientId);
    if (held === undefined) throw new Fault('NOT_FOUND', `There is no client ${clientId}`);
    const left = (held.scopes ?? deps.scopes).filter((scope) => keep.includes(scope));
    await updateClientScopes(tx, clientId, left);
    const details = JSON.stringify({ all: false, before: held.scopes });
    await noteChange(deps, tx, { action: 'client.scopes_changed', client_id: clientId, scopes: left, details });
    return left;
  });

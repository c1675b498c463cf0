/** Removes scopes from a client. With a concurrent change it removes no other scope, and adds none. */
import { Fault } from '#src/contract/fault.ts';
import { change, noteChange, only } from '../credentials/change/change.ts';
import { updateClientScopes } from '../credentials/lookup/credential-store.ts';
import { lockClientScopes } from '../credentials/show/client-page-store.ts';
import type { CredentialsDeps } from '../credentials/state/credentials-deps.ts';

/**
 * Removes the scopes that `unused` lists, and returns those that are left. `deps.scopes`: the scopes of a client that holds
 * all. NOT_FOUND.
 */
export const shrinkClientScopes = (
  deps: CredentialsDeps & { scopes: readonly string[] },
  clientId: string,
  unused: readonly string[],
): Promise<string[]> =>
  change(deps, undefined, only(clientId), async (tx) => {
    const held = await lockClientScopes(tx, clientId);
    if (held === undefined) throw new Fault('NOT_FOUND', `There is no client ${clientId}`);
    const before = held.scopes ?? deps.scopes;
    const left = before.filter((scope) => !unused.includes(scope));
    // A client that holds all scopes, later ones too, would get a list of those of now.
    if (left.length === before.length) return left;
    await updateClientScopes(tx, clientId, left);
    const details = JSON.stringify({ all: false, before: held.scopes });
    await noteChange(deps, tx, { action: 'client.scopes_changed', client_id: clientId, scopes: left, details });
    return left;
  });

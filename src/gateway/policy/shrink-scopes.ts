/** Takes scopes away from a client. However it is raced, nothing is added by it. */
import { Fault } from '#src/contract/fault.ts';
import { type CredentialsDeps, change, noteChange } from '../credentials/change/change.ts';
import { updateClientScopes } from '../credentials/lookup/credential-store.ts';
import { lockClientScopes } from '../credentials/show/client-page-store.ts';

/** Leaves what the client holds and `keep` names; returns it. `deps.scopes` is what "all" means. NOT_FOUND. */
export const shrinkClientScopes = (
  deps: CredentialsDeps & { scopes: readonly string[] },
  clientId: string,
  keep: readonly string[],
): Promise<string[]> =>
  change(deps, undefined, async (tx) => {
    const held = await lockClientScopes(tx, clientId);
    if (held === undefined) throw new Fault('NOT_FOUND', `There is no client ${clientId}`);
    const left = (held.scopes ?? deps.scopes).filter((scope) => keep.includes(scope));
    await updateClientScopes(tx, clientId, left);
    const details = JSON.stringify({ all: false, before: held.scopes });
    await noteChange(deps, tx, { action: 'client.scopes_changed', client_id: clientId, scopes: left, details });
    return left;
  });

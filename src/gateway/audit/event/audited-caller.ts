/** Pure: the members of an audit event that name a caller, and the value that its fingerprint is made of. */
import type { Fault } from '#src/contract/fault.ts';
import type { Allowed } from '../../model/allowed-use.ts';
import type { Principal } from '../../model/principal.ts';
import { TracedFault } from '../../model/traced-fault.ts';
import type { Presented } from '../../request/read-credential.ts';

export const secretOf = (presented: Presented): string | undefined => {
  switch (presented.kind) {
    case 'api_key':
      return presented.key;
    case 'client':
      return presented.secret;
    case 'bearer':
      return presented.token;
    default:
      return undefined;
  }
};

export const callerOf = (
  principal: Principal,
): Pick<Allowed, 'kind' | 'credential_id' | 'token_id' | 'client_id' | 'tenants'> => ({
  kind: principal.kind,
  credential_id: principal.kind === 'bearer' ? null : principal.credentialId,
  token_id: principal.tokenId ?? null,
  client_id: principal.kind === 'api_key' ? null : principal.id,
  tenants: principal.tenants,
});

/**
 * The credential behind the refusal: of several, the first one when it is right, since the fault then names its caller.
 */
export const shownOf = (presented: Presented | undefined, fault: Fault): Presented | undefined =>
  presented?.kind === 'refused' && fault instanceof TracedFault ? presented.first : presented;

/** A refused caller is named only when the gateway itself found the key or client behind its credential. */
export const strangerOf = (presented: Presented | undefined, fault: Fault) => {
  const { callerId, tenants } = fault instanceof TracedFault ? fault.trace : { callerId: null };
  const shown = shownOf(presented, fault);
  const isKey = shown?.kind === 'api_key';
  return {
    kind: shown === undefined || shown.kind === 'none' || shown.kind === 'refused' ? null : shown.kind,
    credential_id: isKey ? callerId : null,
    client_id: isKey ? null : callerId,
    tenants: tenants ?? [],
  };
};

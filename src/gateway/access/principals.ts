/** Callers, made once per record and shared by all its requests. A record never changes; a change replaces it. */
import { faultTitle } from '#src/contract/fault.ts';
import type { SecretRow } from '../credentials/lookup/credential-store.ts';
import type { ClientRecord, KeyRecord } from '../credentials/lookup/records.ts';
import type { CredentialKind, Principal } from '../model/principal.ts';
import { TracedFault } from '../model/traced-fault.ts';
import { notValid, type VerifiedToken } from './bearer-tokens.ts';

const requireReach = (record: KeyRecord | ClientRecord, kind: CredentialKind): void => {
  if (record.tenants.length > 0) return;
  const callerId = 'keyId' in record ? record.keyId : record.clientId;
  if (!record.lostTenant) {
    throw new TracedFault('UNAUTHORIZED', 'Nothing is granted to this client any more', {
      callerId,
      reason: 'restaurant_not_granted',
    });
  }
  if (kind === 'bearer') throw notValid(undefined, { callerId, reason: 'restaurant_gone' });
  throw new TracedFault('RESTAURANT_NOT_FOUND', faultTitle('RESTAURANT_NOT_FOUND'), {
    callerId,
    reason: 'restaurant_gone',
  });
};

/** Bound on the scope sets cached per client, since a client chooses the scopes of its tokens. */
const scopeSetsMax = 50;

type PrincipalsDeps = {
  /** Every scope, in the sequence of the route table. */
  allScopes: readonly string[];
  /** The scopes of every API key. */
  apiKeyScopes: readonly string[];
};

export type Principals = ReturnType<typeof createPrincipals>;

/** Throws the Fault of interface 3.2 for a caller that reaches no tenant any more. */
export const createPrincipals = (deps: PrincipalsDeps) => {
  const all = new Set(deps.allScopes);
  const keyScopes = new Set(deps.apiKeyScopes);
  const made = new WeakMap<KeyRecord | SecretRow, Principal>();

  const make = (
    record: KeyRecord | ClientRecord,
    kind: CredentialKind,
    id: string,
    scopes: ReadonlySet<string>,
    credentialId = id,
  ): Principal => {
    requireReach(record, kind);
    return Object.freeze({
      kind,
      id,
      credentialId,
      tenants: record.tenants,
      tenantsDisabled: record.tenantsDisabled,
      scopes,
      ...(record.cells !== undefined && { cells: record.cells }),
      ...(record.limits !== null && { limits: record.limits }),
      ...(record.allowIp !== null && { allowIp: record.allowIp }),
      asserted: {
        kind,
        id,
        tenants: [...record.tenants],
        tenants_disabled: [...record.tenantsDisabled],
        scopes: [...scopes],
      },
    });
  };

  const scopesOf = ({ scopes }: ClientRecord): ReadonlySet<string> =>
    scopes === null ? all : new Set(deps.allScopes.filter((scope) => scopes.includes(scope)));

  const remember = (record: KeyRecord | SecretRow, principal: Principal): Principal => {
    made.set(record, principal);
    return principal;
  };

  const ofTokens = new WeakMap<ClientRecord, Map<string, Principal>>();
  /** Shared by all tokens of a client with the same scopes, so that thousands of them weigh little more than one. */
  const anyToken = (token: VerifiedToken, record: ClientRecord): Principal => {
    const shared = ofTokens.get(record) ?? new Map<string, Principal>();
    const key = token.scopes.join(' ');
    const known = shared.get(key);
    if (known !== undefined) return known;
    const held = scopesOf(record);
    const made = make(record, 'bearer', record.clientId, new Set(token.scopes.filter((scope) => held.has(scope))));
    if (shared.size < scopeSetsMax) ofTokens.set(record, shared.set(key, made));
    return made;
  };

  return {
    ofKey: (record: KeyRecord): Principal =>
      made.get(record) ?? remember(record, make(record, 'api_key', record.keyId, keyScopes)),
    ofClient: (record: ClientRecord, secret: SecretRow): Principal =>
      made.get(secret) ??
      remember(secret, make(record, 'api_client', record.clientId, scopesOf(record), secret.secretId)),
    /** Scopes that the token names and the client still holds. */
    ofToken: (token: VerifiedToken, record: ClientRecord): Principal => {
      if (token.caller?.record === record && token.caller.maker === made) return token.caller.principal;
      const caller = { ...anyToken(token, record), tokenId: token.jti };
      const principal = Object.freeze({
        ...caller,
        ...(token.jkt !== undefined && { jkt: token.jkt }),
        ...(token.x5t !== undefined && { x5t: token.x5t }),
      });
      token.caller = { maker: made, record, principal };
      return principal;
    },
  };
};

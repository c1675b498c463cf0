/** Callers, made once per record and shared by all its requests. A record never changes; a change replaces it. */
import { faultTitle } from '#src/contract/fault.ts';
import type { SecretRow } from '../credentials/lookup/credential-store.ts';
import type { ClientRecord, KeyRecord } from '../credentials/lookup/records.ts';
import { limitedTo } from '../model/faults.ts';
import type { CredentialKind, Principal } from '../model/principal.ts';
import { TracedFault } from '../model/traced-fault.ts';
import { notValid, type VerifiedToken } from './bearer-tokens.ts';
import { type NarrowCaller, narrowedCaller, type SharedReach } from './rights/narrow-caller.ts';
import type { TokenLimits } from './rights/token-limits.ts';

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
    ...('tenant' in record && { tenants: [record.tenant] }),
  });
};

const withTenants = (record: ClientRecord, kept: ReadonlySet<string>): ClientRecord => ({
  ...record,
  tenants: record.tenants.filter((tenant) => kept.has(tenant)),
  tenantsDisabled: record.tenantsDisabled.filter((tenant) => kept.has(tenant)),
});

/** Bound on the sets of scopes, and of limits, cached per client, since a client chooses those of its tokens. */
const setsMax = 50;

/** What all tokens of a client with the same scopes and limits share, so that thousands of them weigh little more than one. */
const createShared = <T>() => {
  const byRecord = new WeakMap<ClientRecord, Map<string, T>>();
  return (record: ClientRecord, key: string, make: () => T): T => {
    const shared = byRecord.get(record) ?? new Map<string, T>();
    const known = shared.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (shared.size < setsMax) byRecord.set(record, shared.set(key, made));
    return made;
  };
};

type PrincipalsDeps = {
  /** Every scope, in the sequence of the route table. */
  allScopes: readonly string[];
  /** The scopes of every API key. */
  apiKeyScopes: readonly string[];
  narrowCaller: NarrowCaller;
};

export type Principals = ReturnType<typeof createPrincipals>;

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
    ...('keyId' in record && record.quotaOf !== null && { quotaOf: record.quotaOf }),
    ...('clientId' in record && record.fapi2Required && { fapi2Required: true }),
    asserted: {
      kind,
      id,
      // The lists of the record itself, since a client has a caller for each set of scopes of its tokens.
      tenants: record.tenants,
      tenants_disabled: record.tenantsDisabled,
      scopes: [...scopes],
    },
  });
};

/** Throws the Fault of interface 3.2 for a caller that reaches no tenant any more. */
export const createPrincipals = (deps: PrincipalsDeps) => {
  const all = new Set(deps.allScopes);
  const keyScopes = new Set(deps.apiKeyScopes);
  const made = new WeakMap<KeyRecord | SecretRow, Principal>();

  const scopesOf = ({ scopes }: ClientRecord): ReadonlySet<string> =>
    scopes === null ? all : new Set(deps.allScopes.filter((scope) => scopes.includes(scope)));

  const remember = (record: KeyRecord | SecretRow, principal: Principal): Principal => {
    made.set(record, principal);
    return principal;
  };

  const heldScopes = (token: VerifiedToken, record: ClientRecord): ReadonlySet<string> => {
    const held = scopesOf(record);
    return new Set(token.scopes.filter((scope) => held.has(scope)));
  };

  const plain = createShared<Principal>();
  const anyToken = (token: VerifiedToken, record: ClientRecord): Principal =>
    plain(record, token.scopes.join(' '), () => make(record, 'bearer', record.clientId, heldScopes(token, record)));

  const narrow = createShared<SharedReach>();
  const anyNarrowed = (token: VerifiedToken, limits: TokenLimits, record: ClientRecord): SharedReach =>
    narrow(record, `${token.scopes.join(' ')}\n${limits.key}`, () => {
      const scopes = heldScopes(token, record);
      const reach = deps.narrowCaller.share(limits, (tenants, text) => {
        const kept = tenants === undefined ? record : withTenants(record, tenants);
        // The client has other tenants, so what its record says about lost ones would be false here.
        if (kept.tenants.length === 0 && record.tenants.length > 0) throw limitedTo(record.clientId, text);
        return make(kept, 'bearer', record.clientId, scopes);
      });
      if (reach === undefined) throw notValid(undefined, { callerId: record.clientId, reason: 'token_audience' });
      return reach;
    });

  return {
    ofKey: (record: KeyRecord): Principal =>
      made.get(record) ?? remember(record, make(record, 'api_key', record.keyId, keyScopes)),
    ofClient: (record: ClientRecord, secret: SecretRow): Principal =>
      made.get(secret) ??
      remember(secret, make(record, 'api_client', record.clientId, scopesOf(record), secret.secretId)),
    /** Scopes that the token names and the client still holds. */
    ofToken: (token: VerifiedToken, record: ClientRecord): Principal => {
      if (token.caller?.record === record && token.caller.maker === made) return token.caller.principal;
      const ofToken = {
        tokenId: token.jti,
        ...(token.jkt !== undefined && { jkt: token.jkt }),
        ...(token.x5t !== undefined && { x5t: token.x5t }),
      };
      const principal =
        token.limits === undefined
          ? Object.freeze({ ...anyToken(token, record), ...ofToken })
          : narrowedCaller(anyNarrowed(token, token.limits, record), token.limits, ofToken);
      token.caller = { maker: made, record, principal };
      return principal;
    },
  };
};

/**
 * Finds the caller behind a presented credential (interface 3.2 and step 6 of 6.2). Synchronous when everything is cached,
 * so the hot path neither waits nor allocates a promise.
 */
import type { IncomingMessage } from 'node:http';
import type { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import { createRulesOf, type Profile, profiles } from '../dpop/profile.ts';
import type { FailureBudget } from '../limits/failure-budget.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { apiDisabled, boundTokenNeeded, noCredential } from '../model/faults.ts';
import type { Principal } from '../model/principal.ts';
import { TracedFault } from '../model/traced-fault.ts';
import type { Presented } from '../request/read-credential.ts';
import type { BearerTokens, VerifiedToken } from './bearer-tokens.ts';
import { createCheckClient } from './check-client.ts';
import { createCheckKey } from './check-key.ts';
import { createCheckToken, requireScheme } from './check-token.ts';
import type { Admitted } from './ended-principal.ts';
import { follow } from './follow.ts';
import { createPrincipals } from './principals.ts';
import type { NarrowCaller } from './rights/narrow-caller.ts';

/** Throws, or rejects with, the Fault of interface 3.2. */
export type Authenticate = (
  presented: Presented,
  req: IncomingMessage,
  admitted?: Admitted,
) => Principal | Promise<Principal>;

type AuthenticatorDeps = {
  credentials: Pick<CredentialCache, 'findKey' | 'findClient' | 'isTokenRevoked' | 'tokenLeakedMs' | 'tokenVersion'>;
  tokens: BearerTokens;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  failures: Pick<FailureBudget, 'blockedSeconds' | 'countFailure'>;
  sourceOf: SourceOf;
  /** Every scope, in the sequence of the route table. */
  allScopes: readonly string[];
  /** The scopes of every API key. */
  apiKeyScopes: readonly string[];
  profile: Profile;
  narrowCaller: NarrowCaller;
};

export type Authenticator = {
  authenticate: Authenticate;
  /** The claims of a token and its caller. Rejects like `authenticate`, except that API access may be off. */
  inspectToken(token: string): Promise<{ token: VerifiedToken; principal: Principal }>;
};

export const createAuthenticator = (deps: AuthenticatorDeps): Authenticator => {
  const { credentials, tokens } = deps;
  const principals = createPrincipals(deps);
  const checkKey = createCheckKey({ clock: deps.clock, principals });
  const rulesOf = createRulesOf(deps.profile);
  const { sharedSecrets } = profiles[deps.profile];
  const checkClient = createCheckClient({ ...deps, principals, rulesOf });
  const checkToken = createCheckToken({ credentials, principals, rulesOf, clock: deps.clock });

  const identify = (presented: Presented, req: IncomingMessage, admitted: Admitted): Principal | Promise<Principal> => {
    switch (presented.kind) {
      case 'api_key':
        if (!sharedSecrets) throw boundTokenNeeded();
        return follow(credentials.findKey(presented.key, req), (record) => checkKey(record, admitted));
      case 'client':
        if (!sharedSecrets) throw boundTokenNeeded();
        return follow(credentials.findClient(presented.id, req), (record) =>
          checkClient(presented, record, req, admitted),
        );
      case 'bearer':
        return follow(tokens.verify(presented.token, presented.header), (token) =>
          checkToken(requireScheme(token, presented.dpop)),
        );
      case 'refused':
        return refuseTraced(presented.fault, presented.first, (first) => identify(first, req, 'live'));
      case 'none':
        throw noCredential();
    }
  };

  return {
    authenticate: (presented, req, admitted = 'live') => {
      const found = identify(presented, req, admitted);
      return admitted === 'live' ? follow(found, requireApiOn) : found;
    },
    inspectToken: async (text) => {
      const token = await tokens.verify(text);
      return { token, principal: await checkToken(token) };
    },
  };
};

/**
 * Several credentials are refused, since they may belong to different callers. The refusal names the caller of the first
 * one when that one is right.
 */
const refuseTraced = (
  fault: Fault,
  first: Presented | undefined,
  identify: (first: Presented) => Principal | Promise<Principal>,
): Principal | Promise<Principal> => {
  if (first === undefined) throw fault;
  const traced = ({ id, tenants }: Principal): never => {
    throw new TracedFault(
      fault.code,
      fault.publicText,
      { callerId: id, reason: 'credentials_ambiguous', tenants },
      { errors: fault.errors ?? [] },
    );
  };
  const untraced = (): never => {
    throw fault;
  };
  let found: Principal | Promise<Principal>;
  try {
    found = identify(first);
  } catch {
    return untraced();
  }
  return found instanceof Promise ? found.then(traced, untraced) : traced(found);
};

/** A caller with several tenants is checked by the service behind, which knows the tenant that the request names. */
const requireApiOn = (principal: Principal): Principal => {
  const { tenants, tenantsDisabled } = principal;
  if (tenants.length === 1 && tenantsDisabled.length === 1) {
    throw apiDisabled(principal);
  }
  return principal;
};

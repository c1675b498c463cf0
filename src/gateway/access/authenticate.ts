/**
 * From what a request presents to who it is (interface 3.2 and step 6 of 6.2). Synchronous when everything is remembered,
 * so the hot path neither waits nor allocates a promise.
 */
import type { IncomingMessage } from 'node:http';
import { Fault, faultTitle } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import { type ClientRecord, isOver, type KeyRecord, provesClient } from '../credentials/lookup/records.ts';
import type { FailureBudget } from '../limits/failure-budget.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { noCredential, quarantineText, tooMany, tooManyFailures } from '../model/faults.ts';
import type { Principal } from '../model/principal.ts';
import { endedDetail, TracedFault } from '../model/traced-fault.ts';
import type { Presented } from '../request/read-credential.ts';
import { type BearerTokens, notValid, type VerifiedToken } from './bearer-tokens.ts';
import { clientRefused, hadSecret } from './client-refusal.ts';
import { endedPrincipal, isClientLive, isKeyLive } from './ended-principal.ts';
import { createPrincipals } from './principals.ts';

/**
 * Who is let in. `disabled`: also a caller whose only tenant has its API access off. `ended`: also a key or a client that is
 * over, for what it may learn about itself and nothing else.
 */
export type Admitted = 'live' | 'disabled' | 'ended';

/** Throws, or rejects with, the Fault of interface 3.2. */
export type Authenticate = (
  presented: Presented,
  req: IncomingMessage,
  admitted?: Admitted,
) => Principal | Promise<Principal>;

type AuthenticatorDeps = {
  credentials: Pick<CredentialCache, 'findKey' | 'findClient' | 'isTokenRevoked' | 'tokenVersion'>;
  tokens: BearerTokens;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  failures: Pick<FailureBudget, 'blockedSeconds' | 'countFailure'>;
  sourceOf: SourceOf;
  /** Every scope, in the sequence of the route table. */
  allScopes: readonly string[];
  /** What every API key holds. */
  apiKeyScopes: readonly string[];
};

export type Authenticator = {
  authenticate: Authenticate;
  /** What a token says and whom it stands for now. Rejects like `authenticate`, except that API access may be off. */
  inspectToken(token: string): Promise<{ token: VerifiedToken; principal: Principal }>;
};

export const createAuthenticator = (deps: AuthenticatorDeps): Authenticator => {
  const { credentials, tokens, clock } = deps;
  const principals = createPrincipals(deps);

  const authenticateKey = (record: KeyRecord | undefined, admitted: Admitted): Principal => {
    if (record === undefined) throw keyRefused();
    const nowMs = clock.now().getTime();
    if (admitted === 'ended' && !isKeyLive(record, nowMs)) return endedPrincipal('api_key', record.keyId);
    if (record.revoked) throw keyRevoked(record);
    if (isOver(record.expiresMs, nowMs)) throw keyEnded(record, nowMs);
    refuseQuarantined(record.keyId, 'API key', record.quarantinedReason);
    return principals.ofKey(record);
  };

  /** Failures are looked at right before the secret is, so that guesses sent side by side do not slip through. */
  const authenticateClient = (
    { id, secret }: { id: string; secret: string },
    record: ClientRecord | undefined,
    req: IncomingMessage,
    admitted: Admitted,
  ): Principal | Promise<Principal> => {
    const source = deps.sourceOf(req);
    const blocked = deps.failures.blockedSeconds(id, source);
    if (blocked !== undefined) throw stopped(record, blocked);
    const proof = provesClient(deps.box, record, secret, clock.now().getTime());
    if (
      admitted === 'ended' &&
      record !== undefined &&
      !isClientLive(record, proof) &&
      hadSecret(deps.box, record, secret)
    ) {
      return endedPrincipal('api_client', id);
    }
    if (proof !== undefined && record !== undefined) {
      refuseQuarantined(id, 'API client', record.quarantinedReason);
      refuseQuarantined(id, 'client secret', proof.quarantinedReason);
      return principals.ofClient(record, proof);
    }
    return follow(deps.failures.countFailure(id, source), (beyond) => {
      throw beyond === undefined ? clientRefused(deps.box, record, secret) : stopped(record, beyond);
    });
  };

  const judgeToken = (token: VerifiedToken, record: ClientRecord, revoked: boolean): Principal => {
    if (revoked) throw tokenRevoked(record);
    refuseQuarantined(record.clientId, 'API client', record.quarantinedReason);
    return principals.ofToken(token, record);
  };

  const authenticateToken = (
    token: VerifiedToken,
    record: ClientRecord | undefined,
  ): Principal | Promise<Principal> => {
    if (record === undefined) throw notValid();
    if (record.disabled) throw notValid(undefined, { callerId: record.clientId, reason: 'client_disabled' });
    if (!record.mayUseTokens || (record.dpopRequired && token.jkt === undefined)) throw notValid();
    if (record.tokensNotBeforeMs !== null && token.issuedMs < record.tokensNotBeforeMs) throw tokenRevoked(record);
    const version = credentials.tokenVersion();
    if (token.aliveAt === version) return judgeToken(token, record, false);
    return follow(credentials.isTokenRevoked(token.jti), (revoked) => {
      if (!revoked) token.aliveAt = version;
      return judgeToken(token, record, revoked);
    });
  };

  // The client first: asking for it makes sure that this process has heard of every revocation.
  const byToken = (token: VerifiedToken): Principal | Promise<Principal> =>
    follow(credentials.findClient(token.clientId), (record) => authenticateToken(token, record));

  /** What was sent beside the first credential may be of somebody else, so it is refused; whose the first was is noted. */
  const refuse = (fault: Fault, first: Presented | undefined, req: IncomingMessage): Principal | Promise<Principal> => {
    if (first === undefined) throw fault;
    const traced = ({ id }: Principal): never => {
      throw new TracedFault(
        fault.code,
        fault.publicText,
        { callerId: id, reason: 'credentials_ambiguous' },
        { errors: fault.errors ?? [] },
      );
    };
    const untraced = (): never => {
      throw fault;
    };
    let found: Principal | Promise<Principal>;
    try {
      found = identify(first, req, 'live');
    } catch {
      return untraced();
    }
    return found instanceof Promise ? found.then(traced, untraced) : traced(found);
  };

  const identify = (presented: Presented, req: IncomingMessage, admitted: Admitted): Principal | Promise<Principal> => {
    switch (presented.kind) {
      case 'api_key':
        return follow(credentials.findKey(presented.key), (record) => authenticateKey(record, admitted));
      case 'client':
        return follow(credentials.findClient(presented.id), (record) =>
          authenticateClient(presented, record, req, admitted),
        );
      case 'bearer':
        return follow(tokens.verify(presented.token, presented.header), (token) =>
          byToken(requireScheme(token, presented.dpop)),
        );
      case 'refused':
        return refuse(presented.fault, presented.first, req);
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
      return { token, principal: await byToken(token) };
    },
  };
};

/** Applies `next` at once to a value, later to a promise. */
const follow = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value);

const keyRefused = (): Fault => new Fault('INVALID_KEY', 'The API key is not valid');

const keyRevoked = ({ keyId }: KeyRecord): Fault =>
  new TracedFault('INVALID_KEY', keyRefused().publicText, { callerId: keyId, reason: 'key_revoked' });

const keyEnded = ({ keyId, expiresMs }: KeyRecord, nowMs: number): Fault =>
  new TracedFault('INVALID_KEY', keyRefused().publicText, {
    callerId: keyId,
    reason: 'key_expired',
    detail: endedDetail(expiresMs ?? nowMs, nowMs),
  });

/** RFC 9449 section 7.2: a bound token is no Bearer token, and a proof proves nothing about one that is bound to no key. */
const requireScheme = (token: VerifiedToken, dpop: boolean): VerifiedToken => {
  if ((token.jkt !== undefined) !== dpop) throw notValid();
  return token;
};

const tokenRevoked = ({ clientId }: ClientRecord): Fault =>
  notValid(undefined, { callerId: clientId, reason: 'token_revoked' });

const refuseQuarantined = (callerId: string, what: string, reason: string | null): void => {
  if (reason === null) return;
  throw new TracedFault('UNAUTHORIZED', quarantineText(what, reason), { callerId, reason: 'quarantined' });
};

const stopped = (record: ClientRecord | undefined, seconds: number): Fault => {
  const fault = tooManyFailures(seconds);
  if (record === undefined) return fault;
  const trace = { callerId: record.clientId, reason: 'rate_limited', detail: { retry_after: seconds } } as const;
  return new TracedFault(fault.code, fault.publicText, trace, tooMany(seconds));
};

/** A caller with several tenants is judged when it has said which one it means. */
const requireApiOn = (principal: Principal): Principal => {
  const { tenants, tenantsDisabled } = principal;
  if (tenants.length === 1 && tenantsDisabled.length === 1) {
    throw new TracedFault('API_DISABLED', faultTitle('API_DISABLED'), {
      callerId: principal.id,
      reason: 'api_disabled',
    });
  }
  return principal;
};

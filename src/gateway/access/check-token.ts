/** Decides whether a verified token is accepted: its client, its revocation and its binding (interface 3.2). */
import type { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import { type ClientRecord, endedCertificate, leakMarginMs } from '../credentials/lookup/records.ts';
import type { RulesOf } from '../dpop/profile.ts';
import type { Principal } from '../model/principal.ts';
import { leakedTrace } from '../model/traced-fault.ts';
import { notValid, type VerifiedToken } from './bearer-tokens.ts';
import { refuseQuarantined } from './credential-refusals.ts';
import { follow } from './follow.ts';
import type { Principals } from './principals.ts';

type CheckTokenDeps = {
  credentials: Pick<CredentialCache, 'findClient' | 'isTokenRevoked' | 'tokenLeakedMs' | 'tokenVersion'>;
  principals: Pick<Principals, 'ofToken'>;
  clock: Clock;
  rulesOf: RulesOf;
};

/** Throws, or rejects with, INVALID_AUTH or UNAUTHORIZED. */
export type CheckToken = (token: VerifiedToken) => Principal | Promise<Principal>;

export const createCheckToken = ({ credentials, principals, rulesOf, clock }: CheckTokenDeps): CheckToken => {
  const decide = (token: VerifiedToken, record: ClientRecord, revoked: boolean): Principal => {
    if (revoked) throw tokenRevoked(record, credentials.tokenLeakedMs(token.jti));
    refuseQuarantined(record.clientId, 'API client', record.quarantinedReason);
    return principals.ofToken(token, record);
  };

  /** Of the token or of one that it was exchanged from. */
  const isRevoked = (token: VerifiedToken): boolean | Promise<boolean> => {
    let revoked = credentials.isTokenRevoked(token.jti);
    for (const jti of token.limits?.ancestors ?? [])
      revoked = follow(revoked, (before) => before || credentials.isTokenRevoked(jti));
    return revoked;
  };

  const isBoundEnough = ({ jkt, x5t }: VerifiedToken, record: ClientRecord): boolean => {
    if (jkt === undefined && record.dpopRequired) return false;
    if (x5t === undefined && record.certificateRequired) return false;
    return jkt !== undefined || x5t !== undefined || !rulesOf(record).boundTokensOnly;
  };

  const ofClient = (token: VerifiedToken, record: ClientRecord | undefined): Principal | Promise<Principal> => {
    if (record === undefined) throw notValid();
    if (record.disabled) throw notValid(undefined, { callerId: record.clientId, reason: 'client_disabled' });
    if (!record.mayUseTokens || !isBoundEnough(token, record)) throw notValid();
    if (token.x5t !== undefined && endedCertificate(record, token.x5t, token.issuedMs, clock.now().getTime()))
      throw tokenRevoked(record, undefined);
    // A token that was exchanged ends with the first one of its chain.
    const issuedMs = token.limits?.firstIssuedMs ?? token.issuedMs;
    if (record.tokensNotBeforeMs !== null && issuedMs < record.tokensNotBeforeMs) {
      throw tokenRevoked(record, leakBehind(issuedMs, record));
    }
    const version = credentials.tokenVersion();
    if (token.aliveAt === version) return decide(token, record, false);
    return follow(isRevoked(token), (revoked) => {
      if (!revoked) token.aliveAt = version;
      return decide(token, record, revoked);
    });
  };

  // The client is read first: the read makes sure that this process knows every revocation.
  return (token) => follow(credentials.findClient(token.clientId), (record) => ofClient(token, record));
};

/** RFC 9449 section 7.2: a bound token is no Bearer token, and a proof proves nothing about a token bound to no key. */
export const requireScheme = (token: VerifiedToken, dpop: boolean): VerifiedToken => {
  if ((token.jkt !== undefined) !== dpop) throw notValid();
  return token;
};

const tokenRevoked = ({ clientId }: ClientRecord, leakedMs: number | undefined): Fault =>
  notValid(
    undefined,
    leakedMs === undefined ? { callerId: clientId, reason: 'token_revoked' } : leakedTrace(clientId, leakedMs),
  );

/** The report of a leaked secret revokes the tokens that its client had then (credentials/change/end-leaked.ts). */
const leakBehind = (issuedMs: number, { secrets }: ClientRecord): number | undefined =>
  secrets.find(({ leakedMs }) => leakedMs !== null && issuedMs < leakedMs + leakMarginMs)?.leakedMs ?? undefined;

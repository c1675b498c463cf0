/** Decides whether a verified token is accepted: its client, its revocation and its binding (interface 3.2). */
import type { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import { type ClientRecord, endedCertificate } from '../credentials/lookup/records.ts';
import type { Principal } from '../model/principal.ts';
import { notValid, type VerifiedToken } from './bearer-tokens.ts';
import { refuseQuarantined } from './credential-refusals.ts';
import { follow } from './follow.ts';
import type { Principals } from './principals.ts';

type CheckTokenDeps = {
  credentials: Pick<CredentialCache, 'findClient' | 'isTokenRevoked' | 'tokenVersion'>;
  principals: Pick<Principals, 'ofToken'>;
  clock: Clock;
};

/** Throws, or rejects with, INVALID_AUTH or UNAUTHORIZED. */
export type CheckToken = (token: VerifiedToken) => Principal | Promise<Principal>;

export const createCheckToken = ({ credentials, principals, clock }: CheckTokenDeps): CheckToken => {
  const decide = (token: VerifiedToken, record: ClientRecord, revoked: boolean): Principal => {
    if (revoked) throw tokenRevoked(record);
    refuseQuarantined(record.clientId, 'API client', record.quarantinedReason);
    return principals.ofToken(token, record);
  };

  const ofClient = (token: VerifiedToken, record: ClientRecord | undefined): Principal | Promise<Principal> => {
    if (record === undefined) throw notValid();
    if (record.disabled) throw notValid(undefined, { callerId: record.clientId, reason: 'client_disabled' });
    if (!record.mayUseTokens || (record.dpopRequired && token.jkt === undefined)) throw notValid();
    if (record.certificateRequired && token.x5t === undefined) throw notValid();
    if (token.x5t !== undefined && endedCertificate(record, token.x5t, clock.now().getTime()))
      throw tokenRevoked(record);
    if (record.tokensNotBeforeMs !== null && token.issuedMs < record.tokensNotBeforeMs) throw tokenRevoked(record);
    const version = credentials.tokenVersion();
    if (token.aliveAt === version) return decide(token, record, false);
    return follow(credentials.isTokenRevoked(token.jti), (revoked) => {
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

const tokenRevoked = ({ clientId }: ClientRecord): Fault =>
  notValid(undefined, { callerId: clientId, reason: 'token_revoked' });

/** private_key_jwt (RFC 7523 section 3): is this assertion signed by a registered key of that client, for us, and new? */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '#src/platform/clock.ts';
import type { ClientKey, ClientRecord } from '../credentials/lookup/records.ts';

export type VerifyAssertionDeps = {
  clock: Clock;
  /** Issuer and token endpoint: the names under which a client may address us. */
  audiences: readonly string[];
  /** False: used before. */
  markUsed: (assertion: { clientId: string; jti: string; expires: Date }, now: Date) => Promise<boolean>;
};

/** By the type of the key, so that a token cannot choose how a key is used (RFC 8725 section 3.1). */
const algorithmsOf: Readonly<Record<string, string[]>> = {
  EC: ['ES256'],
  // RFC 9864 gave EdDSA on this curve a name of its own.
  OKP: ['EdDSA', 'Ed25519'],
  RSA: ['PS256', 'RS256'],
};

export const assertionAlgorithms = ['ES256', 'EdDSA', 'PS256', 'RS256'] as const;

const lengthMax = 8_192;
const jtiLengthMax = 255;
const aheadMsMax = 5 * 60_000;
/** By so much the clocks of two gateways may differ without one forgetting what the other would still take. */
const clocksMs = 60_000;
/** A key set may be large; one request may not cost as many verifications. */
const keysTriedMax = 5;

/** The client that the assertion names, unverified: it says whose keys to ask. Undefined: not readable. */
export const clientOfAssertion = (assertion: string): string | undefined => {
  if (assertion.length > lengthMax) return undefined;
  try {
    // Nothing of it is verified yet, its type neither.
    const sub: unknown = decodeJwt(assertion).sub;
    return typeof sub === 'string' ? sub : undefined;
  } catch {
    return undefined;
  }
};

/** The key that signed, or undefined for whatever is wrong. Rejects when the store cannot be asked. */
export const verifyAssertion = async (
  deps: VerifyAssertionDeps,
  record: ClientRecord,
  assertion: string,
): Promise<ClientKey | undefined> => {
  for (const key of candidates(record, assertion)) {
    const payload = await verifyWith(deps, record, key, assertion);
    if (payload === undefined) continue;
    const { jti, exp } = payload;
    const now = deps.clock.now();
    if (typeof jti !== 'string' || jti === '' || jti.length > jtiLengthMax || exp === undefined) return undefined;
    // The store takes no such text.
    if (jti.includes('\u0000') || !jti.isWellFormed()) return undefined;
    if (exp * 1000 - now.getTime() > aheadMsMax) return undefined;
    const isNew = await deps.markUsed(
      { clientId: record.clientId, jti, expires: new Date(exp * 1000 + clocksMs) },
      now,
    );
    return isNew ? key : undefined;
  }
  return undefined;
};

/** The key of that name; without one of that name any, since a client may not know how we call its key. */
const candidates = ({ keys }: ClientRecord, assertion: string): readonly ClientKey[] => {
  const kid = kidOf(assertion);
  const named = keys.filter(({ keyId }) => keyId === kid);
  return (named.length > 0 ? named : keys).slice(0, keysTriedMax);
};

const kidOf = (assertion: string): unknown => {
  try {
    const header: unknown = JSON.parse(Buffer.from(assertion.split('.', 1)[0] ?? '', 'base64url').toString());
    return typeof header === 'object' && header !== null && 'kid' in header ? header.kid : undefined;
  } catch {
    return undefined;
  }
};

const verifyWith = async (
  deps: VerifyAssertionDeps,
  { clientId }: ClientRecord,
  { kty, publicKey }: ClientKey,
  assertion: string,
): Promise<JWTPayload | undefined> => {
  try {
    const { payload } = await jwtVerify(assertion, publicKey, {
      algorithms: algorithmsOf[kty] ?? [],
      issuer: clientId,
      subject: clientId,
      audience: [...deps.audiences],
      clockTolerance: 0,
      currentDate: deps.clock.now(),
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'jti'],
    });
    // One that is addressed to others too could be shown to us by them.
    return Array.isArray(payload.aud) && payload.aud.length !== 1 ? undefined : payload;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
};

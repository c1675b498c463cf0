/** private_key_jwt (RFC 7523 section 3): the assertion must be new, for this server, and signed by a key of the client. */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { ClientKey, ClientRecord } from '../credentials/lookup/records.ts';

export type VerifyAssertionDeps = {
  clock: Clock;
  /** Issuer and token endpoint: the accepted audiences. */
  audiences: readonly string[];
  /** False: used before. */
  markUsed: (assertion: { clientId: string; jti: string; expires: Date }, now: Date) => Promise<boolean>;
};

/** Fixed by the type of the key, so that a token cannot choose the algorithm of a key (RFC 8725 section 3.1). */
const algorithmsOf: Readonly<Record<string, string[]>> = {
  EC: ['ES256'],
  // RFC 9864 gave EdDSA on this curve its own name.
  OKP: ['EdDSA', 'Ed25519'],
  RSA: ['PS256', 'RS256'],
};

export const assertionAlgorithms = ['ES256', 'EdDSA', 'PS256', 'RS256'] as const;

const lengthMax = 8_192;
const jtiLengthMax = 255;
const aheadMsMax = 5 * minuteMs;
/** Clocks of two gateways may differ by this much without one deleting an assertion that the other would still accept. */
const clocksMs = 60_000;
/** Bound on the verifications of one request, since a key set may be large. */
const keysTriedMax = 5;

/** The unverified client id of the assertion, which selects the keys. Undefined when it cannot be read. */
export const clientOfAssertion = (assertion: string): string | undefined => {
  if (assertion.length > lengthMax) return undefined;
  try {
    // Nothing is verified yet, not even the type.
    const sub: unknown = decodeJwt(assertion).sub;
    return typeof sub === 'string' ? sub : undefined;
  } catch {
    return undefined;
  }
};

/** The key that signed; undefined for an invalid assertion. Rejects when the store cannot be reached. */
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
    // The store cannot hold such text.
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

/**
 * The key with that id, or the newest keys for the algorithm, since a client may not know the id that its key has here. A client
 * with more keys of one type has to name the id.
 */
const candidates = ({ keys }: ClientRecord, assertion: string): readonly ClientKey[] => {
  const { kid, alg } = headerOf(assertion);
  const named = keys.filter(({ keyId }) => keyId === kid);
  if (named.length > 0) return named.slice(0, keysTriedMax);
  const ofType = keys.filter(({ kty }) => algorithmsOf[kty]?.some((one) => one === alg));
  return ofType.slice(-keysTriedMax).toReversed();
};

const headerOf = (assertion: string): { kid?: unknown; alg?: unknown } => {
  try {
    const header: unknown = JSON.parse(Buffer.from(assertion.split('.', 1)[0] ?? '', 'base64url').toString());
    return typeof header === 'object' && header !== null ? header : {};
  } catch {
    return {};
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
    // Another audience could replay an assertion that also names it.
    return Array.isArray(payload.aud) && payload.aud.length !== 1 ? undefined : payload;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
};

/** private_key_jwt (RFC 7523 section 3): the assertion must be new, for this server, and signed by a key of the client. */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { ClientKey, ClientRecord } from '../credentials/lookup/records.ts';
import type { ProfileRules, RulesOf } from '../dpop/profile.ts';

export type VerifyAssertionDeps = {
  clock: Clock;
  issuer: string;
  /** Another accepted audience, where the profile allows it. */
  tokenEndpoint: string;
  rulesOf: RulesOf;
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

/** Algorithms of assertions under these rules, in the sequence in which the metadata lists them. */
export const assertionAlgorithms = ({ algorithms }: Pick<ProfileRules, 'algorithms'>): string[] =>
  ['ES256', 'EdDSA', 'PS256', 'RS256'].filter((name) => algorithms.includes(name));

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

/**
 * Called when an assertion is right but for its use: from then on it is used up. What it throws leaves the assertion usable.
 */
export type BeforeUse = (clientId: string) => void;

/** The key that signed; undefined for an invalid assertion. Rejects when the store cannot be reached. */
export const verifyAssertion = async (
  deps: VerifyAssertionDeps,
  record: ClientRecord,
  assertion: string,
  beforeUse: BeforeUse,
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
    beforeUse(record.clientId);
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
  { issuer, tokenEndpoint, clock, rulesOf }: VerifyAssertionDeps,
  record: ClientRecord,
  { kty, publicKey }: ClientKey,
  assertion: string,
): Promise<JWTPayload | undefined> => {
  const { clientId } = record;
  const rules = rulesOf(record);
  const now = clock.now();
  try {
    const { payload } = await jwtVerify(assertion, publicKey, {
      algorithms: (algorithmsOf[kty] ?? []).filter((name) => rules.algorithms.includes(name)),
      issuer: clientId,
      subject: clientId,
      audience: [issuer, tokenEndpoint],
      clockTolerance: rules.assertionAhead.nbf,
      currentDate: now,
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'jti'],
    });
    return keepsRules(payload, rules, issuer, now.getTime()) ? payload : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
};

const keepsRules = ({ aud, exp = 0, iat }: JWTPayload, rules: ProfileRules, issuer: string, nowMs: number): boolean => {
  // Another audience could replay an assertion that also names it.
  if (rules.issuerAudienceOnly ? aud !== issuer : Array.isArray(aud) && aud.length !== 1) return false;
  // The tolerance above is for `nbf`; jose applies it to `exp` too.
  return exp * 1000 > nowMs && (iat === undefined || iat * 1000 - nowMs <= rules.assertionAhead.iat * 1000);
};

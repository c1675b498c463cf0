/**
 * Access tokens that this gateway issued (RFC 9068). A verified token is cached by its text, since verifying costs more
 * than the rest of a request. What can change meanwhile (its end, its signing key, its client) is checked on each use.
 */
import type { KeyObject } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { Principal } from '../model/principal.ts';
import { endedDetail, isoSeconds, type Trace, TracedFault } from '../model/traced-fault.ts';
import { readTokenLimits, type TokenLimits } from './rights/token-limits.ts';

export type VerifiedToken = {
  /** `Bearer`, a blank, and the token. */
  header: string;
  clientId: string;
  scopes: readonly string[];
  kid: string;
  jti: string;
  issuedMs: number;
  expiresMs: number;
  /** Thumbprint of the key that it is bound to (RFC 9449). */
  jkt: string | undefined;
  /** Thumbprint of the certificate that it is bound to (RFC 8705). */
  x5t: string | undefined;
  /** Of a narrowed token (interface 30). */
  limits: TokenLimits | undefined;
  /** Version of the revocations (credentials/lookup/cache.ts) at which the token was last found unrevoked. */
  aliveAt: number;
  /** The caller made from `record` by `maker`; a new record of the client, and other scopes, need a new caller. */
  caller: { maker: object; record: ClientRecord; principal: Principal } | undefined;
};

export type BearerTokens = {
  /**
   * Throws, or rejects with, INVALID_AUTH. Synchronous for a token that was verified before. `header`: the value that it was
   * sent in, which holds nothing else.
   */
  verify(token: string, header?: string): VerifiedToken | Promise<VerifiedToken>;
  /** Figures of the cache of verified tokens, since the start. */
  figures(): TokenCacheFigures;
};

export type TokenCacheFigures = { entries: number; hits: number; misses: number; evictions: number };

/** `signsUntilMs`: no token that says that it was issued later is one of this key. */
export type VerifyingKey = { publicKey: KeyObject; signsUntilMs: number };

type BearerTokensDeps = {
  origin: string;
  clock: Clock;
  /** The key, if it may have signed a live token. */
  findKey: (kid: string) => VerifyingKey | undefined;
  entriesMax?: number;
  /** Of all remembered tokens. */
  charactersMax?: number;
};

const entriesMaxDefault = 20_000;
/** chosen: 20,000 usual tokens have two thirds of it, and as many of the greatest length would have three times as much. */
const charactersMaxDefault = 24 * 2 ** 20;
const sharedTextsMax = 10_000;
/** A token with all scopes has some 800 characters; much longer text is not parsed. */
export const tokenLengthMax = 4_096;

/** So short a part is a text of its own in V8, which is hashed and compared faster than one that points into another. */
const endLength = 12;

/**
 * A token is looked up by its last characters and then compared as a whole. They belong to the signature, so no two issued
 * tokens share them. Hashing the whole text on each use would cost more than the comparison.
 */
const endOf = (token: string): string => token.slice(-endLength);

const scheme = 'Bearer ';

/** `header`: the value that the token was sent in. Comparing it needs no copy; the token would have to be cut out first. */
const isOf = (entry: VerifiedToken, token: string, header: string | undefined): boolean =>
  header === entry.header || (token.length + scheme.length === entry.header.length && entry.header.endsWith(token));

/** Copies the text into one piece. A verified token is ASCII, since it was signed as a whole. */
const copyOf = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

export const createBearerTokens = (deps: BearerTokensDeps): BearerTokens => {
  const verified = createRecentMap<string, VerifiedToken>(deps.entriesMax ?? entriesMaxDefault, undefined, {
    max: deps.charactersMax ?? charactersMaxDefault,
    of: ({ header }) => header.length,
  });
  let hits = 0;
  let misses = 0;
  // What many tokens say alike is one text for all of them: looked up again and again, it stays in the processor's memory.
  const texts = createRecentMap<string, string>(sharedTextsMax);
  const shared = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  const verifyNew = async (token: string): Promise<VerifiedToken> => {
    const entry = await verifyToken(deps, token);
    entry.kid = shared(entry.kid);
    entry.clientId = shared(entry.clientId);
    verified.set(endOf(token), entry);
    return entry;
  };
  return {
    verify: (token, header) => {
      const entry = verified.get(endOf(token));
      if (entry === undefined || !isOf(entry, token, header)) {
        misses += 1;
        return verifyNew(token);
      }
      hits += 1;
      if (deps.clock.now().getTime() >= entry.expiresMs) {
        verified.delete(endOf(token));
        throw expired(deps, entry.clientId, entry.expiresMs);
      }
      if (!isSignedInTime(entry, deps.findKey(entry.kid))) {
        verified.delete(endOf(token));
        throw notValid();
      }
      return entry;
    },
    figures: () => ({ entries: verified.size(), hits, misses, evictions: verified.evicted() }),
  };
};

/** The signature is right, so the client may learn why its token is refused. */
const expired = ({ clock }: BearerTokensDeps, clientId: string, expiresMs: number): Fault =>
  new TracedFault('INVALID_AUTH', 'The access token expired', {
    callerId: clientId,
    reason: 'token_expired',
    detail: endedDetail(expiresMs, clock.now().getTime()),
  });

/** One text for every problem of a token and of its client. */
export const notValid = (cause?: unknown, trace?: Trace): Fault => {
  const text = 'The access token is not valid';
  return trace === undefined
    ? new Fault('INVALID_AUTH', text, { cause })
    : new TracedFault('INVALID_AUTH', text, trace, { cause });
};

const verifyToken = async (deps: BearerTokensDeps, token: string): Promise<VerifiedToken> => {
  if (token.length > tokenLengthMax || !hasCanonicalSignature(token)) throw notValid();
  let result: JWTVerifyResult;
  try {
    // The key comes from the gateway's own set by its id and never from the token (jwk, jku, x5c); `algorithms` stops "none" and
    // HMAC with the public key as its secret (RFC 8725 sections 2.1 and 3.1).
    result = await jwtVerify(token, (header) => keyFor(deps, header.kid).publicKey, {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer: deps.origin,
      clockTolerance: 0,
      currentDate: deps.clock.now(),
      requiredClaims: ['iss', 'aud', 'sub', 'client_id', 'scope', 'iat', 'exp', 'jti'],
    });
  } catch (error) {
    throw claimsRefused(deps, error) ?? notValid(error);
  }
  const verified = toVerified(token, result.payload, result.protectedHeader.kid, deps.origin);
  if (!isSignedInTime(verified, keyFor(deps, verified.kid))) throw notValid();
  return verified;
};

/**
 * Who has a private key that was replaced could else go on to sign tokens after all that were issued had been revoked. A revocation
 * compares the time of the first token of an exchange, so that must not be later either.
 */
const isSignedInTime = (
  { issuedMs, limits }: Pick<VerifiedToken, 'issuedMs' | 'limits'>,
  key: VerifyingKey | undefined,
): boolean => key !== undefined && Math.max(issuedMs, limits?.firstIssuedMs ?? 0) <= key.signsUntilMs;

/** jose looks at the claims of a token only after its signature was found right. */
const claimsRefused = (deps: BearerTokensDeps, error: unknown): Fault | undefined => {
  if (!(error instanceof errors.JWTExpired) && !(error instanceof errors.JWTClaimValidationFailed)) return undefined;
  const { client_id: clientId, exp, nbf } = error.payload;
  if (!isName(clientId)) return undefined;
  if (error instanceof errors.JWTExpired) return isTime(exp) ? expired(deps, clientId, exp * 1000) : undefined;
  if (error.claim === 'aud') return notValid(error, { callerId: clientId, reason: 'token_audience' });
  if (error.claim !== 'nbf' || !isTime(nbf)) return undefined;
  const detail = { valid_from_iso: isoSeconds(new Date(nbf * 1000)) };
  return notValid(error, { callerId: clientId, reason: 'token_not_yet_valid', detail });
};

/** True for seconds that a Date can hold. A refused claim may be of any type and size; then its date is left out. */
const isTime = (seconds: unknown): seconds is number =>
  typeof seconds === 'number' && Math.abs(seconds) <= 8_640_000_000_000;

/** Times of live tokens are after 1970. */
const isDate = (seconds: unknown): seconds is number => isTime(seconds) && seconds >= 0;

const isName = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value);

const keyFor = (deps: Pick<BearerTokensDeps, 'findKey'>, kid: string | undefined): VerifyingKey => {
  const key = kid === undefined ? undefined : deps.findKey(kid);
  if (key === undefined) throw notValid();
  return key;
};

/** base64url leaves unused bits in the last character; if they could differ, one signature would have several texts. */
const hasCanonicalSignature = (token: string): boolean => {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
};

/** A token with an unknown kind of binding must not count as an unbound token. */
const bindingOf = (cnf: unknown): Pick<VerifiedToken, 'jkt' | 'x5t'> => {
  if (cnf === undefined) return { jkt: undefined, x5t: undefined };
  if (typeof cnf !== 'object' || cnf === null) throw notValid();
  const { jkt, 'x5t#S256': x5t, ...others } = cnf as Record<string, unknown>;
  if (Object.keys(others).length > 0 || (jkt === undefined && x5t === undefined)) throw notValid();
  if (!isTextOrNone(jkt) || !isTextOrNone(x5t)) throw notValid();
  return { jkt, x5t };
};

const isTextOrNone = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';

const toVerified = (text: string, payload: JWTPayload, kid: string | undefined, origin: string): VerifiedToken => {
  const { client_id: clientId, scope, iat, exp, nbf, sub, jti } = payload;
  if (typeof clientId !== 'string' || sub !== clientId) throw notValid();
  if (typeof scope !== 'string' || kid === undefined) throw notValid();
  // Every token that this server issues passes. Other times or names would fail later, in dates and in rows of the store.
  if (!isDate(exp) || !isDate(iat) || (nbf !== undefined && !isDate(nbf))) throw notValid();
  if (!isName(jti) || !isName(clientId)) throw notValid();
  const limits = readTokenLimits(payload, origin);
  if (limits === 'malformed') throw notValid();
  return {
    header: copyOf(`${scheme}${text}`),
    clientId,
    scopes: scope.split(' ').filter((name) => name !== ''),
    kid,
    jti,
    issuedMs: iat * 1000,
    expiresMs: exp * 1000,
    ...bindingOf(payload.cnf),
    limits,
    aliveAt: -1,
    caller: undefined,
  };
};

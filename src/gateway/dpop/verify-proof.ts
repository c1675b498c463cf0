/**
 * The checks of RFC 9449 section 4.3 on one proof, for the token endpoint and for operations. Checks that need no store
 * come first. Whether the proof is new is checked last, so that invalid proofs cannot fill the store.
 */
import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, decodeJwt, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '#src/platform/clock.ts';
import type { ProfileRules } from './profile.ts';
import type { ProofNonces } from './proof-nonces.ts';

/** Algorithms of proofs under these rules, in the sequence in which the metadata lists them. */
export const proofAlgorithms = ({ algorithms }: Pick<ProfileRules, 'algorithms'>): string[] =>
  ['ES256', 'EdDSA', 'PS256', 'RS256'].filter((name) => algorithms.includes(name));

export type ProofRefusal = {
  error: 'invalid_dpop_proof' | 'use_dpop_nonce';
  /** Contains no part of the request. */
  text: string;
  /** Nonce that the client must use next; goes into the header DPoP-Nonce. */
  nonce?: string;
};

/**
 * `rules`: those of the client. `host`: of the request, on a route of certain hosts; otherwise the public address is the operator's. `token`, `jkt`: when a
 * token is used; it must be the one that the proof is about, and bound to the proof's key.
 */
type ProofUse = {
  rules: ProfileRules;
  method: string;
  host?: string | undefined;
  path: string;
  token?: string;
  jkt?: string;
  /** The proof was verified before for the same request, which was refused. It can allow nothing. */
  isSecond?: boolean;
};

/** Resolves with the thumbprint of the key, or with what is wrong. Rejects only when the store cannot be reached. */
export type VerifyProof = (proof: string, use: ProofUse) => Promise<{ jkt: string } | ProofRefusal>;

/** What to answer a proof that needs a nonce of this server and has none; undefined: its nonce is right, or its other claims come first. */
export type NonceProblem = (proof: string) => ProofRefusal | undefined;

type VerifyProofDeps = {
  /** Public addresses of the operator, of which `htu` begins with one. The first one decides the scheme on routes of certain hosts. */
  origins: readonly [string, ...string[]];
  clock: Clock;
  nonces: ProofNonces;
  nonceRequired: boolean;
  /** False: used before. */
  markUsed: (proof: { digest: Buffer; expires: Date }, now: Date) => Promise<boolean>;
};

/** Enough for a key of 4096 bits and all claims; longer text is not parsed. */
const lengthMax = 4_096;
const jtiLengthMax = 255;
/** How old a proof may be. How far its clock may be ahead is a rule of the profile. */
const ageMsMax = 60_000;
/** Clocks of two gateways may differ by this much without one deleting a proof that the other would still accept. */
const clocksMs = 60_000;
/** Bounds on RSA keys: the caller chooses the key, and the cost of a verification grows with both of its numbers. */
const rsaModulusLengthMax = 684;
const rsaExponentLengthMax = 6;
/** RFC 7518 section 6: members that only private and symmetric keys have. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

export const createVerifyProof = (deps: VerifyProofDeps): VerifyProof => {
  const { clock } = deps;
  const { protocol } = new URL(deps.origins[0]);
  const isTarget = (htu: string, { host, path }: ProofUse): boolean =>
    host === undefined
      ? deps.origins.some((origin) => namesTarget(htu, origin, path))
      : namesTarget(htu, `${protocol}//${host}`, path);
  const invalid = (text: string): ProofRefusal => ({ error: 'invalid_dpop_proof', text });
  return async (proof, use) => {
    const nowMs = clock.now().getTime();
    const read = isJwtText(proof) ? await readProof(proof, use.rules, clock.now()) : undefined;
    if (read === undefined) return invalid('The DPoP proof is not a valid JWT for its own key');
    const { jwk, payload } = read;
    const { jti, htm, htu, iat, nonce, ath } = payload;
    if (typeof jti !== 'string' || jti === '' || jti.length > jtiLengthMax)
      return invalid('jti is missing or too long');
    if (htm !== use.method) return invalid('htm is not the method of this request');
    if (typeof htu !== 'string' || !isTarget(htu, use)) return invalid('htu is not the address of this request');
    if (use.token !== undefined && ath !== digestOf(use.token).toString('base64url'))
      return invalid('ath is not the digest of the access token');
    const jkt = await calculateJwkThumbprint(jwk);
    if (use.jkt !== undefined && use.jkt !== jkt) return invalid('The access token is bound to another key');
    if (nonce !== undefined && typeof nonce !== 'string') return invalid('nonce must be a string');
    // Before the time: a client whose clock is off learns first that a nonce is wanted.
    const asked = askNonce(deps, nonce);
    if (asked !== undefined) return asked;
    const aheadMs = typeof iat === 'number' ? iat * 1000 - nowMs : undefined;
    if (aheadMs === undefined || -aheadMs > ageMsMax || aheadMs > use.rules.proofAhead.iat * 1000)
      return invalid('iat is missing or too far from now');
    const expires = new Date(nowMs + aheadMs + ageMsMax + clocksMs);
    if (use.isSecond === true) return { jkt };
    const isNew = await deps.markUsed({ digest: digestOf(`${jkt} ${jti}`), expires }, clock.now());
    return isNew ? { jkt } : invalid('The DPoP proof was used before');
  };
};

type NonceDeps = Pick<VerifyProofDeps, 'nonces' | 'nonceRequired'>;

const askNonce = ({ nonces, nonceRequired }: NonceDeps, nonce: string | undefined): ProofRefusal | undefined => {
  if (nonce === undefined ? !nonceRequired : nonces.isLive(nonce)) return undefined;
  const text =
    nonce === undefined
      ? 'The DPoP proof needs a nonce of this server'
      : 'The nonce of the DPoP proof is not a live one';
  return { error: 'use_dpop_nonce', text, nonce: nonces.current() };
};

/** Looks at the nonce alone and verifies nothing, so an answer of undefined says nothing good about the proof. */
export const createNonceProblem =
  (deps: NonceDeps): NonceProblem =>
  (proof) => {
    if (!isJwtText(proof)) return undefined;
    try {
      const { nonce } = decodeJwt(proof);
      return nonce === undefined || typeof nonce === 'string' ? askNonce(deps, nonce) : undefined;
    } catch {
      // The claims of the proof are no JSON object.
      return undefined;
    }
  };

/** Three parts in canonical base64url. Decoders would ignore blanks, padding and stray bits. */
const isJwtText = (text: string): boolean => {
  if (text.length > lengthMax) return false;
  const parts = text.split('.');
  return parts.length === 3 && parts.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
};

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Undefined when the text, its header, key or signature is invalid, or when it has expired by its own claims. */
const readProof = async (
  proof: string,
  rules: ProfileRules,
  now: Date,
): Promise<{ jwk: JWK; payload: JWTPayload } | undefined> => {
  try {
    const { payload, protectedHeader } = await jwtVerify(
      proof,
      (header, token) => {
        if (!isPublic(header.jwk)) throw new TypeError('not a public key');
        return EmbeddedJWK(header, token);
      },
      {
        // More names than the metadata lists: Ed25519 is that of EdDSA since RFC 9864, and libraries send it.
        algorithms: [...rules.algorithms],
        typ: 'dpop+jwt',
        clockTolerance: rules.proofAhead.nbf,
        currentDate: now,
      },
    );
    // The tolerance is for `nbf`; jose applies it to `exp` too.
    if (payload.exp !== undefined && payload.exp * 1000 <= now.getTime()) return undefined;
    return isPublic(protectedHeader.jwk) ? { jwk: protectedHeader.jwk, payload } : undefined;
  } catch {
    // Everything above works on the text alone, so every error is one of the text.
    return undefined;
  }
};

const isPublic = (jwk: unknown): jwk is JWK => {
  if (typeof jwk !== 'object' || jwk === null || privateMembers.some((name) => name in jwk)) return false;
  const { n, e } = jwk as JWK;
  return (
    (n === undefined || (typeof n === 'string' && n.length <= rsaModulusLengthMax)) &&
    (e === undefined || (typeof e === 'string' && e.length <= rsaExponentLengthMax))
  );
};

/** RFC 9449 section 4.3, check 9: after normalisation (RFC 3986 section 6.2), without query and fragment. */
const namesTarget = (htu: string, origin: string, path: string): boolean => {
  const said = URL.parse(htu);
  const asked = URL.parse(origin + path);
  if (said === null || asked === null || said.username !== '' || said.password !== '') return false;
  // A path that reads differently once it is normalised was never routed in that form.
  return (
    asked.pathname === path &&
    said.protocol + said.host === asked.protocol + asked.host &&
    normalised(said.pathname) === normalised(path)
  );
};

/** RFC 3986 section 6.2.2: HTTP clients decode unreserved characters and write encodings in capitals after the proof was made. */
const normalised = (path: string): string =>
  path.replace(/%[0-9A-Fa-f]{2}/g, (code) => {
    const sign = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(sign) ? sign : code.toUpperCase();
  });

/**
 * Workload login (RFC 7523 section 2.2, interface 28): an assertion that a trusted issuer signed for a workload, instead of one that
 * the client signed itself. The refusal names the wrong claim only after the signature was found right.
 */
import { createHash } from 'node:crypto';
import { compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose';
import type { Kysely } from 'kysely';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { createSharedSemaphore } from '#src/platform/sharing/semaphore.ts';
import { isClientId } from '../../model/credential-values.ts';
import { cannotCheck, orFault } from '../lookup/cannot-check.ts';
import { storeWaitMsMax } from '../lookup/confirm-epoch.ts';
import { checkClaims, type WrongClaim, wrong } from './check-claims.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { type IssuerKey, workloadAlgorithms } from './read-jwks.ts';
import { findNearTrust, findTrusts, type TrustQuery, type TrustRow } from './trust-store.ts';

export type VerifyWorkloadDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  keys: IssuerKeys;
  /** False: used before. Over all gateways. */
  markUsed: (used: { digest: Buffer; expires: Date }, now: Date) => Promise<boolean>;
};

/** The claims of a verified assertion, for the audit. */
export type WorkloadFacts = { trust: string; issuer: string; subject: string; audience: string; jti: string | null };

type VerifiedWorkload =
  | { kind: 'proven'; trust: TrustRow; facts: WorkloadFacts }
  /** No client trusts the issuer, or the signature is wrong. */
  | { kind: 'unknown' }
  /** `facts` undefined: the header is wrong, and nothing was verified. */
  | ({ kind: 'wrong'; facts: WorkloadFacts | undefined } & WrongClaim)
  /** The keys of the issuer cannot be read. */
  | { kind: 'unavailable' };

/**
 * `clientId`: as named beside the assertion. `beforeUse`: called before an assertion that counts once is marked as used; what it
 * throws leaves the assertion usable. `source`: where the request comes from. Rejects with what `beforeUse` throws, and when the
 * store cannot be reached.
 */
export type VerifyWorkload = (
  assertion: string,
  clientId: string | undefined,
  beforeUse: BeforeUse,
  source: string,
) => Promise<VerifiedWorkload>;

type BeforeUse = (clientId: string) => void;

const lengthMax = 8_192;
const textLengthMax = 1_024;
const keysTriedMax = 5;
/**
 * chosen: an invented issuer costs two statements, and these must leave connections to the look-ups of other callers. Sources share the
 * look-ups, and a wait as long as that for keys lets one have its turn while another sends many.
 */
const lookUps = { atOnceMax: 4, waitingMax: 64, waitMsMax: 5_000 };
/** Clocks of two gateways may differ by this much without one forgetting an assertion that the other would still accept. */
const clocksMs = minuteMs;

/** True for an assertion of another issuer than a client: that of private_key_jwt names its client as issuer. */
export const isOfIssuer = (assertion: string): boolean => {
  const iss = readUnverified(assertion)?.payload.iss;
  return typeof iss === 'string' && !isClientId(iss);
};

export const createVerifyWorkload = (deps: VerifyWorkloadDeps): VerifyWorkload => {
  const { db, clock, keys } = deps;
  const find = createFind(db);
  return async (assertion, clientId, beforeUse, source) => {
    if (clientId !== undefined && !isClientId(clientId)) return { kind: 'unknown' };
    const read = readUnverified(assertion);
    if (read === undefined) return { kind: 'unknown' };
    const { header, payload } = read;
    const headerProblem = checkHeader(header);
    if (headerProblem !== undefined) return { kind: 'wrong', facts: undefined, ...headerProblem };
    const { iss, sub } = payload;
    if (!isText(iss) || !isText(sub)) return { kind: 'unknown' };
    const query = { clientId, issuer: iss, subject: sub, audiences: audiencesOf(payload.aud) };
    const { exact, trust } = await find(query, source);
    if (trust === undefined) return { kind: 'unknown' };
    const { document, isFailing } = await keys.read(trust, (known) => candidates(known, header).length > 0);
    const found = document === undefined ? [] : candidates(document, header);
    // After a failed reading it is not known whether the issuer has that key.
    if (found.length === 0) return { kind: document === undefined || isFailing ? 'unavailable' : 'unknown' };
    if (!(await isSignedBy(found, assertion, header.alg))) return { kind: 'unknown' };
    return settle(deps, { exact, trust, payload, now: clock.now(), beforeUse });
  };
};

type FoundTrusts = { exact: readonly TrustRow[]; trust: TrustRow | undefined };

/** Rejects with OVERLOADED when too many look-ups run, or the store does not answer in time. */
const createFind = (db: Kysely<unknown>): ((query: TrustQuery, source: string) => Promise<FoundTrusts>) => {
  const turns = createSharedSemaphore(lookUps);
  const read = async (query: TrustQuery): Promise<FoundTrusts> => {
    const exact = await findTrusts(db, query);
    return { exact, trust: exact[0] ?? (await findNearTrust(db, query)) };
  };
  return async (query, source) => {
    const release = await turns.acquire(source, never);
    if (release === undefined) throw cannotCheck('too many look-ups of trusts at once');
    // A look-up without an answer still holds its connection.
    return orFault(answerInTime(read(query).finally(release), storeWaitMsMax));
  };
};

const never = new AbortController().signal;

type Verified = {
  exact: readonly TrustRow[];
  trust: TrustRow;
  payload: Readonly<Record<string, unknown>>;
  now: Date;
  beforeUse: BeforeUse;
};

/** The signature is right. */
const settle = async (
  { markUsed }: VerifyWorkloadDeps,
  { exact, trust, payload, now, beforeUse }: Verified,
): Promise<VerifiedWorkload> => {
  const { jti, exp } = payload;
  const facts: WorkloadFacts = {
    trust: trust.trustId,
    issuer: trust.issuer,
    subject: String(payload.sub).slice(0, textLengthMax),
    audience: audiencesOf(payload.aud).join(' ').slice(0, textLengthMax),
    jti: isText(jti) ? jti : null,
  };
  const problem =
    checkClaims(payload, trust, now.getTime()) ??
    (exact.length > 1
      ? { claim: 'client_id', text: 'Several clients trust this assertion; send client_id' }
      : undefined);
  if (problem !== undefined) return { kind: 'wrong', facts, ...problem };
  if (typeof jti === 'string' && !trust.reusable) {
    beforeUse(trust.clientId);
    const digest = createHash('sha256').update(`workload\0${trust.issuer}\0${jti}`).digest();
    const isNew = await markUsed({ digest, expires: new Date(Number(exp) * 1000 + clocksMs) }, now);
    if (!isNew) return { kind: 'wrong', facts, ...wrong('jti', 'was used before') };
  }
  return { kind: 'proven', trust, facts };
};

type Header = { alg: string; kid: string | undefined } & Readonly<Record<string, unknown>>;

const readUnverified = (
  assertion: string,
): { header: Header; payload: Readonly<Record<string, unknown>> } | undefined => {
  if (assertion.length > lengthMax) return undefined;
  try {
    const { alg, kid, ...rest } = decodeProtectedHeader(assertion);
    if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) return undefined;
    return { header: { ...rest, alg, kid }, payload: decodeJwt(assertion) };
  } catch {
    return undefined;
  }
};

/** They carry or name keys, which come from the issuer alone (RFC 8725 section 3.10), or change how the token is read. */
const refusedMembers = ['jwk', 'jku', 'x5u', 'x5c', 'crit'] as const;
/** A token of another kind, such as an access token, is no assertion (RFC 8725 section 3.11). */
const types: readonly unknown[] = [undefined, 'jwt', 'jose', 'client-authentication+jwt'];

const checkHeader = (header: Header): WrongClaim | undefined => {
  const member = refusedMembers.find((name) => header[name] !== undefined);
  if (member !== undefined) return { claim: member, text: `The header of the assertion must not have ${member}` };
  if (!workloadAlgorithms.includes(header.alg)) {
    return { claim: 'alg', text: `The assertion must be signed with one of ${workloadAlgorithms.join(', ')}` };
  }
  const typ = typeof header.typ === 'string' ? header.typ.toLowerCase() : header.typ;
  return types.includes(typ) ? undefined : { claim: 'typ', text: 'The typ of the assertion is that of another token' };
};

/** The keys with that id for the algorithm. Without an id there must be one key only. */
const candidates = (keys: readonly IssuerKey[], { alg, kid }: Header): readonly IssuerKey[] => {
  const fitting = keys.filter(({ algorithms }) => algorithms.includes(alg));
  if (kid === undefined) return fitting.length === 1 ? fitting : [];
  return fitting.filter((key) => key.kid === kid).slice(0, keysTriedMax);
};

const isSignedBy = async (keys: readonly IssuerKey[], assertion: string, alg: string): Promise<boolean> => {
  for (const { key } of keys) {
    try {
      await compactVerify(assertion, key, { algorithms: [alg] });
      return true;
    } catch (error) {
      if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error;
    }
  }
  return false;
};

/** Text that the store can hold. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= textLengthMax &&
  !value.includes('\u0000') &&
  value.isWellFormed();

const audiencesOf = (aud: unknown): readonly string[] => (Array.isArray(aud) ? aud.slice(0, 10) : [aud]).filter(isText);

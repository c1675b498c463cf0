/**
 * Traces a credential of which only the SHA-256 and the public id are known, because the browser hashed the value
 * before sending. The public id proves nothing; the hash proves possession of the value.
 */
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createFingerprintOfHash } from '../audit/event/fingerprint.ts';
import { detailsOf } from '../audit/event/found-event.ts';
import type { Place } from '../audit/search/access-path-store.ts';
import type { EventFilter } from '../audit/search/filter-store.ts';
import { findEvents } from '../audit/search/search-store.ts';
import { findIssuedKey, findIssuedSecret } from '../credentials/lookup/credential-store.ts';
import { findCertificateRow } from '../credentials/show/live-credential-store.ts';
import { findCredential } from '../credentials/show/live-credentials.ts';
import { type CredentialState, clientKeyName } from '../credentials/show/show-credentials.ts';
import { longestTokenSeconds } from '../credentials/show/token-end-store.ts';
import { type IssuedToken, listIssuedTokens } from './issued-tokens.ts';
import { type Claim, getsTokens, type Traced, traceClaim } from './trace-credential.ts';

export type HashedCredential = {
  kind: Traced['kind'];
  /** Key id, secret id, thumbprint or `jti`: the public part. */
  id: string;
  /** SHA-256 of the value, lower-case hex; of a certificate: of its DER form, which is the thumbprint again. */
  sha256: string;
};

export type HashedTrace = Traced & {
  /** A credential with this id was issued here. It may be another one when `genuine` is false. */
  exists: boolean;
  /** Undefined for a credential that does not exist. */
  state: IssuedToken['state'] | CredentialState | undefined;
  /** Tokens that were issued for a secret or a certificate, newest first, at most `tokensShown`. */
  descendants: readonly IssuedToken[];
  /** How many of all tokens that were issued for it are valid now. `partial`: at least so many. */
  liveTokens: { count: number; partial: boolean };
};

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive' | 'digest'>; clock: Clock };

const tokensShown = 50;

/** VALIDATION_ERROR for a malformed hash or id. */
export const traceHashed = async (deps: Deps, hashed: HashedCredential): Promise<HashedTrace> => {
  const { claim, known, exists } = await readHashed(deps, hashed);
  const traced = await traceClaim(deps, claim, known);
  const state = await stateOf(deps, claim);
  if (!getsTokens(claim.kind)) return { ...traced, exists, state, descendants: [], liveTokens: noTokens };
  const issued = await listIssuedTokens(deps, { credential: claim.id }, undefined, tokensShown);
  return { ...traced, exists, state, descendants: issued.tokens, liveTokens: await countLive(deps, claim.id) };
};

const noTokens = { count: 0, partial: false };
const livePage = 1_000;
const livePagesMax = 5;

/** A token that is valid now is not older than the longest lifetime, so only so far back the audit is read. */
const countLive = async (deps: Deps, credential: string): Promise<HashedTrace['liveTokens']> => {
  const since = new Date(deps.clock.now().getTime() - (await longestTokenSeconds(deps.db)) * 1000);
  let count = 0;
  let place: Place | undefined;
  for (let page = 0; page < livePagesMax; page += 1) {
    const { tokens, next } = await listIssuedTokens(deps, { credential, since }, place, livePage);
    count += tokens.filter(({ state }) => state === 'live').length;
    if (next === undefined) return { count, partial: false };
    place = next;
  }
  return { count, partial: true };
};

const stateOf = async (deps: Deps, { kind, id }: Claim): Promise<HashedTrace['state']> => {
  if (kind !== 'token') return (await findCredential(deps, kind, id))?.state;
  return (await listIssuedTokens(deps, { tokenId: id }, undefined, 1)).tokens[0]?.state;
};

const idForms: Readonly<Record<Traced['kind'], RegExp>> = {
  client_certificate: /^[\w-]{43}$/,
  api_key: /^opk_(?:test_)?[0-9A-Za-z]{12}$/,
  client_secret: /^ops_(?:test_)?[0-9A-Za-z]{12}$/,
  token: /^[\w-]{8,128}$/,
};

const readHashed = async (
  { db, box }: Deps,
  { kind, id, sha256 }: HashedCredential,
): Promise<{ claim: Claim; known: { clientId: string | null } | undefined; exists: boolean }> => {
  if (!/^[0-9a-f]{64}$/.test(sha256) || !idForms[kind].test(id)) {
    throw new Fault(
      'VALIDATION_ERROR',
      'This is not the hash of an API key, a client secret, a certificate or an access token',
    );
  }
  const fingerprint = createFingerprintOfHash(box)(sha256);
  const claim: Claim = { kind, id, clientId: undefined, fingerprints: [fingerprint] };
  if (kind === 'token') {
    const [issued] = await findEvents(db, { tokenId: id, action: 'token.issued' }, 1);
    const { token_fingerprint: written } = issued === undefined ? {} : detailsOf(issued.details);
    const genuine =
      equalInConstantTime(typeof written === 'string' ? written : '', fingerprint) ||
      (await wasUsed(db, { tokenId: id, fingerprint }));
    return { claim, known: genuine ? { clientId: null } : undefined, exists: issued !== undefined };
  }
  if (kind === 'client_certificate') return readCertificate(db, claim, sha256);
  const row = await (kind === 'api_key' ? findIssuedKey(db, id) : findIssuedSecret(db, id));
  const genuine =
    row !== undefined &&
    (row.fingerprint === null
      ? await wasUsed(db, { credential: id, fingerprint })
      : equalInConstantTime(row.fingerprint, fingerprint));
  return { claim, known: genuine ? { clientId: row.clientId } : undefined, exists: row !== undefined };
};

/** A certificate is public, so its hash proves no more than that the client has registered exactly this one. */
const readCertificate = async (db: Kysely<unknown>, claim: Claim, sha256: string): ReturnType<typeof readHashed> => {
  const isOwnHash = Buffer.from(claim.id, 'base64url').toString('hex') === sha256;
  const row = isOwnHash ? await findCertificateRow(db, claim.id) : undefined;
  if (row === undefined) return { claim, known: undefined, exists: false };
  const named = { ...claim, id: clientKeyName(row.holder, row.id), clientId: row.holder };
  return { claim: named, known: { clientId: row.holder }, exists: true };
};

/** True when a gateway accepted exactly this value as that credential. */
const wasUsed = async (db: Kysely<unknown>, filter: EventFilter): Promise<boolean> =>
  (await findEvents(db, { ...filter, outcome: 'success' }, 1)).length > 0;

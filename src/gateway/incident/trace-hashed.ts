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
import type { EventFilter } from '../audit/search/filter-store.ts';
import { findEvents } from '../audit/search/search-store.ts';
import { findIssuedKey, findIssuedSecret } from '../credentials/lookup/credential-store.ts';
import { findCredential } from '../credentials/show/live-credentials.ts';
import type { CredentialState } from '../credentials/show/show-credentials.ts';
import { type IssuedToken, listIssuedTokens } from './issued-tokens.ts';
import { type Claim, type Traced, traceClaim } from './trace-credential.ts';

export type HashedCredential = {
  kind: Traced['kind'];
  /** Key id, secret id or `jti`: the public part. */
  id: string;
  /** SHA-256 of the value, lower-case hex. */
  sha256: string;
};

export type HashedTrace = Traced & {
  /** A credential with this id was issued here. It may be another one when `genuine` is false. */
  exists: boolean;
  /** Undefined for a credential that does not exist. */
  state: IssuedToken['state'] | CredentialState | undefined;
  /** Tokens that were issued for a secret, newest first, at most `tokensShown`. */
  descendants: readonly IssuedToken[];
};

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive' | 'digest'>; clock: Clock };

const tokensShown = 50;

/** VALIDATION_ERROR for a malformed hash or id. */
export const traceHashed = async (deps: Deps, hashed: HashedCredential): Promise<HashedTrace> => {
  const { claim, known, exists } = await readHashed(deps, hashed);
  const traced = await traceClaim(deps, claim, known);
  const issued =
    claim.kind === 'client_secret'
      ? await listIssuedTokens(deps, { credential: claim.id }, undefined, tokensShown)
      : undefined;
  return { ...traced, exists, state: await stateOf(deps, claim), descendants: issued?.tokens ?? [] };
};

const stateOf = async (deps: Deps, { kind, id }: Claim): Promise<HashedTrace['state']> => {
  if (kind !== 'token') return (await findCredential(deps, kind, id))?.state;
  return (await listIssuedTokens(deps, { tokenId: id }, undefined, 1)).tokens[0]?.state;
};

const idForms: Readonly<Record<Traced['kind'], RegExp>> = {
  api_key: /^opk_(?:test_)?[0-9A-Za-z]{12}$/,
  client_secret: /^ops_(?:test_)?[0-9A-Za-z]{12}$/,
  token: /^[\w-]{8,128}$/,
};

const readHashed = async (
  { db, box }: Deps,
  { kind, id, sha256 }: HashedCredential,
): Promise<{ claim: Claim; known: { clientId: string | null } | undefined; exists: boolean }> => {
  if (!/^[0-9a-f]{64}$/.test(sha256) || !idForms[kind].test(id)) {
    throw new Fault('VALIDATION_ERROR', 'This is not the hash of an API key, a client secret or an access token');
  }
  const fingerprint = createFingerprintOfHash(box)(sha256);
  const claim: Claim = { kind, id, clientId: undefined, fingerprints: [fingerprint] };
  if (kind === 'token') {
    const [issued] = await findEvents(db, { tokenId: id, action: 'token.issued' }, 1);
    const details = issued === undefined ? undefined : (JSON.parse(issued.details) as { token_fingerprint?: string });
    const genuine =
      equalInConstantTime(details?.token_fingerprint ?? '', fingerprint) ||
      (await wasUsed(db, { tokenId: id, fingerprint }));
    return { claim, known: genuine ? { clientId: null } : undefined, exists: issued !== undefined };
  }
  const row = await (kind === 'api_key' ? findIssuedKey(db, id) : findIssuedSecret(db, id));
  const genuine =
    row !== undefined &&
    (row.fingerprint === null
      ? await wasUsed(db, { credential: id, fingerprint })
      : equalInConstantTime(row.fingerprint, fingerprint));
  return { claim, known: genuine ? { clientId: row.clientId } : undefined, exists: row !== undefined };
};

/** True when a gateway accepted exactly this value as that credential. */
const wasUsed = async (db: Kysely<unknown>, filter: EventFilter): Promise<boolean> =>
  (await findEvents(db, { ...filter, outcome: 'success' }, 1)).length > 0;

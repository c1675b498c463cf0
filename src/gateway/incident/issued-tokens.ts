/** Lists issued access tokens with their current state. No table holds them; they are found in the audit. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { ChainedEvent } from '../audit/event/event.ts';
import { detailsOf } from '../audit/event/found-event.ts';
import type { Place } from '../audit/search/access-path-store.ts';
import type { EventFilter } from '../audit/search/filter-store.ts';
import { fillPage } from '../audit/search/search-store.ts';
import { isOver, leakMarginMs } from '../credentials/lookup/records.ts';
import { type CertificateEnd, readTokenEnds, type TokenEnds } from '../credentials/show/token-end-store.ts';

type TokenState = 'live' | 'expired' | 'revoked';

export type IssuedToken = {
  /** `jti`. */
  id: string;
  clientId: string | null;
  /** Secret or client key for which it was issued. */
  parent: string | null;
  /** Id of the token that it was exchanged from; null: of none. */
  parentToken: string | null;
  issued: Date;
  expires: Date;
  scopes: readonly string[];
  address: string | null;
  state: TokenState;
};

/** `places`: position after each token. `next`: position after all of them; undefined at the end. */
export type IssuedTokens = { tokens: IssuedToken[]; places: Place[]; next: Place | undefined };

/** Newest first. */
export const listIssuedTokens = async (
  { db, clock }: { db: Kysely<unknown>; clock: Clock },
  filter: EventFilter,
  before: Place | undefined,
  limit: number,
): Promise<IssuedTokens> => {
  const { events: page, next } = await fillPage(db, { ...filter, action: 'token.issued' }, before, limit);
  const ends = await readTokenEnds(db, {
    tokens: page.flatMap(({ token_id: id, details }) => (id === null ? [] : [id, ...ancestorsOf(details)])),
    clients: [...new Set(page.flatMap(({ client_id: id }) => (id === null ? [] : [id])))],
    thumbprints: [...new Set(page.flatMap(({ details }) => certificateOf(details) ?? []))],
  });
  const nowMs = clock.now().getTime();
  return {
    tokens: page.map((event) => toToken(event, ends, nowMs)),
    places: page.map(({ at, chain, seq }) => ({ at, chain, seq })),
    next,
  };
};

const toToken = (event: ChainedEvent, ends: TokenEnds, nowMs: number): IssuedToken => {
  const expiresMs = expiresMsOf(event, ends);
  return {
    id: event.token_id ?? '',
    clientId: event.client_id,
    parent: event.credential_id,
    parentToken: ancestorsOf(event.details)[0] ?? null,
    issued: event.at,
    expires: new Date(expiresMs),
    scopes: event.scopes,
    address: event.address,
    state: isRevoked(event, ends, nowMs) ? 'revoked' : expiresMs <= nowMs ? 'expired' : 'live',
  };
};

/** Events of earlier versions do not contain the expiry; then the longest possible lifetime is used. */
export const expiresMsOf = (event: ChainedEvent, { tokenSecondsMax }: Pick<TokenEnds, 'tokenSecondsMax'>): number => {
  const { expires } = detailsOf(event.details);
  const expiresMs = typeof expires === 'string' ? Date.parse(expires) : Number.NaN;
  return Number.isNaN(expiresMs) ? event.at.getTime() + tokenSecondsMax * 1000 : expiresMs;
};

/** Ids of the tokens that the issued one was exchanged from, its parent first. `details`: of the event of its issue. */
export const ancestorsOf = (details: string): readonly string[] => {
  const { ancestors } = detailsOf(details);
  return Array.isArray(ancestors) ? ancestors.filter((id) => typeof id === 'string') : [];
};

/** Thumbprint of the certificate that the issued token is bound to. Events of earlier versions do not contain it. */
const certificateOf = (details: string): string | undefined => {
  const { certificate } = detailsOf(details);
  return typeof certificate === 'string' ? certificate : undefined;
};

/** As the gateway decides (access/check-token.ts). */
const isRevoked = (
  { token_id: tokenId, client_id: clientId, at, details }: ChainedEvent,
  ends: TokenEnds,
  nowMs: number,
): boolean => {
  // A token ends with each one that it was exchanged from.
  if ([tokenId ?? '', ...ancestorsOf(details)].some((id) => ends.revoked.has(id))) return true;
  const client = clientId === null ? undefined : ends.clients.get(clientId);
  if (client === undefined) return false;
  // `iat` of a token is in whole seconds, and the gateway compares that.
  const issuedMs = Math.floor(at.getTime() / 1000) * 1000;
  const thumbprint = certificateOf(details);
  const ofClient = ends.certificates.filter((one) => one.clientId === clientId && one.thumbprint === thumbprint);
  if (ofClient.some((one) => isEnded(one, issuedMs, nowMs))) return true;
  // A token that was exchanged ends with the first one of its chain.
  const { ancestors_iat: first } = detailsOf(details);
  const firstMs = typeof first === 'number' ? first * 1000 : issuedMs;
  return client.disabled || (client.tokensNotBefore !== null && firstMs < client.tokensNotBefore.getTime());
};

const isEnded = ({ revoked, expires, endedBefore }: CertificateEnd, issuedMs: number, nowMs: number): boolean =>
  revoked ||
  isOver(expires === null ? null : expires.getTime(), nowMs) ||
  (endedBefore !== null && issuedMs < endedBefore.getTime() + leakMarginMs);

/** Pure: the claims that limit a token beside its scopes. */
import type { JWTPayload } from 'jose';

/** Of a narrowed token (interface 30); every other token has none. */
export type TokenLimits = {
  /** The claim `authorization_details`; undefined: it has none. */
  details: readonly unknown[] | undefined;
  /** Audiences of services that the token is for; undefined: it is for the whole server. */
  audiences: readonly string[] | undefined;
  /** Ids of the tokens that it was exchanged from, its parent first. */
  ancestors: readonly string[];
  /** When the first of them was issued; undefined: it was not exchanged. */
  firstIssuedMs: number | undefined;
  /** Equal for tokens with equal limits. */
  key: string;
};

/** Tokens of longer chains are not issued. */
export const ancestorsMax = 4;

/**
 * A narrowed token has a list as audience: releases that do not know its limits refuse such a token. `malformed`: no token
 * that was issued here has such claims.
 */
export const readTokenLimits = (payload: JWTPayload, origin: string): TokenLimits | undefined | 'malformed' => {
  const { aud, authorization_details: details, ancestors = [], ancestors_iat: firstIssued } = payload;
  const audiences = typeof aud === 'string' ? [aud] : aud;
  if (!isTexts(audiences) || audiences.length === 0) return 'malformed';
  if (details !== undefined && (!Array.isArray(details) || details.length === 0)) return 'malformed';
  if (!isTexts(ancestors) || ancestors.length > ancestorsMax) return 'malformed';
  if (ancestors.length > 0 !== (typeof firstIssued === 'number')) return 'malformed';
  const isForAll = audiences.includes(origin);
  const isNarrowed = details !== undefined || ancestors.length > 0;
  if (isForAll && (audiences.length > 1 || isNarrowed === (typeof aud === 'string'))) return 'malformed';
  if (isForAll && !isNarrowed) return undefined;
  return {
    details,
    audiences: isForAll ? undefined : audiences,
    ancestors,
    firstIssuedMs: typeof firstIssued === 'number' ? firstIssued * 1000 : undefined,
    key: JSON.stringify([details, isForAll ? [] : audiences]),
  };
};

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string' && text !== '');

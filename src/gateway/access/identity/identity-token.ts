/**
 * A token of the caller for one upstream: a JWT with the claims of RFC 9068, signed with ES256 by a published key. It has a type
 * and an audience of its own, so that it is no access token here and an access token is none there (RFC 8725 sections 3.9
 * and 3.11). Requests of one caller share a token: a signature costs as much as the rest of the request.
 */
import { randomUUID } from 'node:crypto';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { type PublishedKey, signJwt } from '#src/contract/es256.ts';
import { listedTenants } from './listed-tenants.ts';

const identityTokenType = 'orderpass-identity+jwt';

const lifetimeSeconds = 60;
/** A token that is handed on has at least half of its life left, so that clocks may differ and requests may wait. */
const reusedMs = 30_000;

type Made = { kid: string; madeMs: number; text: string };

export type IdentityTokenDeps = {
  issuer: string;
  audience: string;
  currentKey: () => PublishedKey;
  now: () => number;
};

/** Callers are never changed once made, so the tokens are remembered by object and end with it. */
export const createIdentityTokens = ({ issuer, audience, currentKey, now }: IdentityTokenDeps) => {
  const made = new WeakMap<AssertedCaller, Made>();
  return (caller: AssertedCaller): string => {
    const nowMs = now();
    const key = currentKey();
    const before = made.get(caller);
    // A clock that was set back makes a token of the future.
    if (before?.kid === key.kid && nowMs >= before.madeMs && nowMs - before.madeMs < reusedMs) return before.text;
    const text = signJwt(identityTokenType, claimsOf(caller, { issuer, audience, nowMs }), key);
    made.set(caller, { kid: key.kid, madeMs: nowMs, text });
    return text;
  };
};

const claimsOf = (
  caller: AssertedCaller,
  { issuer, audience, nowMs }: { issuer: string; audience: string; nowMs: number },
): object => {
  const iat = Math.floor(nowMs / 1000);
  const { tenants, total } = listedTenants(caller);
  return {
    iss: issuer,
    aud: audience,
    sub: caller.id,
    ...(caller.kind !== 'api_key' && { client_id: caller.id }),
    kind: caller.kind,
    scope: caller.scopes.join(' '),
    ...(tenants === undefined ? { tenants_total: total } : { tenants }),
    jti: randomUUID(),
    iat,
    exp: iat + lifetimeSeconds,
  };
};

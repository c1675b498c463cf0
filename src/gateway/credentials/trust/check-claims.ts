/** Pure: the claims of an assertion beside what a client trusts. Called only after the signature was found right. */
import { dayMs } from '#src/platform/clock.ts';
import type { TrustRow } from './trust-store.ts';

/** What is wrong. `text` never holds what was sent or what is trusted. */
export type WrongClaim = { claim: string; text: string };

/** chosen: clocks of issuers may be ahead by this much. An end is never extended. */
const clockMs = 30_000;
/** chosen: tokens of Kubernetes live an hour by default. */
const lifetimeMsMax = dayMs;
const jtiLengthMax = 255;

/** `now`: milliseconds. Undefined: they match. */
export const checkClaims = (
  payload: Readonly<Record<string, unknown>>,
  { subject, audience }: Pick<TrustRow, 'subject' | 'audience'>,
  nowMs: number,
): WrongClaim | undefined => {
  const { sub, aud, exp, nbf, iat, jti } = payload;
  if (sub !== subject) return wrong('sub', 'is not the subject that the client trusts');
  // Another audience could replay an assertion that also names it.
  if (Array.isArray(aud) && aud.length !== 1) return wrong('aud', 'must have exactly one audience');
  if ((Array.isArray(aud) ? aud[0] : aud) !== audience)
    return wrong('aud', 'is not the audience that the client trusts');
  return checkTimes({ exp, nbf, iat }, nowMs) ?? checkId(jti);
};

const checkTimes = (
  { exp, nbf, iat }: Readonly<Record<'exp' | 'nbf' | 'iat', unknown>>,
  nowMs: number,
): WrongClaim | undefined => {
  if (!isTime(exp)) return wrong('exp', 'is missing, or no number');
  if (exp * 1000 <= nowMs) return wrong('exp', 'has passed');
  if (exp * 1000 - nowMs > lifetimeMsMax) return wrong('exp', 'is more than 24 hours ahead');
  for (const [claim, value] of Object.entries({ nbf, iat })) {
    if (value === undefined) continue;
    if (!isTime(value)) return wrong(claim, 'is no number');
    if (value * 1000 > nowMs + clockMs) return wrong(claim, 'is in the future');
  }
  return undefined;
};

const checkId = (jti: unknown): WrongClaim | undefined =>
  jti === undefined || (typeof jti === 'string' && jti !== '' && jti.length <= jtiLengthMax)
    ? undefined
    : wrong('jti', `must be a text of 1 to ${jtiLengthMax} characters`);

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

export const wrong = (claim: string, what: string): WrongClaim => ({
  claim,
  text: `The claim ${claim} of the assertion ${what}`,
});

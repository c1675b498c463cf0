/** RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers, revision 11): lists of RFC 9651. Pure. */
import type { RatePolicy } from './rate-window.ts';

export const policyField = (policies: readonly RatePolicy[]): string =>
  policies.map(({ name, quota, windowSeconds }) => `"${name}";q=${quota};w=${windowSeconds}`).join(', ');

/** `remaining` and `resetSeconds`: one figure per policy. */
export const limitField = (
  policies: readonly RatePolicy[],
  remaining: readonly number[],
  resetSeconds: readonly number[],
): string => {
  let text = '';
  for (let i = 0; i < policies.length; i += 1) {
    text += `${i === 0 ? '' : ', '}"${policies[i]?.name}";r=${remaining[i]};t=${resetSeconds[i]}`;
  }
  return text;
};

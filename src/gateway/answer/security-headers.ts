/** Headers that every answer of the public listener carries, as a flat list of names and values. */
import type { RateStanding } from '../limits/rate-standing.ts';

const apiVersion = '1.0.0';

/** `rate`: the limits that the request met. `dpopNonce`: for the caller's next proof. */
export type EdgeHeaders = (requestId: string, rate?: RateStanding, dpopNonce?: string) => string[];

/**
 * Value of Strict-Transport-Security for an answer of `origin`. Undefined where that is plain: RFC 6797 section 7.2 forbids
 * the header there. 0 seconds make browsers forget an earlier value.
 */
export const strictTransportOf = (origin: string, { hsts_seconds }: { hsts_seconds: number }): string | undefined =>
  origin.startsWith('https:') ? `max-age=${hsts_seconds}` : undefined;

/** `strictTransport`: undefined for answers that leave without TLS. */
export const createEdgeHeaders = (strictTransport: string | undefined): EdgeHeaders => {
  return (requestId, rate, dpopNonce) => {
    const headers = ['x-request-id', requestId, 'x-api-version', apiVersion, 'x-content-type-options', 'nosniff'];
    if (strictTransport !== undefined) headers.push('strict-transport-security', strictTransport);
    if (rate !== undefined) headers.push('ratelimit-policy', rate.policyText, 'ratelimit', rate.limitText);
    if (dpopNonce !== undefined) headers.push('dpop-nonce', dpopNonce);
    return headers;
  };
};

/** Headers that every answer of the public listener carries, as a flat list of names and values. */
export const apiVersion = '1.0.0';

/** One year; only said over TLS, where RFC 6797 gives it a meaning. */
const strictTransport = 'max-age=31536000';

/**
 * `more`: names and values that this request has earned, such as how its caller stands with its limits. `dpopNonce`: for
 * the caller's next proof.
 */
export type EdgeHeaders = (requestId: string, more?: readonly string[], dpopNonce?: string) => string[];

export const createEdgeHeaders = (origin: string): EdgeHeaders => {
  const secure = origin.startsWith('https:');
  return (requestId, more, dpopNonce) => {
    const headers = ['x-request-id', requestId, 'x-api-version', apiVersion, 'x-content-type-options', 'nosniff'];
    if (secure) headers.push('strict-transport-security', strictTransport);
    if (more !== undefined) headers.push(...more);
    if (dpopNonce !== undefined) headers.push('dpop-nonce', dpopNonce);
    return headers;
  };
};

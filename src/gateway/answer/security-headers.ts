/** Headers that every answer of the public listener carries, as a flat list of names and values. */
const apiVersion = '1.0.0';

/** One year. Sent over TLS only, as RFC 6797 requires. */
const strictTransport = 'max-age=31536000';

/**
 * `more`: further names and values of this request, such as its rate limit fields. `dpopNonce`: for the caller's next
 * proof.
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

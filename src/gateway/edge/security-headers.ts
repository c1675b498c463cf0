/** Headers that every answer of the public listener carries, as a flat list of names and values. */
export const apiVersion = '1.0.0';

/** One year; only said over TLS, where RFC 6797 gives it a meaning. */
const strictTransport = 'max-age=31536000';

export const createEdgeHeaders = (origin: string): ((requestId: string) => string[]) => {
  const secure = origin.startsWith('https:');
  return (requestId) => {
    const headers = ['x-request-id', requestId, 'x-api-version', apiVersion, 'x-content-type-options', 'nosniff'];
    if (secure) headers.push('strict-transport-security', strictTransport);
    return headers;
  };
};

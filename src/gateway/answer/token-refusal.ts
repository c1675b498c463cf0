/** The token endpoint, which is no route of the file of routes, and its refusals in the list of a client's requests. */

/** `id`: the name that the reference gives to it. */
export const tokenRoute = { id: 'oauth.token', path: '/api/oauth/token' } as const;

/** A refused token request whose client was identified. */
export type TokenRefusal = {
  clientId: string;
  requestId: string;
  status: number;
  /** As in RFC 6749 section 5.2. */
  code: string;
  durationMs: number;
};

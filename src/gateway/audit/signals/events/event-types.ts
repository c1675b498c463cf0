/** Types of events by their URIs (CAEP 1.0 section 3, SSF 1.0 section 8.1). */

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
const ssf = 'https://schemas.openid.net/secevent/ssf/event-type/';

export const sessionRevoked = `${caep}session-revoked`;
export const credentialChange = `${caep}credential-change`;
export const tokenClaimsChange = `${caep}token-claims-change`;

/** They belong to the stream itself and are in no list of supported events. */
export const verification = `${ssf}verification`;
export const streamUpdated = `${ssf}stream-updated`;

export const supportedEvents: readonly string[] = [sessionRevoked, credentialChange, tokenClaimsChange];

/** What a stream delivers. `requested`: null for everything that is supported. */
export const deliveredOf = (requested: readonly string[] | null): string[] =>
  supportedEvents.filter((type) => requested === null || requested.includes(type));

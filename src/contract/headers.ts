/**
 * Names that the gateway and the services behind it agree on. The gateway drops every header that starts with `x-orderpass-`
 * from requests and from answers of upstreams (gateway/upstream/request-headers.ts), so a caller can forge none of them.
 */

/** Signed statement about the caller (assertion.ts). */
export const assertionHeader = 'x-orderpass-assertion';

/**
 * In an answer of an upstream: the refusal is about a Bearer credential that only the body showed, so the gateway answers in
 * the OAuth dialect.
 */
export const dialectHeader = 'x-orderpass-dialect';

/**
 * In an answer of an upstream to a caller with several tenants: the one that the request was for, which the gateway writes to
 * the log of the caller's requests.
 */
export const tenantHeader = 'x-orderpass-tenant';

export const requestIdHeader = 'x-request-id';

/** In a request: the fault that a sandbox credential asks for (interface 25.2). The gateway reads it and never forwards it. */
export const simulateHeader = 'x-orderpass-simulate';

/** In a delivery: its event comes from a sandbox. */
export const sandboxHeader = 'x-orderpass-sandbox';

/** Names of the cookies of the panel begin so. Services behind the gateway share its host, and neither get nor set such a cookie. */
export const ownCookiePrefix = '__Host-orderpass';

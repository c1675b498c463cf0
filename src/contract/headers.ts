/**
 * Names of headers that the gateway and its upstreams agree on. The gateway drops every header that starts with the reserved
 * prefix in both directions, so a caller can forge none of them.
 */
export const reservedPrefix = 'x-orderpass-';

/** Signed statement about the caller (assertion.ts). */
export const assertionHeader = 'x-orderpass-assertion';

/**
 * In an answer of an upstream: the refusal is about a Bearer credential that only the body showed, so the gateway answers in
 * the OAuth dialect.
 */
export const dialectHeader = 'x-orderpass-dialect';

export const requestIdHeader = 'x-request-id';

/**
 * Names that the gateway and the services behind it agree on. Every header that starts with the reserved
 * prefix is dropped at the public door in both directions, so none of them can be forged from outside.
 */
export const reservedPrefix = 'x-orderpass-';

/** Signed statement of who the caller is (see assertion.ts). */
export const assertionHeader = 'x-orderpass-assertion';

/** Upstream's answer: this refusal is about a Bearer credential that only the body showed, so answer in the OAuth dialect. */
export const dialectHeader = 'x-orderpass-dialect';

export const requestIdHeader = 'x-request-id';

/**
 * Pure: scope tokens, and which names of missing scopes a refusal may carry. Scopes are quoted in a header and kept as jsonb, and
 * a service may name anything: a quotation mark would end the parameter of the header, and neither place takes U+0000.
 */

/** RFC 6749 section 3.3, as long as a route table may have them. */
export const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/;

export const isScopeToken = (name: unknown): name is string => typeof name === 'string' && scopeToken.test(name);

/** `missing`: of a list, its scope tokens; of anything else none. */
export const scopeTokensOf = (missing: unknown): readonly string[] =>
  Array.isArray(missing) ? missing.filter(isScopeToken) : [];

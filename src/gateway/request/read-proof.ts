/** Pure: the DPoP header fields of a request. */

/** Non-empty values from the raw list, since node would join two into one. */
export const proofsOf = (rawHeaders: readonly string[]): string[] => {
  const found: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'dpop' && value !== '') found.push(value);
  }
  return found;
};

/** Scheme names ignore case (RFC 9110 section 11.1). */
export const isDpopScheme = (authorization: string): boolean => /^dpop(?:[ \t]|$)/i.test(authorization);

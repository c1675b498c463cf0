/** Pure: where a value was found, as the audit may keep it. */

const charactersMax = 500;
/** chosen: who encodes a value more often than this gets no address kept. */
const encodingsMax = 4;
/** Values of API keys and client secrets (model/credential-values.ts), and how signed tokens begin, also as parts of longer words. */
const credentials = /op[ks]_(?:test_)?[0-9a-z]{12}_[0-9a-z]{49}|eyJ[\w-]{10}/i;

/**
 * Origin and path of an http address; null for any other text, and for one that contains the value or looks as if it contained
 * another credential, percent-encoded too. A query, a fragment and credentials may be secrets themselves.
 */
export const cleanUrl = (text: string | undefined, value: string): string | null => {
  if (text === undefined || text.length > 4_096 || !URL.canParse(text)) return null;
  const { protocol, origin, pathname } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  const cleaned = origin + pathname;
  if (cleaned.length > charactersMax) return null;
  // A host is in small letters.
  const decoded = decode(cleaned)?.toLowerCase();
  return decoded === undefined || decoded.includes(value.toLowerCase()) || credentials.test(decoded) ? null : cleaned;
};

/** Undefined: the text cannot be decoded, or is encoded too often. */
const decode = (text: string): string | undefined => {
  let decoded = text;
  try {
    for (let n = 0; n < encodingsMax; n += 1) {
      const next = decodeURIComponent(decoded);
      if (next === decoded) return decoded;
      decoded = next;
    }
  } catch {
    // A `%` that begins no encoded character.
  }
  return undefined;
};

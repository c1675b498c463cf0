/** Pure: where a value was found, as the audit may keep it. */

const charactersMax = 500;

/**
 * Origin and path of an http address; null for any other text, and for one that contains the value. A query, a fragment and
 * credentials may be secrets themselves.
 */
export const cleanUrl = (text: string | undefined, value: string): string | null => {
  if (text === undefined || text.length > 4_096 || !URL.canParse(text)) return null;
  const { protocol, origin, pathname } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  const cleaned = origin + pathname;
  return cleaned.length > charactersMax || cleaned.includes(value) ? null : cleaned;
};

/**
 * Pure: the reported value. The answer is the same for every report, so a finder who sends the value as it stood in a file or header
 * would not learn that nothing ended.
 */

const textLengthMax = 8_192;
/** The formats of credential-values.ts, and of a token that is signed by ES256. */
const values =
  /\bop[ks]_(?:test_)?[0-9A-Za-z]{12}_[0-9A-Za-z]{49}\b|\beyJ[\w-]{20,500}\.eyJ[\w-]{20,4000}\.[\w-]{86}(?![\w-])/g;

/**
 * The one value that the text holds, such as `Authorization: Bearer …` or one in quotes, also percent-encoded; otherwise the text
 * without blanks around it.
 */
export const readValue = (text: string): string => {
  const trimmed = text.trim();
  if (trimmed.length > textLengthMax) return trimmed;
  const found = new Set(decoded(trimmed).match(values));
  const [value] = found;
  return value !== undefined && found.size === 1 ? value : trimmed;
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // A `%` that begins no encoded character.
    return text;
  }
};

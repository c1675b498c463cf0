/** Pure: finds `access_token` in a body or in a prefix of one. */

const tokenMember = 'access_token';

/** `application/x-www-form-urlencoded`. A field without a value counts as absent (interface 4.1). */
export const formHoldsToken = (text: string): boolean =>
  new URLSearchParams(text).getAll(tokenMember).some((value) => value !== '');

/**
 * True when `text` is, or begins like, a JSON object with the member at its top level. A scan instead of a parse: the
 * text may be cut anywhere, and its depth is not trusted.
 */
export const jsonHoldsToken = (text: string): boolean => {
  const start = text.search(/\S/);
  if (text[start] !== '{') return false;
  let depth = 1;
  let expectsName = true;
  for (let i = start + 1; i < text.length && depth > 0; i += 1) {
    const sign = text[i];
    if (sign === '"') {
      const end = endOfString(text, i);
      if (end === -1) return false;
      if (depth === 1 && expectsName && nameOf(text.slice(i, end + 1)) === tokenMember) return true;
      expectsName = false;
      i = end;
    } else if (sign === '{' || sign === '[') depth += 1;
    else if (sign === '}' || sign === ']') depth -= 1;
    else if (sign === ',' && depth === 1) expectsName = true;
  }
  return false;
};

/** Index of the closing quotation mark, -1 when the text ends first. */
const endOfString = (text: string, from: number): number => {
  for (let i = from + 1; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '"') return i;
  }
  return -1;
};

/** Names may be written with escapes, `access\u005ftoken`. */
const nameOf = (literal: string): unknown => {
  try {
    return JSON.parse(literal);
  } catch {
    return undefined;
  }
};

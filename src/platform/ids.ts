/** Identifiers and tokens: a prefix that names the kind, then a part that sorts by time, then randomness. */
import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

export const timeLength = 9;

/** Sorts as the time does. */
export const timePart = (ms: number): string => {
  let rest = ms;
  let text = '';
  for (let i = 0; i < timeLength; i += 1) {
    text = (alphabet[rest % 32] ?? '0') + text;
    rest = Math.floor(rest / 32);
  }
  return text;
};

/** Milliseconds; undefined for what `timePart` did not make. */
export const timeOf = (text: string): number | undefined => {
  let ms = 0;
  for (const character of text) {
    const digit = alphabet.indexOf(character);
    if (digit === -1) return undefined;
    ms = ms * 32 + digit;
  }
  return ms;
};

/** `newId('ord')` → `ord_` + 9 characters of time + 16 random ones (80 bits): unique, sortable, safe in URLs. */
export const newId = (prefix: string, now: number = Date.now()): string => {
  const bytes = randomBytes(16);
  let random = '';
  for (const byte of bytes) random += alphabet[byte & 31];
  return `${prefix}_${timePart(now)}${random}`;
};

/** 256 random bits as base64url, 43 characters. */
export const newToken = (): string => randomBytes(32).toString('base64url');

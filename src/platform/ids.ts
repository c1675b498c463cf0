/** Identifiers and tokens: a prefix that names the kind, a part that sorts by time, then randomness. */
import { randomBytes, randomFillSync } from 'node:crypto';

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

/** Milliseconds; undefined for a text that `timePart` did not make. */
export const timeOf = (text: string): number | undefined => {
  let ms = 0;
  for (const character of text) {
    const digit = alphabet.indexOf(character);
    if (digit === -1) return undefined;
    ms = ms * 32 + digit;
  }
  return ms;
};

const randomLength = 16;

/**
 * Random bytes for many ids at once: each call to the generator costs as much as the rest of an id. No byte is used twice.
 */
const pool = new Uint8Array(256 * randomLength);
let taken = pool.length;

/** `newId('ord')` → `ord_` + 9 characters of time + 16 random ones (80 bits): unique, sortable, safe in URLs. */
export const newId = (prefix: string, now: number = Date.now()): string => {
  if (taken === pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  let random = '';
  for (const end = taken + randomLength; taken < end; taken += 1) random += alphabet[(pool[taken] ?? 0) & 31];
  return `${prefix}_${timePart(now)}${random}`;
};

/** The lower bound of all ids with this prefix that are made at `ms` or later. */
export const idFloor = (prefix: string, ms: number): string => `${prefix}_${timePart(Math.max(0, ms))}`;

/** The time at which an id was made; undefined for a text that is no id with this prefix. */
export const timeOfId = (prefix: string, id: string): Date | undefined => {
  const time = id.startsWith(`${prefix}_`) ? id.slice(prefix.length + 1) : '';
  if (!/^[0-9a-hjkmnp-tv-z]{25}$/.test(time)) return undefined;
  let ms = 0;
  for (const character of time.slice(0, 9)) ms = ms * 32 + alphabet.indexOf(character);
  return new Date(ms);
};

/** 256 random bits as base64url, 43 characters. */
export const newToken = (): string => randomBytes(32).toString('base64url');

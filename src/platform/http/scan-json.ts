/**
 * One pass over the bytes of a JSON text, for facts that JSON.parse hides: depth, duplicate members, numbers too long for a
 * double.
 */

export type JsonScan = {
  /** The offset after the bracket that closes the first one; the length of the text when none does. */
  end: number;
  isClosed: boolean;
  /** The deepest level of nesting. */
  levels: number;
  /** Members of all objects, duplicates included. */
  members: number;
  /** True when a number has an exponent, or more digits than every double holds. */
  hasLongNumber: boolean;
};

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const [braceOpen, braceClose, bracketOpen, bracketClose] = [0x7b, 0x7d, 0x5b, 0x5d];
const [zero, nine, dot, upperE, lowerE] = [0x30, 0x39, 0x2e, 0x45, 0x65];

/** A double keeps every decimal of up to this many digits. */
const digitsMax = 15;

/** The offset after the closing quote of the string at `from`; beyond the end of `raw` without one. */
export const endOfString = (raw: Uint8Array, from: number): number => {
  let at = from + 1;
  while (at < raw.length && raw[at] !== quote) at += raw[at] === backslash ? 2 : 1;
  return at + 1;
};

/** Scans from `from` to the end of the first array or object. It stops at a level beyond `levelsMax`. */
export const scanJson = (raw: Uint8Array, from: number, levelsMax: number): JsonScan => {
  let depth = 0;
  let levels = 0;
  let members = 0;
  let digits = 0;
  let hasLongNumber = false;
  for (let at = from; at < raw.length; at += 1) {
    const byte = raw[at] as number;
    if (byte === quote) {
      digits = 0;
      at = endOfString(raw, at) - 1;
    } else if (byte >= zero && byte <= nine) {
      digits += 1;
      if (digits > digitsMax) hasLongNumber = true;
    } else if (byte === dot) {
      // The digits on both sides belong to one number.
    } else if (byte === lowerE || byte === upperE) {
      if (digits > 0) hasLongNumber = true;
    } else {
      digits = 0;
      if (byte === colon) members += 1;
      else if (byte === braceOpen || byte === bracketOpen) {
        depth += 1;
        if (depth > levels) levels = depth;
        if (depth > levelsMax) return { end: at, isClosed: false, levels, members, hasLongNumber };
      } else if (byte === braceClose || byte === bracketClose) {
        depth -= 1;
        if (depth <= 0) return { end: at + 1, isClosed: true, levels, members, hasLongNumber };
      }
    }
  }
  return { end: raw.length, isClosed: false, levels, members, hasLongNumber };
};

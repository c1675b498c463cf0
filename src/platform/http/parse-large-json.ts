/**
 * A large JSON object without holding up other requests: the elements of its top-level arrays are cut out of the bytes and
 * parsed one by one, with rests in between. What is accepted, and what it becomes, is as JSON.parse would have it.
 */
import type { Pace } from '../pace.ts';

export type LargeJson =
  | { kind: 'value'; value: Record<string, unknown> }
  | { kind: 'broken' }
  | { kind: 'not_utf8' }
  | { kind: 'too_deep' };

/** `parse`: one complete JSON text; may throw whatever refuses it. Outer levels count toward `levelsMax`. */
export const parseLargeJson = async (
  raw: Buffer,
  { levelsMax, parse, pace }: { levelsMax: number; parse: (text: string) => unknown; pace: Pace },
): Promise<LargeJson> => {
  // A mark at the start is no part of the text (RFC 8259 section 8.1); anywhere else it is one that JSON does not know.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = createReader(raw, hasMark(raw) ? 3 : 0, levelsMax, (from, to) =>
    parse(utf8.decode(raw.subarray(from, to))),
  );
  const value: Record<string, unknown> = {};
  try {
    reader.expect(braceOpen);
    for (let first = true; !reader.takeIf(braceClose); first = false) {
      if (!first) reader.expect(comma);
      const name = reader.string();
      reader.expect(colon);
      // Assigning to __proto__ would set the prototype.
      const member = reader.takeIf(bracketOpen) ? await readArray(reader, pace) : reader.value(1);
      Object.defineProperty(value, name, { value: member, writable: true, enumerable: true, configurable: true });
    }
    reader.end();
    return { kind: 'value', value };
  } catch (error) {
    if (error instanceof TooDeep) return { kind: 'too_deep' };
    if (error instanceof SyntaxError) return { kind: 'broken' };
    if (error instanceof TypeError) return { kind: 'not_utf8' };
    throw error;
  }
};

const readArray = async (reader: Reader, pace: Pace): Promise<unknown[]> => {
  const elements: unknown[] = [];
  for (let first = true; !reader.takeIf(bracketClose); first = false) {
    if (!first) reader.expect(comma);
    elements.push(reader.value(2));
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  return elements;
};

class TooDeep extends Error {}

type Reader = ReturnType<typeof createReader>;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [braceOpen, braceClose, bracketOpen, bracketClose] = [0x7b, 0x7d, 0x5b, 0x5d];

const hasMark = (raw: Buffer): boolean => raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf;

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Finds where tokens and values end; whether what is in between is JSON is decided by `parse`. */
const createReader = (raw: Buffer, start: number, levelsMax: number, parse: (from: number, to: number) => unknown) => {
  let at = start;
  const skipSpace = (): void => {
    while (isSpace(raw[at])) at += 1;
  };
  const endOfString = (from: number): number => {
    let i = from + 1;
    while (i < raw.length && raw[i] !== quote) i += raw[i] === backslash ? 2 : 1;
    if (i >= raw.length) throw new SyntaxError('a string has no end');
    return i + 1;
  };
  /** After the bracket that closes the one at `from`. */
  const endOfNested = (from: number, outer: number): number => {
    let depth = 0;
    for (let i = from; i < raw.length; i += 1) {
      const byte = raw[i];
      if (byte === quote) i = endOfString(i) - 1;
      else if (byte === braceOpen || byte === bracketOpen) {
        depth += 1;
        if (outer + depth > levelsMax) throw new TooDeep();
      } else if (byte === braceClose || byte === bracketClose) {
        depth -= 1;
        if (depth === 0) return i + 1;
      }
    }
    throw new SyntaxError('a bracket is not closed');
  };
  const endOfPlain = (from: number): number => {
    let i = from;
    while (i < raw.length && !isSpace(raw[i]) && raw[i] !== comma && raw[i] !== braceClose && raw[i] !== bracketClose)
      i += 1;
    return i;
  };
  const takeIf = (byte: number): boolean => {
    skipSpace();
    if (raw[at] !== byte) return false;
    at += 1;
    return true;
  };
  return {
    takeIf,
    expect: (byte: number): void => {
      if (!takeIf(byte)) throw new SyntaxError('another character was expected');
    },
    string: (): string => {
      skipSpace();
      if (raw[at] !== quote) throw new SyntaxError('a name was expected');
      const from = at;
      at = endOfString(from);
      return String(parse(from, at));
    },
    /** The next value; `outer`: levels that it is inside of. */
    value: (outer: number): unknown => {
      skipSpace();
      const from = at;
      const byte = raw[from];
      if (byte === quote) at = endOfString(from);
      else if (byte === braceOpen || byte === bracketOpen) at = endOfNested(from, outer);
      else at = endOfPlain(from);
      return parse(from, at);
    },
    end: (): void => {
      skipSpace();
      if (at !== raw.length) throw new SyntaxError('something follows the object');
    },
  };
};

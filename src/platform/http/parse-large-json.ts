/**
 * Parses a large JSON object without blocking other requests: it cuts the elements of the top-level arrays out of the bytes
 * and parses them one by one, with pauses in between. It accepts the same texts and returns the same values as
 * parseExactJson.
 */
import type { Pace } from '../pace.ts';
import { DuplicateMember, NumberInLongText, parseExactJson } from './exact-json.ts';
import { endOfString, type JsonScan, scanJson } from './scan-json.ts';

export type LargeJson =
  | { kind: 'value'; value: Record<string, unknown> }
  | { kind: 'broken' }
  | { kind: 'not_utf8' }
  | { kind: 'too_deep' }
  | { kind: 'duplicate'; path: readonly string[] }
  | { kind: 'long_number' };

/** `check` gets each parsed part with its text, and throws to refuse it. Outer levels count toward `levelsMax`. */
export const parseLargeJson = async (
  raw: Buffer,
  { levelsMax, check, pace }: { levelsMax: number; check?: (value: unknown, text: string) => void; pace: Pace },
): Promise<LargeJson> => {
  // A byte order mark at the start is no part of the text (RFC 8259 section 8.1); anywhere else it is invalid.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = createReader(raw, hasMark(raw) ? 3 : 0, levelsMax, (from, to, found) => {
    const text = utf8.decode(raw.subarray(from, to));
    const part = parseExactJson(text, found);
    check?.(part, text);
    return part;
  });
  const value: Record<string, unknown> = {};
  try {
    reader.expect(braceOpen);
    for (let first = true; !reader.takeIf(braceClose); first = false) {
      if (!first) reader.expect(comma);
      const name = reader.string();
      reader.expect(colon);
      if (Object.hasOwn(value, name)) throw new DuplicateMember([name]);
      const member = reader.takeIf(bracketOpen) ? await readArray(reader, name, pace) : reader.value(1, [name]);
      // An assignment to __proto__ would set the prototype.
      Object.defineProperty(value, name, { value: member, writable: true, enumerable: true, configurable: true });
    }
    reader.end();
    return { kind: 'value', value };
  } catch (error) {
    if (error instanceof TooDeep) return { kind: 'too_deep' };
    if (error instanceof NumberInLongText) return { kind: 'long_number' };
    if (error instanceof DuplicateMember) return { kind: 'duplicate', path: error.path };
    if (error instanceof SyntaxError) return { kind: 'broken' };
    if (error instanceof TypeError) return { kind: 'not_utf8' };
    throw error;
  }
};

const readArray = async (reader: Reader, name: string, pace: Pace): Promise<unknown[]> => {
  const elements: unknown[] = [];
  for (let first = true; !reader.takeIf(bracketClose); first = false) {
    if (!first) reader.expect(comma);
    elements.push(reader.value(2, [name, String(elements.length)]));
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  return elements;
};

class TooDeep extends Error {}

type Reader = ReturnType<typeof createReader>;

const [quote, comma, colon] = [0x22, 0x2c, 0x3a];
const [braceOpen, braceClose, bracketOpen, bracketClose] = [0x7b, 0x7d, 0x5b, 0x5d];

const hasMark = (raw: Buffer): boolean => raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf;

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

type Found = Pick<JsonScan, 'members' | 'hasLongNumber'>;

const aString: Found = { members: 0, hasLongNumber: false };
/** True, false and null go this way too, which only takes a little longer. */
const aNumber: Found = { members: 0, hasLongNumber: true };

/** Finds the ends of tokens and values; `parse` decides whether the text between them is JSON. */
const createReader = (
  raw: Buffer,
  start: number,
  levelsMax: number,
  parse: (from: number, to: number, found: Found) => unknown,
) => {
  let at = start;
  const skipSpace = (): void => {
    while (isSpace(raw[at])) at += 1;
  };
  const passString = (): void => {
    at = endOfString(raw, at);
    if (at > raw.length) throw new SyntaxError('a string has no end');
  };
  const passNested = (outer: number): Found => {
    const found = scanJson(raw, at, levelsMax - outer);
    if (outer + found.levels > levelsMax) throw new TooDeep();
    if (!found.isClosed) throw new SyntaxError('a bracket is not closed');
    at = found.end;
    return found;
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
      passString();
      return String(parse(from, at, aString));
    },
    /** The next value. `outer`: the number of levels around it; `path`: its position. */
    value: (outer: number, path: readonly string[]): unknown => {
      skipSpace();
      const from = at;
      const byte = raw[from];
      let found = byte === quote ? aString : aNumber;
      if (byte === quote) passString();
      else if (byte === braceOpen || byte === bracketOpen) found = passNested(outer);
      else at = endOfPlain(from);
      try {
        return parse(from, at, found);
      } catch (error) {
        throw error instanceof DuplicateMember ? new DuplicateMember([...path, ...error.path]) : error;
      }
    },
    end: (): void => {
      skipSpace();
      if (at !== raw.length) throw new SyntaxError('something follows the object');
    },
  };
};

/**
 * Pure: parses the challenges of a WWW-Authenticate field (RFC 9110 section 11.6.1) in one pass, reading each character a
 * bounded number of times. An upstream may send anything, and a partly parsed list could put a parameter into the wrong
 * challenge, so one syntax error makes the whole field unreadable.
 */
export type Challenge = {
  /** In lower case. */
  scheme: string;
  /** Names in lower case, values without their quotes. */
  parameters: ReadonlyMap<string, string>;
};

const charactersMax = 8 * 1024;
const challengesMax = 16;
const parametersMax = 32;

const tokenAt = /[!#$%&'*+.^_`|~0-9A-Za-z-]*/y;
const blanksAt = /[ \t]*/y;
const token68At = /[A-Za-z0-9._~+/-]+=*/y;
/** A quoted pair stands for the character after the backslash (RFC 9110 section 5.6.4). */
const quotedAt = /"((?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*)"/y;

type Scanner = { readonly text: string; at: number };

/** `pattern` is sticky; undefined when it does not match here. */
const take = (scanner: Scanner, pattern: RegExp): string | undefined => {
  pattern.lastIndex = scanner.at;
  const match = pattern.exec(scanner.text);
  if (match === null) return undefined;
  scanner.at = pattern.lastIndex;
  return match[1] ?? match[0];
};

const endsElement = ({ text, at }: Scanner): boolean => at === text.length || text[at] === ',';

/** Undefined for text that is no list of challenges, is too long or has too many of them. */
export const parseChallenges = (text: string): readonly Challenge[] | undefined => {
  if (text.length > charactersMax) return undefined;
  const scanner: Scanner = { text, at: 0 };
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  for (;;) {
    skipEmptyElements(scanner);
    if (scanner.at === text.length) return found;
    const name = take(scanner, tokenAt) ?? '';
    const blanks = take(scanner, blanksAt) ?? '';
    if (name === '') return undefined;
    const current = found.at(-1);
    if (text[scanner.at] === '=') {
      if (current === undefined || !readParameter(scanner, name, current.parameters)) return undefined;
    } else {
      if (found.length === challengesMax) return undefined;
      const challenge = { scheme: name.toLowerCase(), parameters: new Map<string, string>() };
      found.push(challenge);
      if (!endsElement(scanner) && (blanks === '' || !readFirst(scanner, challenge.parameters))) return undefined;
    }
    take(scanner, blanksAt);
    if (!endsElement(scanner)) return undefined;
  }
};

const skipEmptyElements = (scanner: Scanner): void => {
  take(scanner, blanksAt);
  while (scanner.text[scanner.at] === ',') {
    scanner.at += 1;
    take(scanner, blanksAt);
  }
};

/** What follows a scheme: its first parameter, or one value with a meaning of that scheme only. */
const readFirst = (scanner: Scanner, parameters: Map<string, string>): boolean => {
  const start = scanner.at;
  if (take(scanner, token68At) !== undefined) {
    take(scanner, blanksAt);
    if (endsElement(scanner)) return true;
    scanner.at = start;
  }
  const name = take(scanner, tokenAt) ?? '';
  take(scanner, blanksAt);
  return name !== '' && readParameter(scanner, name, parameters);
};

const readParameter = (scanner: Scanner, name: string, parameters: Map<string, string>): boolean => {
  if (scanner.text[scanner.at] !== '=') return false;
  scanner.at += 1;
  take(scanner, blanksAt);
  const quoted = take(scanner, quotedAt);
  const value = quoted === undefined ? take(scanner, tokenAt) : quoted.replace(/\\(.)/g, '$1');
  const key = name.toLowerCase();
  if (value === undefined || (quoted === undefined && value === '')) return false;
  // RFC 9110 section 11.2: a parameter occurs once in a challenge.
  if (parameters.has(key) || parameters.size === parametersMax) return false;
  parameters.set(key, value);
  return true;
};

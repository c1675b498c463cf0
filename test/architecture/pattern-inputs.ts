/**
 * Long inputs that are hard for one regular expression, derived from its own source: the text that leads up to a place in
 * it, then what fits there or between there and the next places, repeated, then a character that fits nowhere. Linear
 * expressions read such an input once; others begin anew at each place of it.
 */

/** One character or class of the pattern: texts that fit it, and how often it stands there at least. */
type Atom = { samples: string[]; least: number };

const candidates = [
  'a',
  'Z',
  '0',
  '-',
  '_',
  ' ',
  '\t',
  '"',
  '.',
  ',',
  ';',
  ':',
  '/',
  '=',
  '+',
  '%',
  '\\',
  '<',
  '@',
  '\n',
];
const codePointsMax = 0x3000;

const samplesOf = (source: string, flags: string): string[] => {
  const fits = new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ''));
  const found = candidates.filter((text) => fits.test(text));
  for (let code = 0; found.length === 0 && code < codePointsMax; code += 1)
    if (fits.test(String.fromCodePoint(code))) found.push(String.fromCodePoint(code));
  const kinds = [/\w/, /[^\w\s]/, /\s/].map((kind) => found.find((text) => kind.test(text)));
  return [...new Set([...kinds.filter((text) => text !== undefined), ...found.slice(0, 1)])];
};

/** A class, an escape or a plain character at the place where `lastIndex` is set. */
const atomPattern =
  /\[(?:\\.|[^\]\\])*\]|\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[pP]\{[^}]*\}|c[A-Z]|k<[^>]*>|.)|[^()|*+?{}^$]/iy;
const quantifierPattern = /([*+?]|\{(\d+)(?:,\d*)?\})\??/y;
const groupPattern = /\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/y;

/** The atoms of each alternative, those of groups in their place; of a group that has several the first one stands there. */
const alternativesOf = (source: string, flags: string): Atom[][] => {
  const all: Atom[][] = [];
  let place = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = place;
    const match = pattern.exec(source);
    if (match !== null) place += match[0].length;
    return match;
  };
  const leastOf = (): number => {
    const match = take(quantifierPattern);
    return match?.[2] === undefined ? 1 : Math.max(1, Number(match[2]));
  };
  const read = (): Atom[] => {
    const alternatives: Atom[][] = [[]];
    while (place < source.length && source[place] !== ')') {
      if (source[place] === '|') {
        place += 1;
        alternatives.push([]);
      } else if (source[place] === '^' || source[place] === '$') place += 1;
      else if (take(groupPattern) !== null) {
        const inner = read();
        place += 1;
        const least = leastOf();
        alternatives.at(-1)?.push(...Array.from({ length: Math.min(least, 20) }, () => inner).flat());
      } else {
        const match = take(atomPattern) ?? [source[place++] ?? ''];
        const least = leastOf();
        if (/^\\[bBk\d]/.test(match[0])) continue;
        alternatives.at(-1)?.push({ samples: samplesOf(match[0], flags), least });
      }
    }
    all.push(...alternatives);
    return alternatives[0] ?? [];
  };
  read();
  return all;
};

const seriesMax = 4;
const pumpsMax = 1_200;

const product = (atoms: readonly Atom[]): string[] =>
  atoms.reduce<string[]>(
    (texts, { samples }) => texts.flatMap((text) => samples.slice(0, 2).map((sample) => text + sample)),
    [''],
  );

const textOf = (atoms: readonly Atom[]): string =>
  atoms.map(({ samples: [first = ''], least }) => first.repeat(Math.min(least, 100))).join('');

export type Hostile = { prefix: string; pump: string; suffix: string };

export const hostileInputs = (source: string, flags: string): Hostile[] => {
  const pumps = new Map<string, Hostile>();
  const add = (prefix: string, pump: string): void => {
    if (pump === '') return;
    for (const suffix of ['', '\u0001']) pumps.set(JSON.stringify([prefix, pump, suffix]), { prefix, pump, suffix });
  };
  for (const atoms of alternativesOf(source, flags)) {
    for (let start = 0; start < atoms.length; start += 1) {
      const prefixes = ['', textOf(atoms.slice(0, start)), textOf(atoms.slice(0, start + 1))];
      for (let length = 1; length <= seriesMax && start + length <= atoms.length; length += 1)
        for (const pump of product(atoms.slice(start, start + length)))
          for (const prefix of prefixes) add(prefix, pump);
    }
    const whole = textOf(atoms);
    add('', whole);
    for (const cut of [1, 2, Math.floor(whole.length / 2)]) add('', whole.slice(0, -cut));
  }
  for (const pump of [' ', '\t', 'a', '0', '-', 'a ', ' ,', '\n']) add('', pump);
  const found = [...pumps.values()];
  // Those of long patterns are thinned out evenly.
  const step = Math.max(1, found.length / pumpsMax);
  return Array.from({ length: Math.min(pumpsMax, found.length) }, (_, index) => found[Math.floor(index * step)]).filter(
    (one) => one !== undefined,
  );
};

export const hostileText = ({ prefix, pump, suffix }: Hostile, charactersMax: number): string => {
  const count = Math.max(1, Math.floor((charactersMax - prefix.length - suffix.length) / pump.length));
  return `${prefix}${pump.repeat(count)}${suffix}`;
};

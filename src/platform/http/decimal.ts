/**
 * Decimal numbers by their text. A double holds about 15 significant digits, so the text is checked before the number is
 * used as a double: otherwise 12.499999999999999999 would be 12.5.
 */

/** The value is `digits` × 10^-`scale`. `digits` has no zeros at its ends; it is empty for zero. */
export type Decimal = { isNegative: boolean; digits: string; scale: number };

const jsonNumber = /^[+-]?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Undefined for a text that is no number. An exponent is accepted only with `exponent`. */
export const readDecimal = (text: string, options: { exponent: boolean }): Decimal | undefined => {
  const match = jsonNumber.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = '', exponent] = match;
  if (exponent !== undefined && !options.exponent) return undefined;
  const all = whole + fraction;
  // Loops instead of a pattern: /0+$/ needs quadratic time for a long run of zeros.
  let to = all.length;
  while (to > 0 && all[to - 1] === '0') to -= 1;
  if (to === 0) return { isNegative: false, digits: '', scale: 0 };
  let from = 0;
  while (all[from] === '0') from += 1;
  return {
    isNegative: text.startsWith('-'),
    digits: all.slice(from, to),
    scale: fraction.length - Number(exponent ?? 0) - (all.length - to),
  };
};

/** At most 15 digits of usual magnitude, which every double holds exactly. */
const shortNumber = /^-?[\d.]{1,15}(?:[eE][+-]?\d{1,2})?$/;

/** True when the double equals the number of the text: its shortest spelling then has the same digits. */
export const isExact = (text: string): boolean => {
  const sent = readDecimal(text, { exponent: true });
  if (sent !== undefined && shortNumber.test(text)) return true;
  const held = readDecimal(String(Number(text)), { exponent: true });
  return (
    sent !== undefined &&
    held !== undefined &&
    sent.isNegative === held.isNegative &&
    sent.digits === held.digits &&
    sent.scale === held.scale
  );
};

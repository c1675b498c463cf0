/**
 * Decimal numbers as their text says them. A double holds some 15 significant digits, so a number is judged by its text
 * before it is used as a double: otherwise 12.499999999999999999 would be 12.5.
 */

/** The value is `digits` × 10^-`scale`; digits have no zeros at their ends, and those of zero are empty. */
export type Decimal = { isNegative: boolean; digits: string; scale: number };

const jsonNumber = /^[+-]?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Undefined for what is no number. An exponent counts only where `exponent` allows it. */
export const readDecimal = (text: string, options: { exponent: boolean }): Decimal | undefined => {
  const match = jsonNumber.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = '', exponent] = match;
  if (exponent !== undefined && !options.exponent) return undefined;
  const all = whole + fraction;
  // Loops, since a pattern such as /0+$/ needs quadratic time for a long run of zeros.
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

/** Up to 15 digits of an everyday size, which every double keeps. */
const shortNumber = /^-?[\d.]{1,15}(?:[eE][+-]?\d{1,2})?$/;

/** Is the double of a number's text the number itself? Its shortest spelling then has the same digits. */
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

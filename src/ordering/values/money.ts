/**
 * Inside, amounts and points are integers: hundredths of the unit in every currency. In a currency without minor digits
 * amounts are multiples of 100. Rounding is half-up and happens once per rounded figure.
 */

const withoutMinorDigits = new Set([
  'BIF',
  'CLP',
  'DJF',
  'GNF',
  'ISK',
  'JPY',
  'KMF',
  'KRW',
  'PYG',
  'RWF',
  'UGX',
  'VND',
  'VUV',
  'XAF',
  'XOF',
  'XPF',
]);

/** Hundredths → the JSON number of the interface: 1250 → 12.5. */
export const toWire = (hundredths: number): number => hundredths / 100;

export const toWireOrNull = (hundredths: number | null): number | null =>
  hundredths === null ? null : hundredths / 100;

/**
 * `numerator / denominator` hundredths, rounded half-up to what the currency can express; both are integers, so no
 * binary fraction ever decides a cent. Only for values that are not negative.
 */
export const divideHalfUp = (numerator: bigint, denominator: bigint, currency?: string): number => {
  const step = currency !== undefined && withoutMinorDigits.has(currency) ? 100n : 1n;
  const scaled = denominator * step;
  return Number(((numerator * 2n + scaled) / (scaled * 2n)) * step);
};

/** A decimal such as a percentage as an integer over 10^`digits`. `value` has at most that many decimals. */
export const toScaled = (value: number, digits: number): bigint => BigInt(Math.round(value * 10 ** digits));

/** False for an amount with decimals in a currency without minor digits. */
export const isExpressible = (hundredths: number, currency: string): boolean =>
  !withoutMinorDigits.has(currency) || hundredths % 100 === 0;

/** `percent` of an amount in hundredths, rounded half-up; `percent` is 0-100 with at most 2 decimals. */
export const percentageOf = (amount: number, percent: number, currency: string): number =>
  divideHalfUp(BigInt(amount) * toScaled(percent, 2), 10_000n, currency);

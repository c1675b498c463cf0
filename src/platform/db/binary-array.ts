/**
 * Long arrays as one parameter each, in the binary format of PostgreSQL (`array_recv`, and the `…recv` function of the element).
 * The server copies each element. From the text format it would read an array character by character, and parse each number and time.
 * The type that the statement gives the parameter must be the same: `${textArray(ids)}::text[]`.
 *
 * Bytes are gathered as the characters 0 to 255 of a string, because V8 joins short strings faster than it writes to a buffer.
 */

/** Element types by their number in the catalogue (`pg_type.oid`), which is the same in every server. */
const elementTypes = { boolean: 16, bigint: 20, smallint: 21, integer: 23, text: 25, timestamptz: 1184 };

const notAscii = /[^\0-\x7f]/;
const int32 = (value: number): string =>
  String.fromCharCode((value >> 24) & 255, (value >> 16) & 255, (value >> 8) & 255, value & 255);
const int16 = (value: number): string => String.fromCharCode((value >> 8) & 255, value & 255);
const int64 = (value: number): string => int32(Math.floor(value / 2 ** 32)) + int32(value | 0);
const none = int32(-1);
const isTrue = int32(1) + String.fromCharCode(1);
const isFalse = int32(1) + String.fromCharCode(0);
const [two, four, eight] = [int32(2), int32(4), int32(8)];
/** Lengths of most texts. */
const lengths = Array.from({ length: 256 }, (_, length) => int32(length));
const epochMs = Date.UTC(2000, 0, 1);

const arrayOf = <T>(type: number, values: readonly (T | null)[], elementOf: (value: T) => string): Buffer => {
  // One dimension, which begins at 1. An array without elements has none.
  let bytes = int32(values.length === 0 ? 0 : 1) + int32(1) + int32(type);
  if (values.length > 0) bytes += int32(values.length) + int32(1);
  for (const value of values) bytes += value === null ? none : elementOf(value);
  return Buffer.from(bytes, 'latin1');
};

const textOf = (value: string): string => {
  const bytes = notAscii.test(value) ? Buffer.from(value).toString('latin1') : value;
  return (lengths[bytes.length] ?? int32(bytes.length)) + bytes;
};

export const textArray = (values: readonly (string | null)[]): Buffer => arrayOf(elementTypes.text, values, textOf);

export const booleanArray = (values: readonly (boolean | null)[]): Buffer =>
  arrayOf(elementTypes.boolean, values, (value) => (value ? isTrue : isFalse));

export const smallintArray = (values: readonly (number | null)[]): Buffer =>
  arrayOf(elementTypes.smallint, values, (value) => two + int16(checked(value, 2 ** 15)));

export const integerArray = (values: readonly (number | null)[]): Buffer =>
  arrayOf(elementTypes.integer, values, (value) => four + int32(checked(value, 2 ** 31)));

export const bigintArray = (values: readonly (number | null)[]): Buffer =>
  arrayOf(elementTypes.bigint, values, (value) => eight + int64(checked(value, 2 ** 53)));

export const timestampArray = (values: readonly (Date | null)[]): Buffer =>
  arrayOf(
    elementTypes.timestamptz,
    values,
    (value) => eight + int64(checked((value.getTime() - epochMs) * 1000, 2 ** 53)),
  );

/** Another number would arrive as a wrong one: its bytes do not fit. */
const checked = (value: number, bound: number): number => {
  if (Number.isInteger(value) && value < bound && value >= -bound) return value;
  throw new RangeError(`${value} is no whole number from ${-bound} to ${bound - 1}`);
};

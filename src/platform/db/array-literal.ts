/**
 * A long array as the text of one parameter. pg escapes each element by two replacements. Most elements here are ids,
 * numbers and times, which need no quotes, and the server reads unquoted elements faster.
 */

const plain = /^[\w.:+-]+$/;
const escaped = /[\\"]/g;

/** For a parameter that is cast to an array type. */
export const arrayLiteral = (values: readonly (string | number | boolean | null)[]): string => {
  let text = '{';
  for (const [index, value] of values.entries()) {
    if (index > 0) text += ',';
    text += value === null ? 'null' : typeof value === 'string' ? elementOf(value) : String(value);
  }
  return `${text}}`;
};

const elementOf = (value: string): string =>
  plain.test(value) && !(value.length === 4 && value.toLowerCase() === 'null')
    ? value
    : `"${value.replace(escaped, '\\$&')}"`;

/** Names of the interface in the spelling of a language. Words are separated by `_`, `-`, `.` or a capital. */
export const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** `order.create` becomes `OrderCreate`. */
export const pascalCase = (text: string): string => wordsOf(text).map(capitalized).join('');

/** `rotate-secret` becomes `rotateSecret`. */
export const camelCase = (text: string): string => {
  const [first = '', ...others] = wordsOf(text);
  return first + others.map(capitalized).join('');
};

/** `rotateSecret` becomes `rotate_secret`. */
export const snakeCase = (text: string): string => wordsOf(text).join('_');

/** The text of a search for names as a text query of PostgreSQL ("simple" configuration). */

const wordsMax = 8;
/** Names have at most this length. A shortened word would match names that do not begin with the whole word. */
const wordLengthMax = 255;

/** Finds names that have a word beginning with each given word. Undefined: the text has no character of a name. */
export const wordsQuery = (typed: string): string | undefined => {
  // The text query lowers the words as the index lowers the names.
  const words = typed.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  if (words.length === 0) return undefined;
  return words
    .slice(0, wordsMax)
    .map((word) => `'${word.slice(0, wordLengthMax)}':*`)
    .join(' & ');
};

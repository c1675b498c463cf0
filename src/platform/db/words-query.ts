/** What somebody types into a search for names, as a text query of PostgreSQL ("simple" configuration). */

const wordsMax = 8;
/** Names are no longer. A cut word would find what does not begin with the whole of it. */
const wordLengthMax = 255;

/** Finds names that have a word beginning with each typed one. Undefined: nothing was typed that could be in a name. */
export const wordsQuery = (typed: string): string | undefined => {
  const words = typed.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  if (words.length === 0) return undefined;
  return words
    .slice(0, wordsMax)
    .map((word) => `'${word.slice(0, wordLengthMax)}':*`)
    .join(' & ');
};

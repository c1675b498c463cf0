/** A word of the address that is one of a few: the state of a delivery, a span of days. */
import type { View } from './page.ts';
import { Refusal } from './refusal.ts';

/**
 * Undefined when the address does not name it. Throws VALIDATION_ERROR for any other word: a filter that is left out
 * would show everything as if it fitted.
 */
export const readWord = <T extends string | number>(
  { query, texts }: Pick<View, 'query' | 'texts'>,
  name: string,
  words: readonly T[],
): T | undefined => {
  const given = query.get(name) ?? '';
  if (given === '') return undefined;
  const word = words.find((one) => String(one) === given);
  if (word === undefined)
    throw new Refusal('VALIDATION_ERROR', texts.frame.unknownWord(name, shown(given), words.join(', ')));
  return word;
};

/** A free text of a filter, trimmed; undefined when it is not there. Throws VALIDATION_ERROR for what cannot be looked for. */
export const readText = (
  { query, texts }: Pick<View, 'query' | 'texts'>,
  name: string,
  max: number,
): string | undefined => {
  const text = (query.get(name) ?? '').trim();
  if (text.length > max || text.includes('\0'))
    throw new Refusal('VALIDATION_ERROR', texts.frame.unusableText(name, shown(text.replaceAll('\0', '')), max));
  return text === '' ? undefined : text;
};

/** No cursor that a page gives is longer; one that were passed over would lead back to the first page. */
export const cursorMax = 255;

const wordsMax = 8;

/** As readText, of words that names are looked for with. Throws VALIDATION_ERROR for more than 8, which would not all be looked for. */
export const readSearch = (view: Pick<View, 'query' | 'texts'>, name: string, max: number): string | undefined => {
  const text = readText(view, name, max);
  if ((text?.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).length > wordsMax)
    throw new Refusal('VALIDATION_ERROR', view.texts.frame.tooManyWords(name, shown(text ?? ''), wordsMax));
  return text;
};

const shownMax = 60;

const shown = (text: string): string => (text.length > shownMax ? `${text.slice(0, shownMax)}…` : text);

/** Reads query parameters: one of a few known words, a text, a search, a cursor. */
import type { View } from './page.ts';
import { Refusal } from './refusal.ts';

/**
 * One of `choices`; undefined when the query does not have the parameter. Throws VALIDATION_ERROR for any other value: if a
 * filter were ignored, the page would show everything as if it matched.
 */
export const readChoice = <T extends string | number>(
  { query, texts }: Pick<View, 'query' | 'texts'>,
  name: string,
  choices: readonly T[],
): T | undefined => {
  const given = query.get(name) ?? '';
  if (given === '') return undefined;
  const choice = choices.find((one) => String(one) === given);
  if (choice === undefined)
    throw new Refusal('VALIDATION_ERROR', texts.frame.unknownChoice(name, shown(given), choices.join(', ')));
  return choice;
};

/**
 * A text, trimmed; undefined when it is missing or empty. Throws VALIDATION_ERROR for more than `max` characters and
 * for U+0000.
 */
export const readText = (
  { query, texts }: Pick<View, 'query' | 'texts'>,
  name: string,
  max = textMax,
): string | undefined => {
  const text = (query.get(name) ?? '').trim();
  if (text.length > max || text.includes('\0'))
    throw new Refusal('VALIDATION_ERROR', texts.frame.unusableText(name, shown(text.replaceAll('\0', '')), max));
  return text === '' ? undefined : text;
};

/**
 * The longest cursor that any list produces. A longer one is refused, because ignoring it would show the first page
 * again.
 */
const textMax = 255;

/** The cursor of a list; undefined for the first page. */
export const readCursor = (view: Pick<View, 'query' | 'texts'>): string | undefined => readText(view, 'after');

/** A search uses only so many words of its text. */
export const wordsMax = 8;

/** The words of a text or of a name, as the search compares them. */
export const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/**
 * As readText, for the words of a search. Throws VALIDATION_ERROR for more than 8 words, because the search uses only
 * 8.
 */
export const readSearch = (view: Pick<View, 'query' | 'texts'>, name: string): string | undefined => {
  const text = readText(view, name);
  if (wordsOf(text ?? '').length > wordsMax)
    throw new Refusal('VALIDATION_ERROR', view.texts.frame.tooManyWords(name, shown(text ?? ''), wordsMax));
  return text;
};

const shownMax = 60;

const shown = (text: string): string => (text.length > shownMax ? `${text.slice(0, shownMax)}…` : text);

/** All texts of the panel by language. English has the shape; the compiler and a test hold the others to it. */
import { en, type Texts } from './en.ts';
import { it } from './it.ts';

export const languages = ['en', 'it'] as const;
export type Language = (typeof languages)[number];

export const textsOf: Readonly<Record<Language, Texts>> = { en, it };

export const isLanguage = (value: unknown): value is Language => languages.some((language) => language === value);

/** The first language of an Accept-Language header that there is, by weight; English otherwise. */
export const chooseLanguage = (accepted: string | undefined): Language => {
  const wishes = (accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((text) => /^\s*q=([\d.]+)\s*$/.exec(text)?.[1]).find((text) => text !== undefined);
      return { language: tag.split('-', 1)[0], weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((left, right) => right.weight - left.weight);
  return wishes.map(({ language }) => language).find(isLanguage) ?? 'en';
};

/** All texts of the panel by language. English has the shape; the compiler and a test hold the others to it. */
import { en, type Texts } from './en/en.ts';
import { it } from './it/it.ts';

export const languages = ['en', 'it'] as const;
export type Language = (typeof languages)[number];

export const textsOf: Readonly<Record<Language, Texts>> = { en, it };

export const isLanguage = (value: unknown): value is Language => languages.some((language) => language === value);

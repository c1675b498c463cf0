/** What a new restaurant may choose from. The core has the last word. */
import type { Language } from '../texts/texts.ts';

/** Amounts are hundredths, so currencies with three minor digits cannot be kept. */
export const currencyCodes: readonly string[] = Intl.supportedValuesOf('currency').filter(
  (code) =>
    (new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions().maximumFractionDigits ?? 2) <=
    2,
);

export const timeZones: readonly string[] = [
  'UTC',
  ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC'),
];

const namesBy: Partial<Record<Language, Intl.DisplayNames>> = {};

export const nameOfCurrency = (code: string, language: Language): string => {
  namesBy[language] ??= new Intl.DisplayNames(language, { type: 'currency' });
  return namesBy[language].of(code) ?? code;
};

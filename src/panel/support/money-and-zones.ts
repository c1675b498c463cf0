/** Currencies and time zones for the form of a new restaurant. The ordering core validates them again. */
import type { Language } from '../texts/texts.ts';

/** Amounts are stored in hundredths, so currencies with three decimal places are left out. Of the dinar of Iraq Intl says none. */
export const currencyCodes: readonly string[] = Intl.supportedValuesOf('currency').filter(
  (code) =>
    code !== 'IQD' &&
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

/** Currencies and time zones for the form of a new restaurant. The ordering core validates them again. */
import type { Language } from '../texts/texts.ts';

// Made when a page first needs them: Intl takes some 16 ms for them, by which each start would be later.
let currencies: readonly string[] | undefined;
let zones: readonly string[] | undefined;

/** Amounts are stored in hundredths, so currencies with three decimal places are left out. Of the dinar of Iraq Intl says none. */
export const currencyCodes = (): readonly string[] => {
  currencies ??= Intl.supportedValuesOf('currency').filter((code) => code !== 'IQD' && decimalPlaces(code) <= 2);
  return currencies;
};

const decimalPlaces = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;

export const timeZones = (): readonly string[] => {
  zones ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
  return zones;
};

const namesBy: Partial<Record<Language, Intl.DisplayNames>> = {};

export const nameOfCurrency = (code: string, language: Language): string => {
  namesBy[language] ??= new Intl.DisplayNames(language, { type: 'currency' });
  return namesBy[language].of(code) ?? code;
};

/** Content negotiation (RFC 9110 section 12.5): the language of a page and the encoding of an asset. */
import Negotiator from 'negotiator';
import { isLanguage, type Language, languages } from '../texts/texts.ts';

/**
 * Longer headers are cut off: browsers send about 50 characters, and negotiation must not take long over hostile ones.
 */
const headerLengthMax = 500;

/** Blanks are taken out: the grammar has none around "=", and the negotiator would read `q = 0` as no weight at all. */
const negotiatorFor = (name: string, header: string | undefined): Negotiator =>
  new Negotiator({ headers: { [name]: header?.slice(0, headerLengthMax).replaceAll(/[ \t]/g, '') } });

/** The language that an Accept-Language header prefers; English when it accepts neither language. */
export const chooseLanguage = (accepted: string | undefined): Language => {
  if (accepted === undefined) return 'en';
  const [language] = negotiatorFor('accept-language', accepted).languages(languages);
  return isLanguage(language) ? language : 'en';
};

/** Whether an Accept-Encoding header accepts the encoding. */
export const acceptsEncoding = (accepted: string | undefined, encoding: string): boolean =>
  negotiatorFor('accept-encoding', accepted).encodings([encoding]).length > 0;

/** Addresses, emails and dotted names break where a reader expects it, and not in the middle of a word. */
import { type Html, html } from '../page/html.ts';

/** A break is allowed after each slash, dot, question mark, ampersand and equals sign, and before `@`, but not within `//` or a number. */
export const breakable = (text: string): Html =>
  html`${text.split(/(?<=[/?&=]|\.(?!\d))(?!\/)|(?=@)/).map((part, index) => (index === 0 ? part : html`<wbr>${part}`))}`;

/** The link to the next page of a list. */
import { type Html, html } from '../page/html.ts';

/** `fields`: what the address holds besides; empty ones are left out. */
export const nextLink = (
  label: string,
  path: string,
  cursor: string | null,
  fields: Readonly<Record<string, string>> = {},
): Html | false => {
  if (cursor === null) return false;
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''));
  query.set('after', cursor);
  return html`<p><a class="button" href="${path}?${query.toString()}">${label}</a></p>`;
};

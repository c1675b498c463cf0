/**
 * HTML as a tagged template. Interpolated values are escaped as text, unless they are `Html` already. Attribute values must
 * be in double quotes. Other files cannot mark a text as safe, because the marking symbol is private to this file.
 */
const mark = Symbol('html');

export type Html = { readonly [mark]: string };

export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** Null, undefined and false render as nothing; the items of a list are joined without a separator. */
export const html = (parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html => {
  let text = parts[0] ?? '';
  for (let i = 0; i < values.length; i += 1) text += render(values[i]) + (parts[i + 1] ?? '');
  return { [mark]: text };
};

/** The markup as a string, for the response body. */
export const markupOf = (value: Html): string => value[mark];

const render = (value: HtmlValue): string => {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number') return String(value);
  if (isHtml(value)) return value[mark];
  return value.map(render).join('');
};

const isHtml = (value: Html | readonly HtmlValue[]): value is Html => mark in value;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeText = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');

/** Markup escapes, paths are filled in, and the language is negotiated. */
import { expect, test } from 'vitest';
import { type Html, html, markupOf } from '#src/panel/page/html.ts';
import { fillPath } from '#src/panel/page/page-path.ts';
import { chooseLanguage } from '#src/panel/server/negotiate.ts';
import { breakable } from '#src/panel/view/breakable.ts';

test('values in markup are escaped as text, in lists and attributes too, unless they are markup already', () => {
  const hostile = `<script>alert("1")</script>&'`;
  const safe = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;';
  expect(markupOf(html`<p title="${hostile}">${hostile}</p>`)).toBe(`<p title="${safe}">${safe}</p>`);
  expect(markupOf(html`<ul>${[hostile, html`<li>${hostile}</li>`, [1, null, false, undefined]]}</ul>`)).toBe(
    `<ul>${safe}<li>${safe}</li>1</ul>`,
  );
  // What came as JSON cannot pretend to be markup.
  const forged = JSON.parse('{"html":"<b>","markup":"<b>"}') as Html;
  expect(() => markupOf(html`${forged}`)).toThrow();
});

test('an address may break after a slash, a dot and the signs of a query, and not in the middle of a word or of //', () => {
  expect(markupOf(breakable('https://hooks.example/in/osteria?a=1&b=<2>'))).toBe(
    'https://<wbr>hooks.<wbr>example/<wbr>in/<wbr>osteria?<wbr>a=<wbr>1&amp;<wbr>b=<wbr>&lt;2&gt;',
  );
  expect(markupOf(breakable('customerstats.customers'))).toBe('customerstats.<wbr>customers');
  expect(markupOf(breakable('ada@127.0.0.1'))).toBe('ada<wbr>@127.0.0.1');
  expect(markupOf(breakable('plain'))).toBe('plain');
});

test('the parameters of a path are escaped, and a path with a missing one is none', () => {
  expect(fillPath('/r/:restaurant/keys', { restaurant: 'a/b' })).toBe('/panel/r/a%2Fb/keys');
  expect(fillPath('/r/:restaurant/keys', {})).toBeUndefined();
});

test('the language is the one that the browser wants most of those that there are', () => {
  for (const [accepted, language] of [
    [undefined, 'en'],
    ['', 'en'],
    ['it', 'it'],
    ['IT-it', 'it'],
    ['de, it;q=0.8, en;q=0.9', 'en'],
    ['fr-CH, fr;q=0.9, it;q=0.8, en;q=0.7', 'it'],
    ['it;q=0, en', 'en'],
    ['it;q=x', 'en'],
    ['*', 'en'],
  ] as const)
    expect(chooseLanguage(accepted), accepted).toBe(language);
});

/** Parts that pages of this area share. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';

/** A state in words; `tone` only colours it. */
export const badge = (tone: 'good' | 'bad' | 'warn' | 'plain', text: string): Html =>
  html`<span class="badge ${tone}">${text}</span>`;

type Shown = { label: string; value: string; text: string; done: { path: string; label: string } };

/** A secret, this once. The script makes a reload show `done` instead of sending the form again. */
export const shownSecret = ({ texts }: View, { label, value, text, done }: Shown): Html => html`
<section class="shown-once" data-shown-once="${done.path}">
<p>${text}</p>
<h2>${label}</h2>
<div class="secret"><code id="secret-value">${value}</code>
<button type="button" class="primary" data-copy="secret-value">${texts.frame.copy}</button></div>
<p><a class="button" href="${done.path}">${done.label}</a></p>
</section>`;

/** The message below a field, and what ties the field to it. */
export const fieldProblem = (name: string, text: string | undefined): { attributes: Html; message: Html } => ({
  attributes: text === undefined ? html`` : html` aria-invalid="true" aria-describedby="${name}-problem"`,
  message: text === undefined ? html`` : html`<p class="field-error" id="${name}-problem">${text}</p>`,
});

/** Links to the other pages of a list; `pathOf` gives the address for a cursor. */
export const pager = (
  { texts }: View,
  { after, next, pathOf }: { after: string | undefined; next: string | undefined; pathOf: (after?: string) => string },
): Html | false => {
  const t = texts.restaurant;
  return (
    (after !== undefined || next !== undefined) &&
    html`<p class="row pager">${after !== undefined && html`<a class="button" href="${pathOf()}">${t.first}</a>`}${
      next !== undefined && html`<a class="button" id="next-page" href="${pathOf(next)}">${t.next}</a>`
    }</p>`
  );
};

/** Address with those fields that are there. */
export const withQuery = (path: string, fields: Readonly<Record<string, string | undefined>>): string => {
  const query = new URLSearchParams(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined && field[1] !== ''),
  );
  return query.size === 0 ? path : `${path}?${query}`;
};

/** A page that asks for confirmation before something ends. As a page of its own it works without script. */
import { type Answer, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';

export type Question = {
  /** Names the object that ends. */
  title: string;
  /** Names the affected user or client, and the consequences. */
  body: Html;
  /** Target of the form. */
  action: string;
  /** Hidden fields of the form. */
  fields?: readonly (readonly [name: string, value: string])[];
  submit: string;
  /** Target of the link "cancel". */
  back: string;
};

const confirmed = 'confirmed';

/** For a change that always takes the same away. */
const yes: readonly string[] = ['yes'];

/**
 * The user has seen what the change takes away, and sent it again from the page that `confirmChange` makes. `ends`: all that
 * the change takes away now, which can be more than when the page was shown; empty: there is nothing to confirm.
 */
export const isConfirmed = ({ form }: Pick<View, 'form'>, ends = yes): boolean => {
  const given = form.getAll(confirmed);
  return ends.every((one) => given.includes(one));
};

/** Asks before a form is saved that takes something away: the confirmation sends all its fields again. `ends`: see `isConfirmed`. */
export const confirmChange = (
  view: View,
  { ends = yes, ...question }: Omit<Question, 'fields'> & { ends?: readonly string[] },
): Answer => {
  const given = [...view.form].filter(([name]) => name !== 'csrf' && name !== confirmed);
  return confirmPage(view, { ...question, fields: [...given, ...ends.map((one) => [confirmed, one] as const)] });
};

export const confirmPage = ({ csrfField, texts }: View, question: Question): Answer => {
  const { title, body, action, fields = [], submit, back } = question;
  return page({
    title,
    body: html`${body}
<form method="post" action="${action}" class="row" data-confirm>${csrfField}
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="danger">${submit}</button><a class="button" href="${back}">${texts.frame.cancel}</a></form>`,
  });
};

/** A page that asks before something ends, so that it asks without script too. It says what ends, and for whom. */
import { type Answer, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';

export type Question = {
  /** Names what ends. */
  title: string;
  /** Names whom it is taken from, and says what follows. */
  body: Html;
  /** Path that the form is sent to. */
  action: string;
  /** Hidden fields of the form. */
  fields?: readonly (readonly [name: string, value: string])[];
  submit: string;
  /** Where "cancel" leads. */
  back: string;
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

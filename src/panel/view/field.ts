/** The line below a form field: its error message, or else its hint. */
import { type Html, html } from '../page/html.ts';

type Note = {
  /** Attributes that tie the field to the line. */
  attributes: Html;
  line: Html;
};

/** `name`: of the field; the line has the id `<name>-note`. Without hint and problem both parts are empty. */
export const fieldNote = (name: string, problem: string | undefined, hint?: string): Note => {
  const id = `${name}-note`;
  if (problem !== undefined)
    return {
      attributes: html` aria-describedby="${id}" aria-invalid="true"`,
      line: html`<p class="field-error" id="${id}">${problem}</p>`,
    };
  if (hint === undefined) return { attributes: html``, line: html`` };
  return { attributes: html` aria-describedby="${id}"`, line: html`<p class="hint field-note" id="${id}">${hint}</p>` };
};

/** A refused text, unless it may hold a private key, which no page should contain. */
export const shownAgain = (text: string | null): string =>
  text === null || text.includes('PRIVATE') || /"(d|k)"/.test(text) ? '' : text;

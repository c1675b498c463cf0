/** The line below a field: what is wrong with it, else what to put there. The field names it by `aria-describedby`. */
import { type Html, html } from '../page/html.ts';

export const fieldNote = (id: string, hint: string, problem?: string): Html =>
  problem === undefined
    ? html`<p class="hint field-note" id="${id}">${hint}</p>`
    : html`<p class="field-error" id="${id}">${problem}</p>`;

/** Attributes of the field. */
export const notedBy = (id: string, problem?: string): Html =>
  html` aria-describedby="${id}"${problem !== undefined && html` aria-invalid="true"`}`;

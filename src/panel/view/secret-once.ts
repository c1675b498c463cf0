/** Values that are shown once, right after they were created. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { copyButton } from './copy-button.ts';

type Value = { id: string; label: string; value: string };

type Shown = {
  /** What to do with the values. */
  text: string;
  values: readonly Value[];
  /** A warning below the values. */
  warning?: string;
  /** The page that follows. The script also makes a reload lead there, so that the form is not sent again. */
  done: { path: string; label: string };
};

export const secretOnce = ({ texts }: Pick<View, 'texts'>, { text, values, warning, done }: Shown): Html =>
  html`<section class="shown-once" data-shown-once="${done.path}">
<p>${text}</p>
${values.map((value) => html`<h2>${value.label}</h2>${copyable({ texts }, value)}`)}
${warning !== undefined && html`<p class="message warn" role="status">${warning}</p>`}
<p><a class="button primary" href="${done.path}">${done.label}</a></p>
</section>`;

/** A value with a button that copies it. `lead`: text before the value. */
const copyable = ({ texts }: Pick<View, 'texts'>, { id, label, value }: Value, lead?: Html): Html =>
  html`<div class="secret">${lead}<code id="${id}">${value}</code>
${copyButton({ texts }, id, label)}</div>`;

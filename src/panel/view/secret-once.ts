/** A value that is shown this one time. */
import { type Html, html } from '../page/html.ts';
import type { Texts } from '../texts/en.ts';

type Shown = { id: string; label: string; value: string };

/** A row with a copy button for each. `next`: the page that a reload leads to, so that nothing is made twice. */
export const secretOnce = (texts: Texts, values: readonly Shown[], next: string): Html =>
  html`<div data-next="${next}">${values.map(
    ({ id, label, value }) => html`<h2>${label}</h2>
<div class="secret"><code id="${id}">${value}</code>
<button type="button" data-copy="${id}" aria-label="${texts.support.newClient.copyOf(label)}">${texts.frame.copy}</button></div>`,
  )}
<p class="message warn" role="status">${texts.support.newClient.once}</p>
<p><a class="button primary" href="${next}">${texts.support.newClient.toClient}</a></p></div>`;

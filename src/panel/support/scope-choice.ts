/** The form part that chooses scopes: all of them, later ones included, or single ones with their descriptions. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { Scope } from '../ports/support.ts';
import { fieldNote } from '../view/field.ts';

/** `held`: the chosen scopes; null means all. */
type Choice = { held: readonly string[] | null; problem?: string | undefined };

export const scopeChoice = ({ texts, ports }: View, { held, problem }: Choice): Html => {
  const t = texts.support.scopeChoice;
  const { scopes } = ports.support;
  const note = fieldNote('scopes', problem);
  const box = ({ name, description }: Scope): Html =>
    html`<label class="check"><input type="checkbox" name="scope" value="${name}"${held?.includes(name) === true && html` checked`}><span>${t.describe(name, description)} <code>${name}</code></span></label>`;
  return html`<fieldset class="scopes"${note.attributes}><legend>${t.title}</legend>
${note.line}
<label class="check"><input type="radio" name="which" value="some"${held !== null && html` checked`}>${t.some}</label>
<div class="columns" role="group" aria-label="${t.some}">
<div><p class="hint">${t.read}</p>${scopes.filter(({ isRead }) => isRead).map(box)}</div>
<div><p class="hint">${t.write}</p>${scopes.filter(({ isRead }) => !isRead).map(box)}</div>
</div>
<label class="check"><input type="radio" name="which" value="all"${held === null && html` checked`}>${t.all}</label>
</fieldset>`;
};

/** Null means all. An empty list means that no box was checked. */
export const readScopes = (form: URLSearchParams): string[] | null =>
  form.get('which') === 'all' ? null : [...new Set(form.getAll('scope'))];

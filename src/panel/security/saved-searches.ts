/** Searches of the audit that a user keeps under a name. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readFilter, type SearchFields, searchHref, searchPath, toFilter } from './audit-filter.ts';

const nameLengthMax = 60;

/** Nothing when no search is kept and the page has no filter that could be. */
export const savedSearches = async (view: View, filter: SearchFields): Promise<Html | false> => {
  const { ports, texts, user, csrfField } = view;
  const t = texts.security.saved;
  const kept = await ports.staff.searches.list(user.id);
  const query = new URL(searchHref(filter), 'http://localhost').search.slice(1);
  if (kept.length === 0 && query === '') return false;
  return html`<details class="saved"${kept.length > 0 && query === '' && html` open`}><summary>${t.title}</summary>
${
  kept.length > 0 &&
  html`<ul>${kept.map(
    (one) =>
      html`<li class="row"><a href="${searchPath}?${one.query}">${one.name}</a><form method="post" action="${searchPath}/saved/remove">${csrfField}<input type="hidden" name="name" value="${one.name}"><button class="quiet" aria-label="${t.removeOf(one.name)}">${t.remove}</button></form></li>`,
  )}</ul>`
}
${
  query !== '' &&
  html`<form method="post" action="${searchPath}/saved" class="row" data-no-credentials="${texts.security.searchRefused}">${csrfField}<input type="hidden" name="query" value="${query}">
<label>${t.name}<input name="name" required maxlength="${nameLengthMax}" autocomplete="off"></label><button>${t.save}</button><p class="field-error" role="alert" hidden></p></form>`
}</details>`;
};

/** The filter is read as that of a search is, so only what a search accepts is stored. */
export const saveSearch = async ({ ports, texts, user, form, actor, address }: View): Promise<Answer> => {
  const t = texts.security.saved;
  const { filter, wrong } = readFilter({ query: new URLSearchParams(form.get('query') ?? ''), ports });
  const href = searchHref(filter);
  const name = (form.get('name') ?? '').trim();
  if (wrong.length > 0 || href === searchPath || name.includes('\0'))
    return redirect(searchPath, { tone: 'bad', text: t.refused });
  try {
    ports.security.assertNoCredential(toFilter(filter), name);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'VALIDATION_ERROR') throw error;
    return redirect(searchPath, { tone: 'bad', text: texts.security.searchRefused });
  }
  const search = { name, query: href.slice(searchPath.length + 1) };
  const result = await ports.staff.searches.save(user.id, search, { actor, address });
  return redirect(href, { tone: result === 'saved' ? 'good' : 'bad', text: t[result] });
};

export const removeSearch = async ({ ports, texts, user, form, actor, address }: View): Promise<Answer> => {
  const removed = await ports.staff.searches.remove(user.id, form.get('name') ?? '', { actor, address });
  return redirect(searchPath, removed ? { tone: 'good', text: texts.security.saved.removed } : undefined);
};

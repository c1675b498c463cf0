/** Search for anything: an exact id leads to its page, other texts to a list in groups. */
import { page, redirect } from '../page/answer.ts';
import { holdsSecret } from '../page/holds-secret.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { panelPath } from '../page/page-path.ts';
import { readSearch } from '../page/read-query.ts';
import { searchedRestaurants } from '../ports/overview.ts';
import { findPath, findRoles, findTextMax } from '../view/find-form.ts';
import { message } from '../view/layout.ts';
import { type FoundGroup, findGroups } from './search-groups.ts';
import { type IdKind, kindOfId } from './search-ids.ts';
import { pageOfId } from './search-target.ts';

const showSearch = async (view: View) => {
  const t = view.texts.overview.search;
  const given = (view.query.get('q') ?? '').trim();
  // Neither a full text nor a part of a secret is shown again.
  if (holdsSecret(given)) return searchPage(view, '', message({ tone: 'bad', text: t.secret }));
  const text = readSearch(view, 'q');
  if (text === undefined) return searchPage(view, '', html``);
  const path = await pageOfId(view, text);
  if (path !== undefined) return redirect(path);
  const groups = await findGroups(view, text);
  return searchPage(
    view,
    text,
    html`${groups.length === 0 && html`<p>${isOfRestaurants(view, text) ? t.ofRestaurants : t.none(text)}</p>`}${groups.map((group) => groupOf(view, group))}${searchedPart(view)}`,
  );
};

/** Security has no page about what belongs to a restaurant, and learns who has it instead of whether there is such an id. */
const isOfRestaurants = ({ user }: View, text: string): boolean => {
  const kind = kindOfId(text);
  return user.role === 'security' && kind !== undefined && restaurantKinds.includes(kind);
};

const restaurantKinds: readonly IdKind[] = ['order', 'customer', 'endpoint', 'delivery', 'event'];

/** Says what was searched where that is not every restaurant of the owner. */
const searchedPart = ({ user, texts }: View): Html | false =>
  user.role === 'owner' &&
  user.restaurants.length > searchedRestaurants &&
  html`<p class="hint">${texts.overview.search.searchedPart(searchedRestaurants, user.restaurants.length)}</p>`;

const searchPage = ({ texts, user }: View, text: string, results: Html) => {
  const t = texts.overview.search;
  const hints: Readonly<Record<string, string>> = t.hint;
  return page({
    title: t.title,
    body: html`<form method="get" action="${panelPath}${findPath}" class="row" role="search" aria-label="${t.submit}">
<label class="grow">${t.submit}<input name="q" type="search" maxlength="${findTextMax}" autocomplete="off" spellcheck="false" value="${text}" aria-describedby="find-hint"></label>
<button>${t.submit}</button></form>
<p class="hint" id="find-hint">${hints[user.role]}</p>
${results}`,
  });
};

const groupOf = ({ texts }: View, { name, items, more }: FoundGroup): Html => {
  const t = texts.overview.search;
  return html`<section aria-labelledby="found-${name}"><h2 id="found-${name}">${t.groups[name]}</h2>
<ul class="found">${items.map(
    (item) =>
      html`<li><a href="${item.path}">${item.name}</a>${item.id !== item.name && html` <code>${item.id}</code>`}</li>`,
  )}</ul>${more && html`<p class="hint">${t.tooMany}</p>`}</section>`;
};

export const searchPages: readonly Page[] = [{ method: 'GET', path: findPath, roles: findRoles, handle: showSearch }];

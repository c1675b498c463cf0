/** The restaurants of an owner. Staff find any restaurant among the pages of support. */

import { addressOf, live } from '../live/live.ts';
import { page, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { cursorMax, readText } from '../page/read-query.ts';
import type { ListedRestaurant } from '../ports/restaurant.ts';
import { badge, pager, withQuery } from '../view/parts.ts';
import { listPath, placeOf } from './places.ts';
import { accessTopic } from './topics.ts';

const pageSize = 50;
const textMax = 100;

const showList = async (view: View) => {
  const { user, ports, texts } = view;
  const t = texts.restaurant.list;
  const [only, ...others] = user.restaurants;
  if (only !== undefined && others.length === 0) return redirect(placeOf(only));
  const text = readText(view, 'q', textMax) ?? '';
  const after = readText(view, 'after', cursorMax);
  const { items, next } = await ports.restaurant.list({ among: user.restaurants, text, after, limit: pageSize });
  const path = `/panel${listPath}`;
  const search = html`<form method="get" action="${path}" class="row" role="search">
<label class="grow">${t.search}<input type="search" name="q" value="${text}" maxlength="${textMax}"></label>
<button>${t.find}</button></form>`;
  const found =
    items.length > 0
      ? html`<table class="stack"><thead><tr><th scope="col">${t.name}</th><th scope="col">${t.id}</th><th scope="col">${t.api}</th></tr></thead>
<tbody>${items.map((item) => row(view, item))}</tbody></table>`
      : text === '' || after !== undefined
        ? html`<p>${user.restaurants.length === 0 ? t.none : texts.restaurant.noMore}</p>`
        : html`<p>${t.notFound(text)} <a href="${path}">${t.showAll}</a></p>`;
  return page({
    title: t.title,
    body: html`${user.restaurants.length > 0 && search}
<div id="restaurants" ${live('restaurants', addressOf(view), accessTopic)}>${found}${pager(view, {
      after,
      next,
      pathOf: (cursor) => withQuery(path, { q: text, after: cursor }),
    })}</div>`,
  });
};

const row = ({ texts }: View, { restuid, name, apiEnabled }: ListedRestaurant) => {
  const { list: t, overview } = texts.restaurant;
  return html`<tr><th scope="row"><a href="${placeOf(restuid)}">${name}</a></th>
<td data-label="${t.id}"><code>${restuid}</code></td>
<td data-label="${t.api}">${apiEnabled ? badge('good', overview.on) : badge('bad', overview.off)}</td></tr>`;
};

export const listPages: readonly Page[] = [
  {
    ...{ method: 'GET', path: listPath, roles: ['owner'], topics: [accessTopic] },
    ...{ nav: (texts) => texts.restaurant.nav, handle: showList },
  },
];

/** The restaurants of an owner. Staff find any restaurant among the pages of support. */

import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { page, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor, readText } from '../page/read-query.ts';
import type { ListedRestaurant } from '../ports/restaurant.ts';
import { badge, sandboxBadge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { listPath, pathOfRestaurant } from './paths.ts';
import { accessTopic } from './topics.ts';

const pageSize = 50;
const textMax = 100;

const showList = async (view: View) => {
  const { user, ports, texts } = view;
  const t = texts.restaurant.list;
  const [only, ...others] = user.restaurants;
  if (only !== undefined && others.length === 0) return redirect(pathOfRestaurant(only));
  const text = readText(view, 'q', textMax) ?? '';
  const after = readCursor(view);
  const { items, next } = await ports.restaurant.list({ among: user.restaurants, text, after, limit: pageSize });
  const path = `/panel${listPath}`;
  const search = html`<form method="get" action="${path}" class="row" role="search">
<label class="grow">${t.search}<input type="search" name="q" value="${text}" maxlength="${textMax}"></label>
<button>${t.find}</button></form>`;
  const found =
    items.length > 0
      ? table({ columns: [t.name, t.id, t.api], rows: items.map((item) => row(view, item)) })
      : text === '' || after !== undefined
        ? html`<p>${user.restaurants.length === 0 ? t.none : texts.restaurant.noMore}</p>`
        : html`<p>${t.notFound(text)} <a href="${path}">${t.showAll}</a></p>`;
  return page({
    title: t.title,
    body: html`${user.restaurants.length > 0 && search}
<div id="restaurants" ${refreshOn('restaurants', addressOf(view), accessTopic)}>${found}${pager(view, {
      after,
      next,
      pathOf: (cursor) => withQuery(path, { q: text, after: cursor }),
    })}</div>`,
  });
};

const row = ({ texts }: View, { restuid, name, apiEnabled }: ListedRestaurant) => {
  const { overview } = texts.restaurant;
  return [
    html`<a href="${pathOfRestaurant(restuid)}">${name}</a>`,
    html`<code>${restuid}</code>${sandboxBadge(restuid)}`,
    apiEnabled ? badge('good', overview.on) : badge('bad', overview.off),
  ];
};

export const listPages: readonly Page[] = [
  {
    method: 'GET',
    path: listPath,
    roles: ['owner'],
    topics: [accessTopic],
    nav: (texts) => texts.restaurant.nav,
    handle: showList,
  },
];

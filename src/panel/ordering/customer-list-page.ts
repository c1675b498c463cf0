/** The customers of a restaurant, found by the beginning of a name, an email or a phone. */
import { notFound, page } from '../page/answer.ts';
import { type HtmlValue, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor, readText } from '../page/read-query.ts';
import type { PanelCustomer } from '../ports/ordering.ts';
import { pathOfRestaurant, requestedRestaurant, restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { breakable } from '../view/breakable.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { nameOfCustomer } from './order-parts.ts';
import { pathOfCustomer } from './paths.ts';

export const customersPath = `${restaurantPath}/customers`;

const pageSize = 50;
const startMax = 100;

const showCustomers = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const t = view.texts.customers;
  const start = readText(view, 'q', startMax);
  const after = readCursor(view);
  const { items, next } = await view.ports.ordering.customers(restuid, { start, after, limit: pageSize });
  const path = pathOfRestaurant(restuid, '/customers');
  const nothing =
    next !== undefined
      ? t.searchedPart
      : start !== undefined
        ? t.noneFits(start)
        : after === undefined
          ? t.none
          : view.texts.restaurant.noMore;
  return page({
    title: t.title(name),
    body: html`<form method="get" action="${path}" class="row" role="search">
<label class="grow">${t.search}<input type="search" name="q" value="${start}" maxlength="${startMax}"></label>
<button>${t.find}</button></form>
${
  items.length === 0
    ? html`<p>${nothing}</p>`
    : table({
        columns: [
          t.name,
          t.contact,
          { title: t.orders, kind: 'number' },
          t.lastOrder,
          { title: t.points, kind: 'number' },
        ],
        rows: items.map((customer) => row(view, restuid, customer)),
      })
}${pager(view, { after, next, pathOf: (cursor) => withQuery(path, { q: start, after: cursor }) })}`,
  });
};

const row = (view: View, restuid: string, customer: PanelCustomer): HtmlValue[] => [
  html`<a href="${pathOfCustomer(restuid, customer.uid)}">${nameOfCustomer(customer) ?? view.texts.ordering.noName}</a>`,
  html`${customer.email && breakable(customer.email)}${customer.email !== null && customer.phone !== null && html`<br>`}${customer.phone}`,
  customer.ordersCount,
  customer.lastOrder === null ? '–' : time(customer.lastOrder, 'day'),
  (customer.points / 100).toLocaleString(view.language),
];

export const customerListPages: readonly Page[] = [
  {
    method: 'GET',
    path: customersPath,
    roles: restaurantRoles,
    nav: (texts) => texts.customers.nav,
    handle: showCustomers,
  },
];

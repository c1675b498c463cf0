/** The orders of a restaurant: a list that refreshes itself, and its filter, which is kept in the query. */
import { isDay } from '#src/platform/clock.ts';
import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { notFound, page } from '../page/answer.ts';
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readChoice, readCursor, readText } from '../page/read-query.ts';
import { Refusal } from '../page/refusal.ts';
import type { OrderStatus, PanelOrder } from '../ports/ordering.ts';
import { requestedRestaurant, restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { customerName, delivery, money, orderBadge, orderNumber } from './order-parts.ts';
import { type OrderFilter, pathOfOrder, pathOfOrders } from './paths.ts';
import { ordersTopic } from './topics.ts';

export const ordersPath = `${restaurantPath}/orders`;

const pageSize = 50;
const idMax = 64;
/** As in order/create. */
const externalMax = 100;

const open: readonly OrderStatus[] = ['new', 'confirmed'];
const choices = ['open', 'new', 'confirmed', 'closed', 'timed_out', 'cancelled'] as const;

/** A day of a date field. Throws VALIDATION_ERROR for a text that is no day. */
const readDay = (view: View, name: string): string | undefined => {
  const day = readText(view, name, 10);
  if (day === undefined) return undefined;
  if (isDay(day)) return day;
  throw new Refusal('VALIDATION_ERROR', view.texts.ordering.noDay(day));
};

const readFilter = (view: View): OrderFilter => ({
  status: readChoice(view, 'status', choices),
  from: readDay(view, 'from'),
  to: readDay(view, 'to'),
  customer: readText(view, 'customer', idMax),
  external: readText(view, 'external', externalMax),
});

const isFiltered = (filter: OrderFilter): boolean => Object.values(filter).some((value) => value !== undefined);

const showOrders = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const t = view.texts.ordering;
  const filter = readFilter(view);
  const after = readCursor(view);
  const { items, next } = await view.ports.ordering.orders(restuid, {
    statuses: filter.status === undefined ? undefined : filter.status === 'open' ? open : [filter.status],
    from: filter.from,
    to: filter.to,
    customerUid: filter.customer,
    externalId: filter.external,
    after,
    limit: pageSize,
  });
  const list =
    items.length > 0
      ? table({
          columns: [t.number, t.state, t.received, t.customer, t.delivery, { title: t.total, kind: 'number' }],
          rows: items.map((order) => row(view, restuid, order)),
        })
      : html`<p>${next !== undefined ? t.searchedPart : isFiltered(filter) ? t.noneFits : after === undefined ? t.none : view.texts.restaurant.noMore}</p>`;
  return page({
    title: t.title(name),
    body: html`${filterForm(view, restuid, filter)}
<section id="orders" aria-label="${t.nav}" ${after === undefined && refreshOn('orders', addressOf(view), ordersTopic)}>${list}${pager(
      view,
      { after, next, pathOf: (cursor) => pathOfOrders(restuid, filter, cursor) },
    )}</section>`,
  });
};

const row = (view: View, restuid: string, order: PanelOrder): HtmlValue[] => [
  html`<a href="${pathOfOrder(restuid, order.uid)}">${orderNumber(order)}</a>`,
  orderBadge(view, order.status),
  time(order.date),
  customerName(order) ?? html`<span class="hint">${view.texts.ordering.noName}</span>`,
  delivery(view, order),
  money(view, order.total, order.currency),
];

const filterForm = (view: View, restuid: string, filter: OrderFilter): Html => {
  const t = view.texts.ordering;
  return html`<form method="get" action="${pathOfOrders(restuid)}" class="card filters" role="search" aria-label="${t.filter}">
<label>${t.state}<select name="status"><option value="">${t.anyState}</option>${choices.map(
    (choice) =>
      html`<option value="${choice}"${choice === filter.status && html` selected`}>${choice === 'open' ? t.openOrders : t.states[choice]}</option>`,
  )}</select></label>
<label>${t.from}<input type="date" name="from" value="${filter.from}"></label>
<label>${t.to}<input type="date" name="to" value="${filter.to}"></label>
<label>${t.external}<input name="external" value="${filter.external}" maxlength="${externalMax}"></label>
${filter.customer !== undefined && html`<label>${t.customerId}<input name="customer" value="${filter.customer}" maxlength="${idMax}"></label>`}
<div class="row"><button>${t.find}</button>${isFiltered(filter) && html`<a href="${pathOfOrders(restuid)}">${t.showAll}</a>`}</div></form>`;
};

export const orderListPages: readonly Page[] = [
  {
    method: 'GET',
    path: ordersPath,
    roles: restaurantRoles,
    nav: (texts) => texts.ordering.nav,
    topics: [ordersTopic],
    handle: showOrders,
  },
];

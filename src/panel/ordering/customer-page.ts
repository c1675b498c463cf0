/** One customer: the record, the statistics, the ledger of points, and points that staff move with a reason. */
import { Fault } from '#src/contract/fault.ts';
import { newId } from '#src/platform/ids.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor } from '../page/read-query.ts';
import type { CustomerWithCurrency, LedgerEntry } from '../ports/ordering.ts';
import { requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { breakable } from '../view/breakable.ts';
import { copyButton } from '../view/copy-button.ts';
import { message } from '../view/layout.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { customersPath } from './customer-list-page.ts';
import { fact, money, nameOfCustomer, orderBadge, orderNumber } from './order-parts.ts';
import { pathOfCustomer, pathOfOrder, pathOfOrders } from './paths.ts';

const customerPath = `${customersPath}/:customer`;

const entriesShown = 50;
const ordersShown = 5;
/** As in loyaltylog/create. */
const reasonMax = 500;
const pointsMax = 1_000_000;

const showCustomer = async (view: View, problem?: string): Promise<Answer> => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid } = found;
  const uid = view.params.customer ?? '';
  const customer = await view.ports.ordering.customer(restuid, uid);
  if (customer === undefined) return notFound();
  const after = readCursor(view);
  const entries = await view.ports.ordering.entriesOf(restuid, uid, { after, limit: entriesShown });
  const t = view.texts.customers;
  return page({
    title: nameOfCustomer(customer) ?? t.unnamed,
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<dl class="facts">${fact(t.email, customer.email && breakable(customer.email))}${fact(t.phone, customer.phone)}${fact(t.address, customer.address)}${fact(
      t.code,
      customer.code,
    )}${fact(t.added, time(customer.added))}${fact(t.id, html`<code id="customer-uid">${uid}</code> ${copyButton(view, 'customer-uid')}`)}</dl>
<h2>${t.statistics}</h2>${statistics(view, restuid, customer)}${await newestOrders(view, restuid, uid)}
<h2>${t.ledger}</h2>
<p>${t.balance} <strong>${points(view, customer.points)}</strong></p>
${entries.items.length === 0 ? html`<p>${after === undefined ? t.noEntries : view.texts.restaurant.noMore}</p>` : ledger(view, restuid, entries.items)}
${pager(view, { after, next: entries.next, pathOf: (cursor) => withQuery(pathOfCustomer(restuid, uid), { after: cursor }) })}
<h2>${t.movePoints}</h2>${pointsForm(view, restuid, uid)}`,
  });
};

/** `hundredths`: of a point. */
const points = ({ language }: Pick<View, 'language'>, hundredths: number): string =>
  (hundredths / 100).toLocaleString(language);

const statistics = (view: View, restuid: string, { currency, ...customer }: CustomerWithCurrency): Html => {
  const t = view.texts.customers;
  const { ordersCount, ordersTotal, firstOrder, lastOrder } = customer;
  return html`<dl class="facts">${fact(t.orders, html`${ordersCount} · <a href="${pathOfOrders(restuid, { customer: customer.uid })}">${t.showOrders}</a>`)}${fact(
    t.total,
    money(view, ordersTotal, currency),
  )}${firstOrder !== null && fact(t.firstOrder, time(firstOrder))}${lastOrder !== null && fact(t.lastOrder, time(lastOrder))}</dl>`;
};

const newestOrders = async (view: View, restuid: string, customerUid: string): Promise<Html | false> => {
  const none = { statuses: undefined, from: undefined, to: undefined, externalId: undefined, after: undefined };
  const { items } = await view.ports.ordering.orders(restuid, { ...none, customerUid, limit: ordersShown });
  const t = view.texts.ordering;
  return (
    items.length > 0 &&
    table({
      caption: view.texts.customers.newestOrders,
      columns: [t.number, t.state, t.received, { title: t.total, kind: 'number' }],
      rows: items.map((order) => [
        html`<a href="${pathOfOrder(restuid, order.uid)}">${orderNumber(order)}</a>`,
        orderBadge(view, order.status),
        time(order.date),
        money(view, order.total, order.currency),
      ]),
    })
  );
};

const ledger = (view: View, restuid: string, entries: readonly LedgerEntry[]): Html => {
  const t = view.texts.customers;
  return table({
    columns: [t.when, t.cause, { title: t.change, kind: 'number' }, { title: t.after, kind: 'number' }],
    rows: entries.map(({ created, type, orderUid, notes, diffOp, diffPoints, balance }) => [
      time(created),
      html`${t.causes[type]}${orderUid !== null && html` · <a href="${pathOfOrder(restuid, orderUid)}">${t.order}</a>`}${
        notes !== null && html`<br><span class="hint">${notes}</span>`
      }`,
      `${diffOp === 'add' ? '+' : '−'}${points(view, diffPoints)}`,
      points(view, balance),
    ]),
  });
};

const pointsForm = ({ texts, form, csrfField }: View, restuid: string, uid: string): Html => {
  const t = texts.customers;
  return html`<form method="post" action="${pathOfCustomer(restuid, uid, '/points')}" class="card narrow">${csrfField}
<input type="hidden" name="form_id" value="${newId('frm')}">
<label>${t.direction}<select name="diff_op"><option value="add">${t.add}</option><option value="subtract"${form.get('diff_op') === 'subtract' && html` selected`}>${t.subtract}</option></select></label>
<label>${t.points}<input type="number" name="points" min="0.01" max="${pointsMax}" step="0.01" required value="${form.get('points')}"></label>
<label>${t.reason}<input name="reason" required maxlength="${reasonMax}" value="${form.get('reason')}"></label>
<div class="row"><button>${t.moveNow}</button></div></form>`;
};

const movePoints = async (view: View): Promise<Answer> => {
  const { restaurant: restuid = '', customer: uid = '' } = view.params;
  const { form, ports, texts } = view;
  const t = texts.customers;
  const given = form.get('points') ?? '';
  const diffOp = form.get('diff_op') === 'subtract' ? 'subtract' : 'add';
  const reason = (form.get('reason') ?? '').trim();
  // Read as text: a double may change its digits.
  const hundredths = /^\d{1,7}(\.\d{1,2})?$/.test(given) ? Math.round(Number(given) * 100) : 0;
  if (hundredths === 0 || hundredths > pointsMax * 100) return showCustomer(view, t.pointsProblem);
  if (reason === '' || reason.length > reasonMax || reason.includes('\0')) return showCustomer(view, t.reasonProblem);
  // Without it the form is of a page that an earlier release made.
  const formId = /^frm_[0-9a-z]{25}$/.exec(form.get('form_id') ?? '')?.[0];
  const change = { diffOp, points: hundredths, reason, formId } as const;
  try {
    const done = await ports.ordering.movePoints(view.actor, restuid, uid, change);
    return redirect(pathOfCustomer(restuid, uid), { tone: 'good', text: done === 'moved' ? t.moved : t.movedBefore });
  } catch (error) {
    if (error instanceof Fault && error.code === 'CONFLICT') return showCustomer(view, t.movedOthers);
    if (error instanceof Fault && error.code === 'INSUFFICIENT_POINTS') return showCustomer(view, t.tooFew);
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR') return showCustomer(view, t.tooMany);
    throw error;
  }
};

export const customerPages: readonly Page[] = [
  { method: 'GET', path: customerPath, roles: restaurantRoles, handle: (view) => showCustomer(view) },
  { method: 'POST', path: `${customerPath}/points`, roles: restaurantRoles, handle: movePoints },
];

/** One order: its lines and amounts, the states that it went through, its events, and the moves that the API offers. */
import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { notFound, page } from '../page/answer.ts';
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { OrderEvent, OrderStatus, PanelOrder } from '../ports/ordering.ts';
import { pathOfRestaurant, requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { copyButton } from '../view/copy-button.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { pathOfDeliveries } from '../webhooks/delivery-filter.ts';
import { deliveryState, pathOfDelivery } from '../webhooks/delivery-parts.ts';
import { ordersPath } from './order-list-page.ts';
import { moveForms } from './order-moves.ts';
import { customerName, delivery, fact, money, orderBadge, orderNumber } from './order-parts.ts';
import { pathOfCustomer } from './paths.ts';
import { ordersTopic } from './topics.ts';

const orderPath = `${ordersPath}/:order`;

const showOrder = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid } = found;
  const { ordering } = view.ports;
  const order = await ordering.order(restuid, view.params.order ?? '');
  if (order === undefined) return notFound();
  const [events, steps] = await Promise.all([
    ordering.eventsOf(restuid, order.uid).then((found) => eventTable(view, restuid, found)),
    stepsOf(view, restuid, order),
  ]);
  const t = view.texts.ordering;
  return page({
    title: t.orderTitle(orderNumber(order)),
    body: html`<div id="order" ${refreshOn('order', addressOf(view), ordersTopic)}>
<p>${orderBadge(view, order.status)} ${stateSentence(view, order)}</p>
${moveForms(view, restuid, order)}
<h2>${t.lines}</h2>${lines(view, order)}${amounts(view, order)}
<h2>${t.details}</h2>${facts(view, restuid, order)}
<h2>${t.history}</h2>
<ol class="steps">${steps.map(({ text, at, by }) => html`<li><strong>${text}</strong> ${time(at)}${by !== undefined && html` <span class="hint">${t.by} ${by}</span>`}</li>`)}</ol>
<h2>${t.events}</h2>${events}
</div>`,
  });
};

const stateSentence = ({ texts }: View, { status, countdownEnd, cancelReason }: PanelOrder): HtmlValue => {
  const t = texts.ordering;
  if (status === 'new' && countdownEnd !== null) return html`${t.countdown} ${time(countdownEnd)}`;
  if (status === 'cancelled' && cancelReason !== null) return t.cancelledBecause(cancelReason);
  return t.meanings[status];
};

const lines = (view: View, { details, currency }: PanelOrder): Html => {
  const t = view.texts.ordering;
  return table({
    columns: [
      t.product,
      { title: t.quantity, kind: 'number' },
      { title: t.price, kind: 'number' },
      { title: t.total, kind: 'number' },
    ],
    rows: details.map(({ product, options, quantity, free_quantity: free, price, total, notes }) => [
      html`${product.name}${options.map(
        (option) =>
          html`<br><span class="hint">${option.name}: ${option.values.map(({ name, quantity: times }) => (times === 1 ? name : `${name} × ${times}`)).join(', ')}</span>`,
      )}${notes !== null && html`<br><span class="hint">${t.note}: ${notes}</span>`}`,
      free === 0 ? quantity : html`${quantity} <span class="hint">(${t.free(free)})</span>`,
      money(view, price, currency),
      money(view, total, currency),
    ]),
  });
};

/** The sum as in interface 10.5: lines, minus coupon and points, plus the fee. */
const amounts = (view: View, order: PanelOrder): Html => {
  const t = view.texts.ordering;
  const { currency, coupon, loyaltyDiscount, redeemedPoints, fee } = order;
  const amount = (hundredths: number): string => money(view, hundredths, currency);
  return html`<dl class="facts">${fact(t.linesTotal, amount(order.linesTotal))}${
    coupon !== null && fact(t.coupon(coupon.code), amount(-coupon.discount))
  }${
    redeemedPoints !== null &&
    fact(t.points((redeemedPoints / 100).toLocaleString(view.language)), amount(-(loyaltyDiscount ?? 0)))
  }${fee !== 0 && fact(t.fee, amount(fee))}${fact(t.total, html`<strong>${amount(order.total)}</strong>`)}${fact(
    t.payment,
    `${t.payments[order.paymentMethod]}, ${order.paid ? t.paid : t.notPaid}`,
  )}</dl>`;
};

const facts = (view: View, restuid: string, order: PanelOrder): Html => {
  const t = view.texts.ordering;
  const { client, customerUid, address, deliverypoint: point } = order;
  const name = customerName(order);
  return html`<dl class="facts">${fact(t.delivery, delivery(view, order))}${fact(
    t.customer,
    customerUid === null ? name : html`<a href="${pathOfCustomer(restuid, customerUid)}">${name ?? t.noName}</a>`,
  )}${fact(t.phone, client?.phone)}${fact(t.email, client?.email)}${fact(
    t.address,
    address === null ? null : addressText(address),
  )}${fact(t.point, point === null ? null : `${point.name}, ${point.full_address}`)}${fact(
    t.wanted,
    timeOrNull(order.deliveryDate ?? order.pickupDate),
  )}${fact(t.notes, order.notes)}${fact(t.confirmationText, order.confirmationText)}${fact(
    t.external,
    order.externalId === null ? null : html`<code>${order.externalId}</code>`,
  )}${fact(t.id, html`<code id="order-uid">${order.uid}</code> ${copyButton(view, 'order-uid')}`)}</dl>`;
};

const timeOrNull = (at: Date | null): Html | null => (at === null ? null : time(at));

const addressText = ({ street, number, zip, city, doorbell, floor }: NonNullable<PanelOrder['address']>): string =>
  [
    [street, number],
    [zip, city],
    [doorbell, floor],
  ]
    .map((parts) => parts.filter((part) => part !== null && part !== '').join(' '))
    .filter((line) => line !== '')
    .join(', ');

type Step = { text: string; at: Date; by: string | undefined };

/** An order enters each state once at most, in this order. */
const statesInTime: readonly OrderStatus[] = ['new', 'confirmed', 'timed_out', 'closed', 'cancelled'];

/**
 * The states that the order entered. Of a state that is not among the recorded moves, the order may have a time of its own, which
 * does not say who moved it.
 */
const stepsOf = async (view: View, restuid: string, order: PanelOrder): Promise<Step[]> => {
  const t = view.texts.ordering;
  const { status, date, confirmed, settled, cancelled } = order;
  const moves = order.moves ?? [];
  const actors = [...new Set(moves.map(({ by }) => by))];
  const names = new Map(
    await Promise.all(
      actors.map(async (by) => [by, (await view.ports.ordering.nameOf(restuid, by)) ?? idOf(by)] as const),
    ),
  );
  const ownTimes: Readonly<Record<OrderStatus, Date | null>> = {
    new: date,
    confirmed: confirmed ? settled : null,
    timed_out: status === 'timed_out' ? settled : null,
    closed: null,
    cancelled,
  };
  return statesInTime.flatMap((state) => {
    const move = moves.find(({ to }) => to === state);
    const text = t.entered[state];
    if (move !== undefined)
      return [{ text, at: new Date(move.at), by: move.by === 'system' ? t.system : names.get(move.by) }];
    const at = ownTimes[state];
    return at === null ? [] : [{ text, at, by: undefined }];
  });
};

const idOf = (actor: string): string => actor.slice(actor.indexOf(':') + 1);

/** Deliveries of one event that are shown: one for each endpoint, and those that were sent again. */
const deliveriesMax = 10;
const endpointsMax = 100;

const eventTable = async (view: View, restuid: string, events: readonly OrderEvent[]): Promise<Html> => {
  const t = view.texts.ordering;
  const { deliveries, endpoints } = view.ports.restaurant;
  if (events.length === 0)
    return html`<p>${t.noEvents} <a href="${pathOfRestaurant(restuid, '/notifications')}">${view.texts.restaurant.notifications.nav}</a></p>`;
  const { items: known } = await endpoints.list(restuid, { after: undefined, limit: endpointsMax });
  const nameOf = (uid: string): string => {
    const endpoint = known.find((one) => one.uid === uid);
    return endpoint?.description ?? endpoint?.url ?? uid;
  };
  const sent = async (eventId: string): Promise<HtmlValue> => {
    const { items, next } = await deliveries.search(restuid, { ...anyDelivery, eventId, limit: deliveriesMax });
    if (items.length === 0) return html`<span class="hint">${t.notSent}</span>`;
    return html`<ul class="states">${items.map(
      (delivery) =>
        html`<li>${deliveryState(view, delivery)} <a href="${pathOfDelivery(restuid, delivery.uid)}">${nameOf(delivery.endpointUid)}</a></li>`,
    )}</ul>${next !== undefined && html`<a href="${pathOfDeliveries(restuid, { id: eventId })}">${t.allDeliveries}</a>`}`;
  };
  const rows = events.map(async ({ id, event, recorded }) => [
    html`<a href="/docs/events/${event}">${event}</a>`,
    time(recorded),
    await sent(id),
  ]);
  return table({ columns: [t.event, t.recorded, t.deliveries], rows: await Promise.all(rows) });
};

const anyDelivery = {
  endpointUid: undefined,
  event: undefined,
  state: undefined,
  redeliveryUid: undefined,
  since: undefined,
  after: undefined,
};

export const orderPages: readonly Page[] = [
  { method: 'GET', path: orderPath, roles: restaurantRoles, topics: [ordersTopic], handle: showOrder },
];

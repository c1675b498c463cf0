/** Staff confirm, close and cancel an order, as callers of the API do. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { OrderMoveByStaff, OrderStatus, PanelOrder } from '../ports/ordering.ts';
import { requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { fieldNote } from '../view/field.ts';
import { ordersPath } from './order-list-page.ts';
import { orderNumber } from './order-parts.ts';
import { pathOfOrder } from './paths.ts';

/** As in order/cancel. */
const reasonMax = 500;

const movesOf: Readonly<Record<OrderStatus, readonly OrderMoveByStaff[]>> = {
  new: ['confirm', 'cancel'],
  confirmed: ['close', 'cancel'],
  closed: ['cancel'],
  timed_out: [],
  cancelled: [],
};

/** The buttons of the moves that the state of the order allows. */
export const moveForms = (view: View, restuid: string, { uid, status }: PanelOrder): Html | false => {
  const moves = movesOf[status];
  const t = view.texts.ordering;
  return (
    moves.length > 0 &&
    html`<div class="row">${moves.map((move) =>
      move === 'cancel'
        ? html`<a class="button" href="${pathOfOrder(restuid, uid, '/cancel')}">${t.moves.cancel}</a>`
        : html`<form method="post" action="${pathOfOrder(restuid, uid, `/${move}`)}">${view.csrfField}<button class="primary">${t.moves[move]}</button></form>`,
    )}</div>`
  );
};

const move = (which: OrderMoveByStaff, reason: string | null) => async (view: View) => {
  const { restaurant: restuid = '', order: uid = '' } = view.params;
  const t = view.texts.ordering;
  const back = pathOfOrder(restuid, uid);
  const order = await view.ports.ordering.order(restuid, uid);
  if (order === undefined) return notFound();
  try {
    await view.ports.ordering.move(view.actor, restuid, uid, which, reason);
  } catch (error) {
    // Another request moved the order first, or its countdown ended: the page shows its state now.
    if (error instanceof Fault && (error.code === 'CONFLICT' || error.code === 'TIMEOUT'))
      return redirect(back, { tone: 'bad', text: error.code === 'TIMEOUT' ? t.tooLate : t.otherState });
    throw error;
  }
  return redirect(back, { tone: 'good', text: t.moved[which](orderNumber(order)) });
};

const askToCancel = async (view: View, problem?: string): Promise<Answer> => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const order = await view.ports.ordering.order(found.restuid, view.params.order ?? '');
  if (order === undefined) return notFound();
  const t = view.texts.ordering;
  const back = pathOfOrder(found.restuid, order.uid);
  if (!movesOf[order.status].includes('cancel')) return redirect(back, { tone: 'bad', text: t.otherState });
  const note = fieldNote('reason', problem, t.reasonHint);
  return page({
    title: t.cancelTitle(orderNumber(order)),
    status: problem === undefined ? 200 : 422,
    body: html`<p>${t.cancelText}</p>
<form method="post" action="${back}/cancel" class="card narrow" data-confirm>${view.csrfField}
<label>${t.reason}<input name="reason" required maxlength="${reasonMax}" value="${view.form.get('reason') ?? ''}"${note.attributes}></label>${note.line}
<div class="row"><button class="danger">${t.cancelNow}</button><a class="button" href="${back}">${view.texts.restaurant.back}</a></div></form>`,
  });
};

const cancel = (view: View): Promise<Answer> => {
  const reason = (view.form.get('reason') ?? '').trim();
  const isUsable = reason !== '' && reason.length <= reasonMax && !reason.includes('\0');
  return isUsable ? move('cancel', reason)(view) : askToCancel(view, view.texts.ordering.reasonProblem(reasonMax));
};

export const orderMovePages: readonly Page[] = [
  { method: 'POST', path: `${ordersPath}/:order/confirm`, roles: restaurantRoles, handle: move('confirm', null) },
  { method: 'POST', path: `${ordersPath}/:order/close`, roles: restaurantRoles, handle: move('close', null) },
  { method: 'GET', path: `${ordersPath}/:order/cancel`, roles: restaurantRoles, handle: (view) => askToCancel(view) },
  { method: 'POST', path: `${ordersPath}/:order/cancel`, roles: restaurantRoles, handle: cancel },
];

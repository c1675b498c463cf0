/**
 * Events of an order (interface 12.1), recorded in the transaction of the change. A body holds the token of its order as it
 * is sent: what is recorded is signed, and sent again, byte for byte. So for the days that events are kept, the database of
 * a restaurant whose order events are on holds tokens there, beside all else that receivers may know of its orders.
 */
import type { Kysely } from 'kysely';
import { type EventDraft, isKindOn, recordEvents, recordFirstEvents } from '#src/platform/db/outbox/outbox.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import type { Order } from './order.ts';
import { confirmationView, orderView } from './order-view.ts';
import type { Move } from './transitions.ts';

export type OrderEvent =
  | 'order.new'
  | 'order.countdown_started'
  | 'order.timeout'
  | 'order.confirmed'
  | 'order.closed'
  | 'order.cancelled';

export const eventOfMove: Readonly<Record<Move, OrderEvent>> = {
  confirm: 'order.confirmed',
  close: 'order.closed',
  cancel: 'order.cancelled',
  time_out: 'order.timeout',
};

/** `order` as it is after the change; its seq is the event's. */
export type OrderChange = [event: OrderEvent, order: Order];

/** What creation announces (interface 10.7): the order as it came in, then what became of it at once. */
export const eventsOfCreation = (received: Order, order: Order): [OrderChange, ...OrderChange[]] => {
  if (order.confirmed)
    return [
      ['order.new', received],
      ['order.confirmed', order],
    ];
  if (order.countdownEnd !== null)
    return [
      ['order.new', received],
      ['order.countdown_started', order],
    ];
  return [['order.new', received]];
};

const kind = 'orders';

export const hasOrderEvents = (tx: Kysely<unknown>, restuid: string): Promise<boolean> => isKindOn(tx, restuid, kind);

/** What creation announces, where order events are on. */
export const recordCreation = (tx: Kysely<unknown>, changes: Changes, restaurant: Restaurant, now: Date) =>
  recordFirstEvents(tx, draftsOf(changes, restaurant, now));

/** Changes of one order, in the order of their seq. */
export const recordOrderEvents = async (
  tx: Kysely<unknown>,
  changes: Changes,
  restaurant: Restaurant,
  now: Date,
): Promise<void> => {
  await recordEvents(tx, draftsOf(changes, restaurant, now));
};

type Changes = readonly [OrderChange, ...OrderChange[]];

const draftsOf = ([first, ...more]: Changes, restaurant: Restaurant, now: Date): [EventDraft, ...EventDraft[]] => {
  const draftOf = ([event, order]: OrderChange): EventDraft => ({
    tenant: order.restuid,
    kind,
    event,
    entity: order.uid,
    seq: order.seq,
    created: now,
    object: 'order',
    value: () => bodyOf(event, order, restaurant),
  });
  return [draftOf(first), ...more.map(draftOf)];
};

const bodyOf = (event: OrderEvent, order: Order, restaurant: Restaurant): Record<string, unknown> => {
  const { uid, token } = order;
  const {
    closed: _closed,
    text: _text,
    date: _date,
    date_iso: _dateIso,
    ...countdown
  } = confirmationView(order, restaurant);
  if (event === 'order.countdown_started') return { uid, token, confirmation: countdown };
  if (event === 'order.timeout')
    return { uid, token, confirmation: { confirmed: countdown.confirmed, timeout: countdown.timeout } };
  return orderView(order, restaurant);
};

/**
 * Records the events of an order (interface 12.1) in the transaction of the change. The body of an event contains the
 * token of its order, because an event is stored exactly as it is signed and sent. So the database contains the tokens
 * of a restaurant's recent orders while its order events are on, for the days that events are retained.
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

/** `order`: its state after the change. Its seq becomes the seq of the event. */
export type OrderChange = [event: OrderEvent, order: Order];

/** The events of a new order (interface 10.7): order.new, then the move or countdown that follows at once. */
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

/** Records the events of a new order, if order events are on. */
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

/** What can be told of a sent order without its location and its lines (interface 11.1). Pure. */
import type { FaultDetail } from '#src/contract/fault.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import type { SentOrder } from './sent-order.ts';

const pastMsMax = 5 * 60_000;
const aheadMsMax = 365 * 24 * 3_600_000;

/** These are faults of parameters, so they are named even where the location is the first thing that is wrong. */
export const judgeSent = (restaurant: Restaurant, sent: SentOrder, now: Date): FaultDetail[] => [
  ...handoverDates(sent).flatMap(([pointer, date]) => dateFaults(pointer, date, now)),
  ...pointFaults(restaurant, sent),
];

/** When the order is handed over, with the pointer of that date: at most one, none for methods without. */
export const handoverDates = ({ pickup, delivery }: SentOrder): [pointer: string, date: Date][] => [
  ...(pickup === null ? [] : [['/pickup/date', pickup.date] satisfies [string, Date]]),
  ...(delivery === null ? [] : [['/delivery/date', delivery.date] satisfies [string, Date]]),
];

const dateFaults = (pointer: string, date: Date, now: Date): FaultDetail[] => {
  const aheadMs = date.getTime() - now.getTime();
  return aheadMs < -pastMsMax || aheadMs > aheadMsMax
    ? [{ pointer, code: 'RANGE', message: 'must be from 5 minutes ago to 365 days ahead' }]
    : [];
};

const pointFaults = ({ pointValue }: Restaurant, { redeem_points, client }: SentOrder): FaultDetail[] => {
  if (redeem_points === null) return [];
  const pointer = 'redeem_points';
  if (pointValue === null)
    return [{ pointer, code: 'NOT_ENABLED', message: 'points have no value in this restaurant' }];
  return client.email === null && client.phone === null
    ? [{ pointer, code: 'NOT_ENABLED', message: 'needs a customer: give an email or a phone' }]
    : [];
};

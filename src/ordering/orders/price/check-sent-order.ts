/** Checks of a sent order that need neither its location nor its lines (interface 11.1). Pure. */
import type { FaultDetail } from '#src/contract/fault.ts';
import { dayMs, minuteMs } from '#src/platform/clock.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import type { SentOrder } from './sent-order.ts';

const pastMsMax = 5 * minuteMs;
const aheadMsMax = 365 * dayMs;

/** These are faults of parameters, so the answer names them even when the location is wrong too. */
export const checkSentOrder = (restaurant: Restaurant, sent: SentOrder, now: Date): FaultDetail[] => [
  ...fulfilmentDates(sent).flatMap(([pointer, date]) => dateFaults(pointer, date, now)),
  ...pointFaults(restaurant, sent),
];

/** The pickup or delivery date with its pointer; empty for methods without a date. */
export const fulfilmentDates = ({ pickup, delivery }: SentOrder): [pointer: string, date: Date][] => [
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

/** Whether a coupon is valid for an order, and its discount (interface 10.5, 11.4). Pure. */
import { dayMs } from '#src/platform/clock.ts';
import { percentageOf, toWire } from '../values/money.ts';
import { isoDate } from '../values/venue-time.ts';
import type { Coupon, FoundCoupon } from './coupon.ts';

export type CouponUse = {
  /** Hundredths. Undefined while the total is unknown; order_min is then not checked. */
  total?: number;
  /** The email for which the coupon was looked up. */
  email: string | null;
  now: Date;
  /** Zone of the coupon's days. */
  timeZone: string;
};

/** The reason why the coupon is invalid, as a public text; undefined when it is valid. */
export const checkCoupon = (coupon: FoundCoupon, use: CouponUse): string | undefined => {
  const day = dayOf(use.now, use.timeZone);
  if (coupon.quantity < 1) return 'The coupon is used up';
  if (coupon.validFrom !== null && day < coupon.validFrom) return `The coupon is valid from ${coupon.validFrom}`;
  if (coupon.validTo !== null && day > coupon.validTo)
    return `The coupon has expired: it was valid to ${coupon.validTo}`;
  if (coupon.validWeekdays.length > 0 && !coupon.validWeekdays.includes(weekdayOf(day)))
    return 'The coupon is not valid on this day of the week';
  const foreign = checkCouponEmail(coupon, use.email);
  if (foreign !== undefined) return foreign;
  if (use.total !== undefined && use.total < coupon.orderMin)
    return `The coupon is for orders of ${toWire(coupon.orderMin)} at least`;
  return undefined;
};

/** The reason why the coupon is not for this email. The text does not name the address of its customer. */
export const checkCouponEmail = ({ isForEmail }: FoundCoupon, email: string | null): string | undefined => {
  if (isForEmail) return undefined;
  return email === null ? 'The coupon needs the email of its customer' : 'The coupon is for another customer';
};

/** The discount in hundredths, rounded half-up. */
export const discountOf = (coupon: Coupon, total: number, currency: string): number =>
  percentageOf(total, coupon.discountPerc / 100, currency);

/** `YYYY-MM-DD` in a zone. */
export const dayOf = (at: Date, timeZone: string): string => (isoDate(at, timeZone) ?? '').slice(0, 10);

/** Whether one of the days from `from` to `to` (null: without an end) is on one of the weekdays (empty: all). */
export const hasValidDay = (weekdays: readonly number[], from: string, to: string | null): boolean => {
  if (to !== null && to < from) return false;
  const days = Array.from({ length: 7 }, (_, index) => laterDay(from, index));
  return weekdays.length === 0 || days.some((day) => (to === null || day <= to) && weekdays.includes(weekdayOf(day)));
};

/** The day that is `days` after another. */
export const laterDay = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);

const weekdayOf = (day: string): number => new Date(`${day}T00:00:00Z`).getUTCDay();

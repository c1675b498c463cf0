/**
 * The coupon of an order: `readOrderCoupon` checks it when the order is priced, `takeOrderCoupon` takes a use when the
 * order is written, `returnOrderCoupon` returns the use when the order is cancelled or times out.
 */
import type { Kysely } from 'kysely';
import type { FaultDetail } from '#src/contract/fault.ts';
import { type CouponUse, checkCoupon, checkCouponEmail } from './check-coupon.ts';
import type { Coupon } from './coupon.ts';
import { findCoupon, giveUseBack, takeUse } from './coupon-store.ts';

export { discountOf } from './check-coupon.ts';

export const couponFault = (message: string): FaultDetail => ({
  pointer: '/coupon/code',
  code: 'COUPON_ERROR',
  message,
});

/** The coupon if it is valid apart from the order total, otherwise its faults. Null: the order has no coupon. */
export const readOrderCoupon = async (
  tx: Kysely<unknown>,
  restuid: string,
  code: string | undefined,
  use: Omit<CouponUse, 'total'>,
): Promise<Coupon | null | FaultDetail[]> => {
  if (code === undefined) return null;
  const coupon = await findCoupon(tx, restuid, { code, email: use.email });
  if (coupon === undefined) return [couponFault('No such coupon')];
  const reason = checkCoupon(coupon, use);
  return reason === undefined ? coupon : [couponFault(reason)];
};

/**
 * Takes one use, or returns the fault because of which the order must not be written: since the coupon was checked, a
 * parallel order took the last use, or the coupon followed its customer to a new email. Lock order of every order:
 * customer, coupon, points, counter of order numbers.
 */
export const takeOrderCoupon = async (
  tx: Kysely<unknown>,
  restuid: string,
  code: string,
  email: string | null,
): Promise<FaultDetail | undefined> => {
  const taken = await takeUse(tx, restuid, { code, email });
  if (taken === undefined) return couponFault('The coupon is used up');
  const foreign = checkCouponEmail(taken, email);
  return foreign === undefined ? undefined : couponFault(foreign);
};

export const returnOrderCoupon = (tx: Kysely<unknown>, restuid: string, code: string): Promise<void> =>
  giveUseBack(tx, restuid, code);

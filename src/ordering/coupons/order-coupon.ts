/**
 * The coupon of an order, as orders/ uses it: `readOrderCoupon` when it is priced, `takeOrderCoupon` when it is written,
 * `giveOrderCouponBack` when it is cancelled or times out. The price effect is `discountOf`, which is pure.
 */
import type { Kysely } from 'kysely';
import type { FaultDetail } from '#src/contract/fault.ts';
import { type CouponUse, judgeCoupon } from './check-coupon.ts';
import type { Coupon } from './coupon.ts';
import { findCoupon, giveUseBack, takeUse } from './coupon-store.ts';

export { discountOf } from './check-coupon.ts';

export const couponFault = (message: string): FaultDetail => ({
  pointer: '/coupon/code',
  code: 'COUPON_ERROR',
  message,
});

/** The coupon that was sent if it holds for everything but the total; faults otherwise. Null: none was sent. */
export const readOrderCoupon = async (
  tx: Kysely<unknown>,
  restuid: string,
  code: string | undefined,
  use: Omit<CouponUse, 'total'>,
): Promise<Coupon | null | FaultDetail[]> => {
  if (code === undefined) return null;
  const coupon = await findCoupon(tx, restuid, code);
  if (coupon === undefined) return [couponFault('No such coupon')];
  const reason = judgeCoupon(coupon, use);
  return reason === undefined ? coupon : [couponFault(reason)];
};

/**
 * Takes one use. Undefined when the last one went to another order meanwhile: the order must not be written then. Locked
 * after the customer and before the counter of numbers, the sequence of every order.
 */
export const takeOrderCoupon = (tx: Kysely<unknown>, restuid: string, code: string): Promise<Coupon | undefined> =>
  takeUse(tx, restuid, code);

export const giveOrderCouponBack = (tx: Kysely<unknown>, restuid: string, code: string): Promise<void> =>
  giveUseBack(tx, restuid, code);

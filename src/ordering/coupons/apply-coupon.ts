/**
 * coupon/apply (interface 11.4): the discount of a coupon on a total that the caller computed, and one use of the
 * coupon.
 */
import type { Kysely } from 'kysely';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { checkCoupon, discountOf } from './check-coupon.ts';
import type { Coupon } from './coupon.ts';
import { findCoupon, lockCoupon, takeUse } from './coupon-store.ts';

export type ApplyResult =
  /** `discount` in hundredths. */
  { kind: 'applied'; coupon: Coupon; discount: number } | { kind: 'not_found' } | { kind: 'refused'; reason: string };

/** `total` in hundredths; `preview`: computes the discount without taking a use. */
type Application = { code: string; total: number; email: string | null; preview: boolean; now: Date };

export const applyCoupon = async (
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  { code, total, email, preview, now }: Application,
): Promise<ApplyResult> => {
  const coupon = await (preview ? findCoupon : lockCoupon)(tx, restaurant.uid, { code, email });
  if (coupon === undefined) return { kind: 'not_found' };
  const reason = checkCoupon(coupon, { total, email, now, timeZone: restaurant.timeZone });
  if (reason !== undefined) return { kind: 'refused', reason };
  const discount = discountOf(coupon, total, restaurant.currency);
  if (preview) return { kind: 'applied', coupon, discount };
  const used = await takeUse(tx, restaurant.uid, { code, email });
  if (used === undefined) throw new Error('a locked coupon had no use left');
  return { kind: 'applied', coupon: used, discount };
};

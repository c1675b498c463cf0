/** Ledger entries of orders (interface 10.4): closing earns points, redeeming spends them, cancelling reverses both. */
import type { Kysely } from 'kysely';
import { lockCustomer } from '../customers/customer-store.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';
import { divideHalfUp, toScaled } from '../values/money.ts';
import { findEntryByCause, listEntriesOfOrder } from './ledger-store.ts';
import { type PostResult, postEntry } from './post-entry.ts';

/** `restaurant`: given when the caller has read it already. */
type OfOrder = { restuid: string; restaurant?: Restaurant; orderUid: string; customerUid: string; now: Date };

type OrderContext = OfOrder & { usedCouponCode?: string | null; subrestaurantUid?: string | null };

/** `points` in hundredths. `insufficient` contains the balance, and no points were taken. */
export const redeemPoints = (tx: Kysely<unknown>, order: OrderContext & { points: number }): Promise<PostResult> => {
  const { points, ...rest } = order;
  return postEntry(tx, { ...rest, type: 'redemption', inputType: 'points', diffOp: 'subtract', diffPoints: points });
};

/** `base`: line totals minus discounts, in hundredths. `nothing`: the order earns no points, or none fits. */
export const creditClosedOrder = async (
  tx: Kysely<unknown>,
  order: OrderContext & { base: number },
): Promise<PostResult | { kind: 'nothing' }> => {
  const { base, ...rest } = order;
  const restaurant = order.restaurant ?? (await findRestaurant(tx, order.restuid));
  if (restaurant === undefined || base <= 0) return { kind: 'nothing' };
  const points = divideHalfUp(BigInt(base) * toScaled(restaurant.pointsPerUnit, 2), 100n);
  if (points === 0) return { kind: 'nothing' };
  const result = await postEntry(tx, {
    ...rest,
    restaurant,
    type: 'order',
    inputType: 'value',
    diffOp: 'add',
    diffPoints: points,
    diffValue: base,
  });
  return result.kind === 'full' ? { kind: 'nothing' } : result;
};

/**
 * Takes back the points that the order earned, at most the balance, then restores the points that it redeemed, at most
 * up to the largest balance. Each entry is reversed at most once. The ledger of a removed customer does not change.
 */
export const reverseOrderPoints = async (tx: Kysely<unknown>, order: OfOrder): Promise<void> => {
  const { restuid, orderUid, customerUid } = order;
  const customer = await lockCustomer(tx, restuid, { uid: customerUid });
  if (customer === undefined) return;
  const entries = (await listEntriesOfOrder(tx, restuid, orderUid)).filter(
    (entry) => entry.customerUid === customerUid,
  );
  const given = entries.find((entry) => entry.type === 'order');
  const taken = entries.find((entry) => entry.type === 'redemption');
  const reversal = { ...order, type: 'order_cancelled', inputType: 'points' } as const;
  if (given !== undefined && (await isOpen(tx, restuid, given.uid))) {
    const diffPoints = Math.min(given.diffPoints, customer.loyalty_points);
    if (diffPoints > 0)
      await postEntry(tx, { ...reversal, ...placeOf(given), reversedUid: given.uid, diffOp: 'subtract', diffPoints });
  }
  if (taken !== undefined) {
    const { uid: reversedUid, diffPoints } = taken;
    await postEntry(tx, { ...reversal, ...placeOf(taken), reversedUid, diffOp: 'add', diffPoints });
  }
};

const placeOf = (entry: { subrestaurantUid: string | null }) => ({ subrestaurantUid: entry.subrestaurantUid });

/** Must be checked first: after a reversal the balance differs, and the amount would be computed from it. */
const isOpen = async (tx: Kysely<unknown>, restuid: string, reversedUid: string): Promise<boolean> =>
  (await findEntryByCause(tx, restuid, reversedUid, 'order_cancelled')) === undefined;

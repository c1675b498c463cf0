/**
 * Moves of an order: confirm, close, cancel, and the end of its countdown. The row of the order is locked, so an order
 * leaves a state exactly once, with one event, whatever runs at the same time. Locks are taken in the same order
 * everywhere, customer before order (also in order/create and customer/remove), so requests cannot deadlock.
 */
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { returnOrderCoupon } from '../coupons/order-coupon.ts';
import { uncountOrder } from '../customers/customer-statistics.ts';
import { creditClosedOrder, reverseOrderPoints } from '../loyalty/ledger.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import type { Order } from './order/order.ts';
import { lockCustomerOfOrder, lockOrder, remainingDates, updateOrderState } from './order/order-store.ts';
import { type OrderToken, withToken } from './order/order-token.ts';
import { eventOfMove, recordOrderEvents } from './order/record-order-events.ts';
import { type IllegalMove, type Move, type MoveDetails, moveOrder } from './order/transitions.ts';

export type ChangeResult =
  | { kind: 'changed'; order: Order }
  | { kind: 'not_found' }
  | { kind: 'wrong_token' }
  | { kind: 'refused'; code: IllegalMove; order: Order };

type Change = Omit<MoveDetails, 'now'> & {
  uid: string;
  token: string;
  move: Move;
  tokenOf: OrderToken;
  /** Read after the wait for the lock, so that the history of the order and `updated` never go back. */
  readNow: () => Date;
};

export const changeOrder = async (
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  change: Change,
): Promise<ChangeResult> => {
  const order = await lockForMove(tx, restaurant.uid, change.uid, change.move, change.tokenOf);
  if (order === undefined) return { kind: 'not_found' };
  if (!equalInConstantTime(order.token, change.token)) return { kind: 'wrong_token' };
  const now = change.readNow();
  const result = moveOrder(order, change.move, { ...change, now });
  if (result.kind === 'refused') return result;
  await writeChanges(tx, restaurant, change.move, result.order, now);
  return { kind: 'changed', order: result.order };
};

/** Confirming does not change the customer, so it does not wait for the customer's lock. */
export const lockForMove = async (
  tx: Kysely<unknown>,
  restuid: string,
  uid: string,
  move: Move,
  tokenOf: OrderToken,
): Promise<Order | undefined> => {
  if (move !== 'confirm') await lockCustomerOfOrder(tx, restuid, uid);
  const order = await lockOrder(tx, restuid, uid);
  return order && withToken(order, tokenOf);
};

/** Writes a legal move and its consequences. The caller holds the locks. */
export const writeChanges = async (
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  move: Move,
  order: Order,
  now: Date,
): Promise<void> => {
  await updateOrderState(tx, order);
  if (move === 'cancel' || move === 'time_out') await takeOut(tx, order);
  await recordOrderEvents(tx, [[eventOfMove[move], order]], restaurant, now);
  if (order.customerUid === null) return;
  const { restuid, uid: orderUid, customerUid } = order;
  if (move === 'close') {
    const base = order.linesTotal - (order.coupon?.discount ?? 0) - (order.loyaltyDiscount ?? 0);
    const usedCouponCode = order.coupon?.code ?? null;
    await creditClosedOrder(tx, {
      restuid,
      restaurant,
      orderUid,
      customerUid,
      usedCouponCode,
      subrestaurantUid: order.locationUid,
      base,
      now,
    });
  }
  if (move === 'cancel' || move === 'time_out') {
    await reverseOrderPoints(tx, { restuid, restaurant, orderUid, customerUid, now });
  }
};

/**
 * Takes the order out of the statistics and releases its coupon. The customer is locked, so a new order is counted
 * afterwards.
 */
const takeOut = async (tx: Kysely<unknown>, order: Order): Promise<void> => {
  const { restuid, customerUid, dmethod, creator, total, date } = order;
  if (order.coupon !== null) await returnOrderCoupon(tx, restuid, order.coupon.code);
  if (customerUid === null) return;
  const remaining = await remainingDates(tx, { ...order, customerUid });
  await uncountOrder(tx, { restuid, customerUid, order: { dmethod, creator, total, date }, remaining });
};

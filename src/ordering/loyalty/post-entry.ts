/**
 * Posts movements of points. Every one locks the customer first, so parallel calls run one after the other: the balance
 * never falls below zero, seq has no gaps, and a cause is credited once. Must run inside a transaction.
 */
import type { Kysely } from 'kysely';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { newId } from '#src/platform/ids.ts';
import { lockCustomer } from '../customers/customer-store.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';
import { divideHalfUp, toScaled } from '../values/money.ts';
import { findEntry, findEntryByCause, insertEntry } from './ledger-store.ts';
import type { EntryType, LoyaltyEntry } from './loyalty-entry.ts';
import { loyaltyView } from './loyalty-view.ts';

/** Largest balance (interface 2), in hundredths of a point. */
export const balanceMax = 10_000_000_00;

/** Points and values in hundredths; `diffPoints` above 0. An addition beyond the largest balance adds what fits. */
export type NewEntry = {
  restuid: string;
  /** Given when the caller has read it already. */
  restaurant?: Restaurant;
  customerUid: string;
  type: EntryType;
  inputType: 'points' | 'value';
  diffOp: 'add' | 'subtract';
  diffPoints: number;
  diffValue?: number | null;
  notes?: string | null;
  orderUid?: string | null;
  /** The entry that this one reverses. */
  reversedUid?: string | null;
  /** The coupon that the order used. */
  usedCouponCode?: string | null;
  /** The coupon that was bought. */
  couponCode?: string | null;
  subrestaurantUid?: string | null;
  /** Of a manual entry: the value of the form that made it. Null: a call made it, which may move the same again. */
  formId?: string | null;
  now: Date;
};

export type PostResult =
  | { kind: 'posted'; entry: LoyaltyEntry }
  /** `balance` in hundredths of a point. */
  | { kind: 'insufficient'; balance: number }
  /** The customer has the largest balance already; nothing was posted. */
  | { kind: 'full' }
  /** The customer is unknown or removed; nothing was posted. */
  | { kind: 'no_customer' }
  /** The cause already has its entry; nothing was posted. */
  | { kind: 'exists'; entry: LoyaltyEntry };

/** Posts the entry and records loyaltylog.created. */
export const postEntry = async (tx: Kysely<unknown>, entry: NewEntry): Promise<PostResult> => {
  const result = await writeEntry(tx, entry);
  if (result.kind === 'posted') await recordEntryCreated(tx, entry.restuid, result.entry, entry.restaurant);
  return result;
};

/**
 * Posts the entry without its event, for a use case whose own event comes first. The caller must call
 * `recordEntryCreated`.
 */
export const writeEntry = async (tx: Kysely<unknown>, entry: NewEntry): Promise<PostResult> => {
  const restaurant = entry.restaurant ?? (await findRestaurant(tx, entry.restuid));
  const customer = await lockCustomer(tx, entry.restuid, { uid: entry.customerUid });
  if (restaurant === undefined || customer === undefined) return { kind: 'no_customer' };
  const cause = causeOf(entry);
  const earlier = cause === null ? undefined : await findEntryByCause(tx, entry.restuid, cause, entry.type);
  if (earlier !== undefined) return { kind: 'exists', entry: earlier };
  // An order must be closed or cancelled whatever the balance is, so points that do not fit are left out, not refused.
  const diffPoints =
    entry.diffOp === 'add' ? Math.min(entry.diffPoints, balanceMax - customer.loyalty_points) : entry.diffPoints;
  if (diffPoints <= 0) return { kind: 'full' };
  const balance = customer.loyalty_points + (entry.diffOp === 'add' ? diffPoints : -diffPoints);
  if (balance < 0) return { kind: 'insufficient', balance: customer.loyalty_points };
  const posted: LoyaltyEntry = {
    uid: newId('loy', entry.now.getTime()),
    customerUid: entry.customerUid,
    seq: customer.loyalty_seq + 1,
    loyaltyPoints: balance,
    type: entry.type,
    inputType: entry.inputType,
    diffOp: entry.diffOp,
    diffPoints,
    diffValue: entry.diffValue ?? null,
    diffLeftValue: valueOfPoints(diffPoints, restaurant),
    loyaltyLeftValue: valueOfPoints(balance, restaurant),
    currency: restaurant.currency,
    created: entry.now,
    notes: entry.notes ?? null,
    orderUid: entry.orderUid ?? null,
    reversedUid: entry.reversedUid ?? null,
    couponCode: entry.couponCode ?? null,
    usedCouponCode: entry.usedCouponCode ?? null,
    subrestaurantUid: entry.subrestaurantUid ?? null,
  };
  await insertEntry(tx, entry.restuid, posted, cause);
  return { kind: 'posted', entry: posted };
};

/** The cause that can have at most one entry (interface 10.4, last column). */
const causeOf = (entry: NewEntry): string | null => {
  switch (entry.type) {
    case 'order':
    case 'redemption':
      return entry.orderUid ?? null;
    case 'order_cancelled':
      return entry.reversedUid ?? null;
    case 'signup':
      return entry.customerUid;
    case 'coupon':
      return entry.couponCode ?? null;
    case 'manual':
      return entry.formId ?? null;
  }
};

const valueDigits = 4;

/** Points in hundredths → money in hundredths; null when points have no value in this restaurant. */
const valueOfPoints = (points: number, restaurant: Pick<Restaurant, 'pointValue' | 'currency'>): number | null =>
  restaurant.pointValue === null
    ? null
    : divideHalfUp(
        BigInt(points) * toScaled(restaurant.pointValue, valueDigits),
        10n ** BigInt(valueDigits),
        restaurant.currency,
      );

/** Money in hundredths → points in hundredths, by the point value. */
export const pointsOfValue = (value: number, pointValue: number): number =>
  divideHalfUp(BigInt(value) * 10n ** BigInt(valueDigits), toScaled(pointValue, valueDigits));

export const recordEntryCreated = async (
  tx: Kysely<unknown>,
  restuid: string,
  entry: LoyaltyEntry,
  known?: Restaurant,
): Promise<void> => {
  await recordEvent(tx, {
    tenant: restuid,
    kind: 'loyaltylog',
    event: 'loyaltylog.created',
    entity: entry.customerUid,
    seq: entry.seq,
    created: entry.created,
    object: 'loyaltylog',
    value: async () => {
      const restaurant = known ?? (await findRestaurant(tx, restuid));
      const shown = await findEntry(tx, restuid, entry.uid);
      if (restaurant === undefined || shown === undefined)
        throw new Error('the posted ledger entry was not found in its own transaction');
      return loyaltyView(shown, restaurant);
    },
  });
};

/** loyaltylog/create (interface 11.4): a manual ledger entry. */
import type { Kysely } from 'kysely';
import type { CustomerAddress } from '../customers/customer.ts';
import { lockCustomer } from '../customers/customer-store.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { findLocation } from '../restaurants/restaurant-store.ts';
import { balanceMax, pointsOfValue, postEntry } from './ledger.ts';
import type { LoyaltyEntry } from './loyalty-entry.ts';

/** Hundredths. */
type Amount = { points: number } | { value: number };

export type Movement = {
  customer: CustomerAddress;
  diffOp: 'add' | 'subtract';
  amount: Amount;
  notes: string | null;
  subrestaurantUid: string | null;
  /** See NewEntry. The caller has locked the customer and seen that this form has made no entry. */
  formId?: string | undefined;
};

export type MovementResult =
  | { kind: 'posted'; entry: LoyaltyEntry }
  | { kind: 'insufficient'; balance: number }
  | { kind: 'no_customer' }
  | { kind: 'no_location' }
  /** Points have no value in this restaurant. */
  | { kind: 'no_value' }
  /** The value is less than the smallest part of a point. */
  | { kind: 'too_small' }
  | { kind: 'above_max' };

export const createEntry = async (
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  movement: Movement,
  readNow: () => Date,
): Promise<MovementResult> => {
  const { amount, diffOp, subrestaurantUid } = movement;
  if ('value' in amount && restaurant.pointValue === null) return { kind: 'no_value' };
  const diffPoints = 'points' in amount ? amount.points : pointsOfValue(amount.value, restaurant.pointValue ?? 1);
  if (diffPoints === 0) return { kind: 'too_small' };
  const customer = await lockCustomer(tx, restaurant.uid, movement.customer);
  if (customer === undefined) return { kind: 'no_customer' };
  if (subrestaurantUid !== null && (await findLocation(tx, restaurant.uid, subrestaurantUid)) === undefined)
    return { kind: 'no_location' };
  if (diffOp === 'add' && customer.loyalty_points + diffPoints > balanceMax) return { kind: 'above_max' };
  const result = await postEntry(tx, {
    restuid: restaurant.uid,
    customerUid: customer.uid,
    type: 'manual',
    inputType: 'points' in amount ? 'points' : 'value',
    diffOp,
    diffPoints,
    diffValue: 'value' in amount ? amount.value : null,
    notes: movement.notes,
    subrestaurantUid,
    formId: movement.formId ?? null,
    // After the wait for the customer, so that the entries of a ledger are in the same sequence by time and by seq.
    now: readNow(),
  });
  // No call and no form has made this entry before; and what does not fit was refused above.
  if (result.kind === 'exists' || result.kind === 'full')
    throw new Error(`posting a manual ledger entry failed: ${result.kind}`);
  return result;
};

/**
 * An entry of a customer's ledger (interface 10.4). It is never changed or deleted. Amounts and points are hundredths.
 */

export const entryTypes = ['order', 'order_cancelled', 'redemption', 'signup', 'coupon', 'manual'] as const;

export type EntryType = (typeof entryTypes)[number];

export type LoyaltyEntry = {
  uid: string;
  customerUid: string;
  /** Per customer from 1, without gaps. */
  seq: number;
  /** Balance after this entry. */
  loyaltyPoints: number;
  type: EntryType;
  inputType: 'points' | 'value';
  diffOp: 'add' | 'subtract';
  diffPoints: number;
  /** Base of the order, or the value in the request. */
  diffValue: number | null;
  /** diffPoints and loyaltyPoints in money, at the point value at that moment. */
  diffLeftValue: number | null;
  loyaltyLeftValue: number | null;
  currency: string;
  created: Date;
  notes: string | null;
  orderUid: string | null;
  reversedUid: string | null;
  couponCode: string | null;
  usedCouponCode: string | null;
  subrestaurantUid: string | null;
};

/** The entry with its customer's current data; all null once the record was removed. */
export type ShownEntry = LoyaltyEntry & {
  firstName: string | null;
  lastName: string | null;
  phone: string | null;
  email: string | null;
  signupUid: string | null;
};

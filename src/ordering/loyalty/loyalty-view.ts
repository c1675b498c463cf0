/** A loyalty entry in answers and events (interface 10.4). */
import { z } from 'zod';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { amountOrNull, count, datePair, points, textOrNull } from '../values/described-members.ts';
import { toWire, toWireOrNull } from '../values/money.ts';
import { isoDate, legacyDate } from '../values/venue-time.ts';
import { entryTypes, type ShownEntry } from './loyalty-entry.ts';

const once = 'once the customer was removed, and when there is none';

const clientAnswer = z
  .object({
    uid: z.string().describe('The customer; remains when the customer is removed'),
    first_name: textOrNull('First name', once),
    last_name: textOrNull('Last name', once),
    phone: textOrNull('Phone number', once),
    email: textOrNull('Email address', once),
  })
  .meta({ id: 'LoyaltyCustomer', description: 'The customer of an entry, with the data at the time of the answer' });

const worthless = 'when points had no value in the restaurant';

export const loyaltyAnswer = z
  .object({
    uid: z.string().describe('Identifies the entry; unique in the installation'),
    seq: count('Number of the entry in the ledger of its customer, from 1 without gaps', 1),
    client: clientAnswer,
    signup_uid: textOrNull('Id of the registration of the customer', 'while the customer is not registered'),
    loyalty_points: points('Balance of the customer after this entry'),
    type: z
      .enum(entryTypes)
      .describe(
        'Cause. `order`: earned by a closed order; `order_cancelled`: reverses an entry of an order that was cancelled or ' +
          'timed out; `redemption`: spent on an order; `signup`: earned by a registration; `coupon`: spent on a coupon; ' +
          '`manual`: moved by hand',
      ),
    input_type: z
      .enum(['points', 'value'])
      .describe('`value`: the points were derived from the money in `diff_value`; `points`: they were given'),
    diff_op: z.enum(['add', 'subtract']).describe('Whether `diff_points` were added to the balance or subtracted'),
    diff_points: points('Points that were moved, above 0'),
    diff_value: amountOrNull(
      'Money from which the points were derived: lines of the order minus discounts, or the value given',
      'with `input_type` `points`',
    ),
    diff_left_value: amountOrNull('Value of `diff_points` when the entry was made', worthless),
    loyalty_left_value: amountOrNull('Value of `loyalty_points` when the entry was made', worthless),
    currency: z.string().describe('Currency of the amounts (ISO 4217)'),
    ...datePair('created', 'When the entry was made'),
    notes: textOrNull('Note that was given with a manual entry'),
    order_uid: textOrNull('Order that moved the points', 'when no order did'),
    loyaltylog_uid: textOrNull('Entry that this one reverses', 'unless `type` is `order_cancelled`'),
    coupon_code: textOrNull('Coupon that was bought', 'unless `type` is `coupon`'),
    used_coupon_code: textOrNull('Coupon that the closed order had used', 'unless `type` is `order`, and without one'),
    subrestaurant_uid: textOrNull('Location of the order, or the one given with a manual entry'),
  })
  .meta({ id: 'LoyaltyEntry', description: 'A movement of points in the ledger of a customer. It never changes' });

export type LoyaltyView = z.infer<typeof loyaltyAnswer>;

export const loyaltyView = (
  entry: ShownEntry,
  restaurant: Pick<Restaurant, 'timeZone' | 'apiTimeZone'>,
): LoyaltyView => ({
  uid: entry.uid,
  seq: entry.seq,
  client: {
    uid: entry.customerUid,
    first_name: entry.firstName,
    last_name: entry.lastName,
    phone: entry.phone,
    email: entry.email,
  },
  signup_uid: entry.signupUid,
  loyalty_points: toWire(entry.loyaltyPoints),
  type: entry.type,
  input_type: entry.inputType,
  diff_op: entry.diffOp,
  diff_points: toWire(entry.diffPoints),
  diff_value: toWireOrNull(entry.diffValue),
  diff_left_value: toWireOrNull(entry.diffLeftValue),
  loyalty_left_value: toWireOrNull(entry.loyaltyLeftValue),
  currency: entry.currency,
  created: legacyDate(entry.created, restaurant.apiTimeZone) ?? '',
  created_iso: isoDate(entry.created, restaurant.timeZone) ?? '',
  notes: entry.notes,
  order_uid: entry.orderUid,
  loyaltylog_uid: entry.reversedUid,
  coupon_code: entry.couponCode,
  used_coupon_code: entry.usedCouponCode,
  subrestaurant_uid: entry.subrestaurantUid,
});

/** A loyalty entry in answers and events (interface 10.4). */
import { z } from 'zod';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { toWire, toWireOrNull } from '../values/money.ts';
import { isoDate, legacyDate } from '../values/venue-time.ts';
import { entryTypes, type ShownEntry } from './loyalty-entry.ts';

const text = z.string().nullable();

export const loyaltyAnswer = z.object({
  uid: z.string(),
  seq: z.int(),
  client: z.object({ uid: z.string(), first_name: text, last_name: text, phone: text, email: text }),
  signup_uid: text,
  loyalty_points: z.number(),
  type: z.enum(entryTypes),
  input_type: z.enum(['points', 'value']),
  diff_op: z.enum(['add', 'subtract']),
  diff_points: z.number(),
  diff_value: z.number().nullable(),
  diff_left_value: z.number().nullable(),
  loyalty_left_value: z.number().nullable(),
  currency: z.string(),
  created: z.string(),
  created_iso: z.string(),
  notes: text,
  order_uid: text,
  loyaltylog_uid: text,
  coupon_code: text,
  used_coupon_code: text,
  subrestaurant_uid: text,
});

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

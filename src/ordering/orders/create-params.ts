/**
 * Parameters of order/create (interface 11.1) as one schema. The use case checks what depends on menu, place and time.
 */
import { z } from 'zod';
import {
  dateTime,
  decimal,
  email,
  integer,
  list,
  money,
  oneOf,
  optional,
  text,
  uid,
} from '#src/platform/http/values.ts';
import { dmethod } from '../restaurants/dmethod.ts';

/** Absent, null and blank all mean "no value": text that is empty after trimming becomes null (interface 2). */
const orNull = <T>(type: z.ZodType<T>): z.ZodType<T | null> =>
  z
    .preprocess((input) => (isBlank(input) ? undefined : input), optional(type))
    .transform((value) => value ?? null) as unknown as z.ZodType<T | null>;

const isBlank = (input: unknown): boolean => typeof input === 'string' && input.trim() === '';

const country = text({ min: 2, max: 2, pattern: /^[A-Za-z]{2}$/, format: 'a country of two letters' });
const language = text({ min: 2, max: 2, pattern: /^[A-Za-z]{2}$/, format: 'a language of two letters' });

const address = z.object({
  place_id: orNull(text({ max: 256 })),
  street: orNull(text({ max: 200 })),
  number: orNull(text({ max: 20 })),
  city: orNull(text({ max: 100 })),
  province: orNull(text({ max: 100 })),
  zip: orNull(text({ max: 20 })),
  country: orNull(country),
  lat: orNull(decimal({ min: -90, max: 90, decimals: 6 })),
  lng: orNull(decimal({ min: -180, max: 180, decimals: 6 })),
  doorbell: orNull(text({ max: 100 })),
  floor: orNull(text({ max: 100 })),
  quarter: orNull(text({ max: 100 })),
});

const line = z.object({
  product: z.object({ uid: uid() }),
  quantity: integer({ min: 1, max: 999 }),
  notes: orNull(text({ max: 500 })),
  options: optional(
    list(
      z.object({
        uid: uid(),
        values: list(
          z.object({ uid: uid(), quantity: optional(integer({ min: 1, max: 99 })).transform((value) => value ?? 1) }),
          { min: 1, max: 50 },
        ),
      }),
      { max: 50 },
    ),
  ).transform((options) => options ?? []),
});

const members = z.object({
  client: z.object({
    first_name: text({ max: 100 }),
    last_name: orNull(text({ max: 100 })),
    email: orNull(email()),
    phone: orNull(text({ max: 32 })),
  }),
  dmethod,
  payment_method: oneOf(['cash', 'invoice', 'external']),
  payment_method_sub: orNull(text()),
  details: list(line, { min: 1, max: 200 }),
  subrestaurant_uid: orNull(uid()),
  pickup: orNull(z.object({ date: dateTime() })),
  delivery: orNull(
    z.object({
      date: dateTime(),
      address: orNull(address.transform((value) => ({ ...value, kms: null }))),
      deliverypoint: orNull(z.object({ uid: uid() })),
    }),
  ),
  table: orNull(text({ max: 32 })),
  coupon: orNull(z.object({ code: text({ max: 64 }) })),
  redeem_points: orNull(money({ max: 10_000_000, above: true })),
  language: orNull(language),
  notes: orNull(text({ max: 1000 })),
  creator: optional(oneOf(['customer', 'restaurant'])).transform((value) => value ?? 'customer'),
  external_id: orNull(text({ max: 100 })),
});

/** The parsed members: null where none was given, any value where a member has faults of its own. */
type Sent = { [Name in keyof z.infer<typeof members>]?: unknown };

const lacks = (value: unknown, name: string): boolean =>
  typeof value === 'object' && value !== null && (value as Record<string, unknown>)[name] === null;

const cashSubs = ['cash', 'pos', 'voucher', 'other'];

/** Members that another member requires, as [pointer, code, message]. */
const dependent = (sent: Sent): [string[], 'REQUIRED' | 'ENUM', string][] => {
  const { client, delivery, dmethod: method } = sent;
  const isUnreachable = sent.creator !== 'restaurant' && lacks(client, 'email') && lacks(client, 'phone');
  const missing: [boolean, string[]][] = [
    [sent.payment_method === 'cash' && sent.payment_method_sub === null, ['payment_method_sub']],
    [method === '0' && sent.pickup === null, ['pickup', 'date']],
    [(method === '1' || method === '20') && delivery === null, ['delivery', 'date']],
    [method === '1' && (delivery === null || lacks(delivery, 'address')), ['delivery', 'address']],
    [method === '20' && (delivery === null || lacks(delivery, 'deliverypoint')), ['delivery', 'deliverypoint', 'uid']],
    [method === '0t' && sent.table === null, ['table']],
  ];
  const found = missing
    .filter(([isMissing]) => isMissing)
    .map(([, path]): [string[], 'REQUIRED' | 'ENUM', string] => [path, 'REQUIRED', 'is required']);
  if (isUnreachable)
    for (const name of ['email', 'phone'])
      found.push([['client', name], 'REQUIRED', 'client.email or client.phone is required']);
  const sub = sent.payment_method_sub;
  if (sent.payment_method === 'cash' && typeof sub === 'string' && !cashSubs.includes(sub)) {
    found.push([['payment_method_sub'], 'ENUM', `must be one of ${cashSubs.join(', ')}`]);
  }
  return found;
};

export const createParams = members.superRefine(
  (sent, ctx) => {
    for (const [path, code, message] of dependent(sent))
      ctx.addIssue({ code: 'custom', path, message, params: { code } });
  },
  // Runs even when other members have faults, so that one answer has all faults.
  { when: () => true },
);

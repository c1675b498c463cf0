/**
 * Parameters of order/create (interface 11.1) as one schema. The use case checks what depends on menu, place and time.
 */
import { z } from 'zod';
import {
  dateTime,
  decimal,
  decimalsRule,
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

const cashSubs = ['cash', 'pos', 'voucher', 'other'];

const part = (meaning: string, max: number) => orNull(text({ max })).describe(meaning);

const degrees = (meaning: string, max: 90 | 180) =>
  orNull(decimal({ min: -max, max, decimals: 6 })).describe(`${meaning} in degrees. ${decimalsRule(6)}`);

const address = z
  .object({
    place_id: part('Place at the geocoder of the operator, which completes the members that are not given', 256),
    street: part('Street', 200),
    number: part('Number of the house', 20),
    city: part('City', 100),
    province: part('Province', 100),
    zip: part('Postal code', 20),
    country: orNull(country).describe('Country in two letters'),
    lat: degrees('Latitude', 90),
    lng: degrees('Longitude', 180),
    doorbell: part('Name at the doorbell', 100),
    floor: part('Floor, as text', 100),
    quarter: part('Part of the city', 100),
  })
  .meta({
    id: 'NewDeliveryAddress',
    description:
      'Address of a home delivery. With what `place_id` adds it needs street and city, or lat and lng, and must lie in a ' +
      'zone of the location, if there are zones',
  });

const value = z
  .object({
    uid: uid().describe('Value of the option in the menu'),
    quantity: optional(integer({ min: 1, max: 99 }))
      .transform((given) => given ?? 1)
      .meta({ description: 'How many times the value is chosen for one product', 'x-default': 1 }),
  })
  .meta({ id: 'NewOrderOptionValue', description: 'A chosen value of an option' });

const option = z
  .object({
    uid: uid().describe('Option of the product in the menu'),
    values: list(value, { min: 1, max: 50 }).describe('The chosen values, each of them once'),
  })
  .meta({ id: 'NewOrderOption', description: 'An option of the product, with the chosen values' });

const line = z
  .object({
    product: z.object({ uid: uid().describe('Product in the menu') }).describe('The ordered product'),
    quantity: integer({ min: 1, max: 999 }).describe('Number of products of this line'),
    notes: part('Note on this line', 500),
    options: optional(list(option, { max: 50 }))
      .transform((options) => options ?? [])
      .describe('The options of which a value is chosen; absent or null: none'),
  })
  .meta({ id: 'NewOrderLine', description: 'A line of a new order. Its prices are those of the menu' });

const client = z
  .object({
    first_name: text({ max: 100 }).describe('First name'),
    last_name: part('Last name', 100),
    email: orNull(email()).describe('Email address; this or `phone` is required unless `creator` is `restaurant`'),
    phone: part('Phone number; this or `email` is required unless `creator` is `restaurant`', 32),
  })
  .meta({
    id: 'NewOrderCustomer',
    description:
      'The customer. The record is found by the email, otherwise by the digits of the phone; if there is none, it is ' +
      'created. An existing record is not changed',
  });

const fulfilment = (meaning: string) =>
  dateTime().describe(`${meaning}: from 5 minutes ago to 365 days ahead, at most 3 decimals in the seconds`);

const pickup = z.object({ date: fulfilment('When the order is to be picked up') });

const delivery = z
  .object({
    date: fulfilment('When the order is to be delivered'),
    address: orNull(address.transform((sent) => ({ ...sent, kms: null }))).describe(
      'Where a home delivery goes; required with dmethod `1`',
    ),
    deliverypoint: orNull(z.object({ uid: uid().describe('Pickup point of the location') })).describe(
      'Required with dmethod `20`',
    ),
  })
  .meta({ id: 'NewOrderDelivery', description: 'The delivery of a new order to an address or a pickup point' });

const members = z.object({
  client,
  dmethod,
  payment_method: oneOf(['cash', 'invoice', 'external']).describe(
    'How the order is paid: `cash` on receipt, `invoice` by invoice, `external` is settled elsewhere',
  ),
  payment_method_sub: orNull(text()).describe(
    `Means of payment, one of ${cashSubs.map((sub) => `\`${sub}\``).join(', ')}; required with \`cash\`, otherwise ignored`,
  ),
  details: list(line, { min: 1, max: 200 }).describe('The lines of the order'),
  subrestaurant_uid: orNull(uid()).describe('Location; required when the restaurant has several visible ones'),
  pickup: orNull(pickup).describe('Required with dmethod `0`; ignored with `1`, `20` and `0t`'),
  delivery: orNull(delivery).describe('Required with dmethod `1` and `20`; ignored with others'),
  table: part('Table; required with dmethod `0t`, ignored with others', 32),
  coupon: orNull(z.object({ code: text({ max: 64 }).describe('Code of the coupon; case is ignored') })).describe(
    'The coupon to use; the order takes one of its uses',
  ),
  redeem_points: orNull(money({ max: 10_000_000, above: true })).describe(
    `Points of the customer to spend; they need a customer and a point value. ${decimalsRule(2)}`,
  ),
  language: orNull(language).describe('Language in two letters; absent or null: that of the restaurant'),
  notes: part('Note on the whole order', 1000),
  creator: optional(oneOf(['customer', 'restaurant']))
    .transform((given) => given ?? 'customer')
    .meta({
      description: 'Side that makes the order. An order of the restaurant is confirmed at once',
      'x-default': 'customer',
    }),
  external_id: part(
    'Id of the sender, unique for this client and restaurant for ever. The same order again gets the first receipt; ' +
      'another order is refused with `CONFLICT`',
    100,
  ),
});

/** The parsed members: null where none was given, any value where a member has faults of its own. */
type Sent = { [Name in keyof z.infer<typeof members>]?: unknown };

const lacks = (value: unknown, name: string): boolean =>
  typeof value === 'object' && value !== null && (value as Record<string, unknown>)[name] === null;

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

export const createParams = members
  .superRefine(
    (sent, ctx) => {
      for (const [path, code, message] of dependent(sent))
        ctx.addIssue({ code: 'custom', path, message, params: { code } });
    },
    // Runs even when other members have faults, so that one answer has all faults.
    { when: () => true },
  )
  .meta({
    id: 'NewOrder',
    description:
      'An order to insert. Optional members may be absent or null; text that is empty after trimming is null',
  });

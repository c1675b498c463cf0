/** Parameters of the operations on customers (interface 11.2). */
import { z } from 'zod';
import { cursorParams } from '#src/platform/http/paging.ts';
import {
  clearable,
  email,
  flag,
  optional,
  readOnly,
  requireOneOf,
  requirePeriods,
  text,
  uid,
} from '#src/platform/http/values.ts';
import type { WritableMember } from '../customers/customer.ts';
import { writableMeanings } from '../customers/customer-schema.ts';
import { dayPeriod } from '../values/described-members.ts';

const member = (name: WritableMember, type: z.ZodType<string>) => clearable(type).describe(writableMeanings[name]);

const writable = {
  email: member('email', email()),
  first_name: member('first_name', text({ max: 200 })),
  last_name: member('last_name', text({ max: 200 })),
  phone: member('phone', text({ max: 32 })),
  address: member('address', text({ max: 200 })),
  number: member('number', text({ max: 20 })),
  city: member('city', text({ max: 200 })),
  province: member('province', text({ max: 200 })),
  zip: member('zip', text({ max: 20 })),
  country: member('country', text({ min: 2, max: 2, pattern: /^[A-Za-z]{2}$/, format: 'a country of two letters' })),
  code: member('code', text({ max: 64 })),
  subrestaurant_uid: member('subrestaurant_uid', text({ max: 64 })),
  signup_uid: member('signup_uid', text({ max: 64 })),
};

/** Set by the system, by statistics or by the ledger (interface 10.2, rows 1 and 3-6). */
const readOnlyMembers = [
  'added',
  'added_iso',
  'subrestaurant_code',
  'signedup',
  'signup_deleted',
  'signup_deleted_iso',
  'devices_unregistered',
  'devices_unregistered_iso',
  'orders_count',
  'pickup_orders_count',
  'delivery_orders_count',
  'offline_orders_count',
  'first_order',
  'first_order_iso',
  'last_order',
  'last_order_iso',
  'last_offline_order',
  'last_offline_order_iso',
  'orders_total',
  'loyalty_points',
  'loyalty_seq',
] as const;

const refused = Object.fromEntries(readOnlyMembers.map((name) => [name, readOnly()]));

const address = z.object({
  uid: optional(uid()).describe('The customer; this or `email` is required'),
  email: optional(email()).describe(
    'Email address of the customer, compared without case. Together with `uid` both must name the same customer',
  ),
});

export const readParams = requireOneOf(address, ['uid', 'email']);

export const removeParams = readParams.meta({ id: 'CustomerRemoval', description: 'The customer to erase' });

export const createParams = requireOneOf(z.object({ ...writable, uid: readOnly(), ...refused }), [
  'email',
  'phone',
]).meta({
  id: 'NewCustomer',
  description: 'A customer to add. What is absent or null stays empty; `email` or `phone` is required',
});

export const updateParams = z.object({ uid: uid().describe('The customer to change'), ...writable, ...refused }).meta({
  id: 'CustomerChange',
  description:
    'What to change. Absent members stay as they are; null or an empty text clears one. `email` and `phone` may not both ' +
    'be empty afterwards',
});

export const listParams = requirePeriods(
  z.object({
    ...cursorParams,
    ...dayPeriod('added', 'Only customers added'),
    ...dayPeriod('first_order', 'Only customers whose first counted order was received'),
    ...dayPeriod('last_order', 'Only customers whose last counted order was received'),
    ...dayPeriod('devices_unregistered', 'Only customers who uninstalled the app of the restaurant last'),
    signedup: optional(flag()).describe('1: only customers with a `signup_uid`; 0: only customers without one'),
    subrestaurant_uid: optional(text({ max: 64 })).describe('Only customers of this location'),
    code: optional(text({ max: 64 })).describe('Only the customer with exactly this code'),
    q: optional(text({ min: 2, max: 100 })).describe(
      'Start of the first name, last name, email or phone; case is ignored',
    ),
  }),
);

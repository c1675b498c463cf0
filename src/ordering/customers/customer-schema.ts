/** The schema of a customer in answers and events (interface 10.2), and the meaning of the members that callers set. */
import { z } from 'zod';
import { amount, count, datePair, datePairOrNull, points, textOrNull } from '../values/described-members.ts';
import type { WritableMember } from './customer.ts';

/** For requests; answers add what null means. */
export const writableMeanings: Readonly<Record<WritableMember, string>> = {
  email: 'Email address, unique in the restaurant; kept as sent and compared without case',
  first_name: 'First name',
  last_name: 'Last name',
  phone: 'Phone number, kept as sent; customers may share one',
  address: 'Street of the address',
  number: 'Street number of the address',
  city: 'City of the address',
  province: 'Province of the address',
  zip: 'Postal code of the address',
  country: 'Country of the address in two letters',
  code: 'Code of the customer, unique in the restaurant',
  subrestaurant_uid: 'Location of the customer',
  signup_uid:
    'Id of the registration of the customer. Set for the first time, it earns the signup points of the restaurant',
};

const ofCaller = (name: WritableMember) => textOrNull(writableMeanings[name]);

const address = {
  address: ofCaller('address'),
  number: ofCaller('number'),
  city: ofCaller('city'),
  province: ofCaller('province'),
  zip: ofCaller('zip'),
  country: ofCaller('country'),
};

const withoutOrder = 'without such an order';

/** Over the orders that count (interface 10.2). */
const statistics = {
  orders_count: count('Counted orders: all but those that timed out or were cancelled'),
  pickup_orders_count: count('Counted orders with dmethod `0`'),
  delivery_orders_count: count('Counted orders with dmethod `1`'),
  offline_orders_count: count('Counted orders that the restaurant made'),
  ...datePairOrNull('first_order', 'When the first counted order was received', withoutOrder),
  ...datePairOrNull('last_order', 'When the last counted order was received', withoutOrder),
  ...datePairOrNull(
    'last_offline_order',
    'When the last counted order that the restaurant made was received',
    withoutOrder,
  ),
  orders_total: amount('Sum of `total` over the counted orders'),
};

export const customerAnswer = z
  .object({
    uid: z.string().describe('Identifies the customer; unique in the installation'),
    ...datePair('added', 'When the record was created'),
    email: ofCaller('email'),
    first_name: ofCaller('first_name'),
    last_name: ofCaller('last_name'),
    phone: ofCaller('phone'),
    ...address,
    code: ofCaller('code'),
    subrestaurant_uid: ofCaller('subrestaurant_uid'),
    subrestaurant_code: textOrNull('Code of that location', 'without a location and when it has no code'),
    signup_uid: textOrNull('Id of the registration of the customer', 'while the customer is not registered'),
    signedup: z.boolean().describe('True while `signup_uid` is set'),
    ...datePairOrNull('signup_deleted', 'When `signup_uid` was cleared', 'while it is set and if it never was'),
    ...datePairOrNull('devices_unregistered', 'When the app of the restaurant was uninstalled last', 'if it never was'),
    ...statistics,
    loyalty_points: points('Balance after the loyalty entry `loyalty_seq`'),
    loyalty_seq: count('`seq` of the latest loyalty entry of the customer; 0 without any'),
  })
  .meta({
    id: 'Customer',
    description: 'A customer of the restaurant, with the statistics of the orders and the balance of points',
  });

export type CustomerAnswer = z.infer<typeof customerAnswer>;

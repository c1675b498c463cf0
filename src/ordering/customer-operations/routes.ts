/** Operations on customers (interface 11.2). */
import { z } from 'zod';
import { Fault, validationFault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import {
  clearable,
  date,
  email,
  flag,
  optional,
  readOnly,
  requireOneOf,
  requirePeriods,
  text,
  uid,
} from '#src/platform/http/values.ts';
import { findCustomer } from '../customers/customer-store.ts';
import { customerAnswer, customerView } from '../customers/customer-view.ts';
import { type CustomerFilter, listCustomers, type Period } from '../customers/list-store.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { endOfDay, startOfDay } from '../values/venue-time.ts';
import { createCustomer, type SaveRefusal } from './create-customer.ts';
import { removeCustomer } from './remove-customer.ts';
import { updateCustomer } from './update-customer.ts';

const writable = {
  email: clearable(email()),
  first_name: clearable(text({ max: 200 })),
  last_name: clearable(text({ max: 200 })),
  phone: clearable(text({ max: 32 })),
  address: clearable(text({ max: 200 })),
  number: clearable(text({ max: 20 })),
  city: clearable(text({ max: 200 })),
  province: clearable(text({ max: 200 })),
  zip: clearable(text({ max: 20 })),
  country: clearable(text({ min: 2, max: 2, pattern: /^[A-Za-z]{2}$/, format: 'a country of two letters' })),
  code: clearable(text({ max: 64 })),
  subrestaurant_uid: clearable(text({ max: 64 })),
  signup_uid: clearable(text({ max: 64 })),
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

const address = requireOneOf(z.object({ uid: optional(uid()), email: optional(email()) }), ['uid', 'email']);

const one = z.object({ customer: customerAnswer });

const filters = {
  added_from: optional(date()),
  added_to: optional(date()),
  first_order_from: optional(date()),
  first_order_to: optional(date()),
  last_order_from: optional(date()),
  last_order_to: optional(date()),
  devices_unregistered_from: optional(date()),
  devices_unregistered_to: optional(date()),
  signedup: optional(flag()),
  subrestaurant_uid: optional(text({ max: 64 })),
  code: optional(text({ max: 64 })),
  q: optional(text({ min: 2, max: 100 })),
};

const listParams = requirePeriods(z.object({ ...cursorParams, ...filters }));

export const customerOperations = (deps: { cursors: Cursors }): Operation[] => [
  listOperation(deps.cursors),
  readOperation,
  createOperation,
  updateOperation,
  removeOperation,
];

const readOperation = operation({
  method: 'GET',
  path: '/customerstats/customer',
  summary: 'One customer, by uid or email',
  errors: ['CUSTOMER_NOT_FOUND'],
  params: address,
  answer: one,
  handle: async ({ db, restuid, params }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const customer = await findCustomer(db, restuid, params);
    if (customer === undefined) throw customerNotFound();
    return { body: { customer: customerView(customer, restaurant) } };
  },
});

const eventsOfSave = ['customer.changed', 'loyaltylog.created'];

const createOperation = operation({
  method: 'POST',
  path: '/customer/create',
  summary: 'Adds a customer',
  errors: ['CONFLICT', 'SUBRESTAURANT_NOT_FOUND'],
  emits: eventsOfSave,
  params: requireOneOf(z.object({ ...writable, uid: readOnly(), ...refused }), ['email', 'phone']),
  answer: one,
  handle: async ({ db, restuid, params, now }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const result = await createCustomer(db, restuid, params, now);
    if (result.kind !== 'created') throw refusalOf(result);
    return { body: { customer: customerView(result.customer, restaurant) } };
  },
});

const updateOperation = operation({
  method: 'POST',
  path: '/customer/update',
  summary: 'Changes the members that are named',
  errors: ['CUSTOMER_NOT_FOUND', 'CONFLICT', 'SUBRESTAURANT_NOT_FOUND'],
  emits: eventsOfSave,
  params: z.object({ uid: uid(), ...writable, ...refused }),
  answer: one,
  handle: async ({ db, restuid, params, now }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const { uid: customerUid, ...named } = params;
    const result = await updateCustomer(db, restuid, customerUid, named, now);
    switch (result.kind) {
      case 'updated':
      case 'unchanged':
        return { body: { customer: customerView(result.customer, restaurant) } };
      case 'not_found':
        throw customerNotFound();
      case 'unreachable':
        throw unreachable();
      default:
        throw refusalOf(result);
    }
  },
});

const removeOperation = operation({
  method: 'POST',
  path: '/customer/remove',
  summary: 'Erases a customer; orders and ledger keep the uid',
  errors: ['CUSTOMER_NOT_FOUND'],
  emits: ['customer.changed'],
  params: address,
  answer: z.object({}),
  handle: async ({ db, restuid, params, now }) => {
    if (!(await removeCustomer(db, restuid, params, now))) throw customerNotFound();
    return { body: {} };
  },
});

const listOperation = (cursors: Cursors): Operation =>
  operation({
    method: 'GET',
    path: '/customerstats/customers',
    summary: 'Customers, newest first',
    errors: [],
    params: listParams,
    answer: z.object({ customers: z.array(customerAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { page: _page, pagesize: _pagesize, cursor: _cursor, ...named } = params;
      const scope = { list: 'customers by key', restuid, ...named };
      const query = cursors.read<Key>(params, scope);
      const listed = await listCustomers(db, restuid, filterOf(named, restaurant), query);
      return {
        body: {
          customers: listed.rows.map((customer) => customerView(customer, restaurant)),
          ...cursors.answer(query, scope, listed),
        },
      };
    },
  });

type Filters = Omit<z.infer<typeof listParams>, 'page' | 'pagesize' | 'cursor'>;

/** Day filters mean days in the API time zone. */
const filterOf = (named: Filters, { apiTimeZone }: Restaurant): CustomerFilter => {
  const period = (from: string | undefined, to: string | undefined): Period => ({
    from: from === undefined ? undefined : startOfDay(from, apiTimeZone),
    before: to === undefined ? undefined : endOfDay(to, apiTimeZone),
  });
  return {
    added: period(named.added_from, named.added_to),
    firstOrder: period(named.first_order_from, named.first_order_to),
    lastOrder: period(named.last_order_from, named.last_order_to),
    devicesUnregistered: period(named.devices_unregistered_from, named.devices_unregistered_to),
    signedup: named.signedup,
    subrestaurantUid: named.subrestaurant_uid,
    code: named.code,
    start: named.q,
  };
};

const customerNotFound = (): Fault => new Fault('CUSTOMER_NOT_FOUND', 'No such customer');

const unreachable = (): Fault =>
  validationFault(
    ['email', 'phone'].map((pointer) => ({ pointer, code: 'REQUIRED', message: 'email or phone must keep a value' })),
  );

const refusalOf = (refusal: SaveRefusal): Fault => {
  if (refusal.kind === 'taken') return new Fault('CONFLICT', `Another customer has this ${refusal.member}`);
  const message = 'No such location';
  return new Fault('SUBRESTAURANT_NOT_FOUND', message, {
    errors: [{ pointer: 'subrestaurant_uid', code: 'SUBRESTAURANT_NOT_FOUND', message }],
  });
};

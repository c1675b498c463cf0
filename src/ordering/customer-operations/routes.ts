/** Operations on customers (interface 11.2). */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Fault, validationFault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, pageAnswer } from '#src/platform/http/paging.ts';
import { customerAnswer } from '../customers/customer-schema.ts';
import { findCustomer } from '../customers/customer-store.ts';
import { customerView } from '../customers/customer-view.ts';
import { type CustomerFilter, listCustomers, type Period } from '../customers/list-store.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { endOfDay, startOfDay } from '../values/venue-time.ts';
import { createCustomer, type SaveRefusal } from './create-customer.ts';
import { createParams, listParams, readParams, removeParams, updateParams } from './customer-params.ts';
import { removeCustomer } from './remove-customer.ts';
import { updateCustomer } from './update-customer.ts';

const one = z.object({ customer: customerAnswer });

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
  params: readParams,
  answer: one,
  handle: async ({ db, restuid, params }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const customer = await findCustomer(db, restuid, params);
    if (customer === undefined) throw customerNotFound();
    return { body: { customer: customerView(customer, restaurant) } };
  },
});

/** The stored answer has the whole record, and a removal erases it. */
const refuseRemoved = async (
  { db, restuid }: { db: Kysely<unknown>; restuid: string },
  { customer: { uid } }: z.infer<typeof one>,
): Promise<void> => {
  if ((await findCustomer(db, restuid, { uid })) === undefined) throw customerNotFound();
};

const eventsOfSave = ['customer.changed', 'loyaltylog.created'];

const createOperation = operation({
  method: 'POST',
  path: '/customer/create',
  summary: 'Adds a customer',
  addsOnly: true,
  errors: ['CUSTOMER_NOT_FOUND', 'CONFLICT', 'SUBRESTAURANT_NOT_FOUND'],
  emits: eventsOfSave,
  params: createParams,
  answer: one,
  checkReplay: refuseRemoved,
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
  params: updateParams,
  answer: one,
  checkReplay: refuseRemoved,
  handle: async ({ db, restuid, params, readNow }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const { uid: customerUid, ...named } = params;
    const result = await updateCustomer(db, restuid, customerUid, named, readNow);
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
  params: removeParams,
  answer: z.object({}),
  handle: async ({ db, restuid, params, readNow }) => {
    if (!(await removeCustomer(db, restuid, params, readNow))) throw customerNotFound();
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
    answer: z.object({ customers: z.array(customerAnswer).describe('Newest first'), ...pageAnswer }),
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

/** Operations on the loyalty log (interface 11.4). */
import { z } from 'zod';
import { Fault, validationFault } from '#src/contract/fault.ts';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import {
  decimalsRule,
  email,
  looseText,
  money,
  oneOf,
  optional,
  requireOneOf,
  requirePeriods,
  text,
  uid,
  withDefault,
} from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { dayPeriod } from '../values/described-members.ts';
import { isExpressible, toWire } from '../values/money.ts';
import { endOfDay, startOfDay } from '../values/venue-time.ts';
import { createEntry, type MovementResult } from './create-entry.ts';
import { findEntry } from './ledger-store.ts';
import { type EntryFilter, listEntries } from './list-store.ts';
import { entryTypes } from './loyalty-entry.ts';
import { loyaltyAnswer, loyaltyView } from './loyalty-view.ts';

const one = z.object({ loyaltylog: loyaltyAnswer });

const listParams = requirePeriods(
  z.object({
    ...cursorParams,
    client_uid: optional(text({ max: 64 })).describe('Only entries of this customer'),
    client_email: optional(text({ max: 254 })).describe('Only entries of the customer with this email address'),
    order_uid: optional(text({ max: 64 })).describe('Only entries of this order'),
    type: optional(oneOf(entryTypes)).describe('Only entries of this type'),
    ...dayPeriod('date', 'Only entries made'),
  }),
);

const diff = (meaning: string) =>
  optional(money({ max: 1_000_000, above: true })).describe(`${meaning}. ${decimalsRule(2)}`);

const createParams = requireOneOf(
  z.object({
    client_uid: optional(uid()).describe('The customer; this or `client_email` is required'),
    client_email: optional(email()).describe(
      'Email address of the customer. Together with `client_uid` both must name the same customer',
    ),
    diff_op: oneOf(['add', 'subtract']).describe('Whether the points are added to the balance or subtracted'),
    input_type: withDefault(oneOf(['points', 'value']), 'points').describe(
      'Member with the amount: `points` for `diff_points`, `value` for `diff_value`, which needs a point value',
    ),
    diff_points: diff('Points to move; required with `input_type` `points`, otherwise ignored'),
    diff_value: diff(
      'Money in the currency of the restaurant, from which the points are derived; required with `input_type` `value`, ' +
        'otherwise ignored',
    ),
    notes: looseText(500).describe('Note on the entry; absent or empty: none'),
    subrestaurant_uid: optional(uid()).describe('Location to note in the entry; absent: none'),
  }),
  ['client_uid', 'client_email'],
)
  .superRefine(
    (value, ctx) => {
      const name = value.input_type === 'value' ? 'diff_value' : 'diff_points';
      if (value[name] !== undefined) return;
      ctx.addIssue({ code: 'custom', path: [name], message: 'is required', params: { code: 'REQUIRED' } });
    },
    { when: () => true },
  )
  .meta({ id: 'NewLoyaltyEntry', description: 'Points to add or subtract by hand' });

export const loyaltyOperations = (deps: { cursors: Cursors }): Operation[] => [
  listOperation(deps.cursors),
  readOperation,
  createOperation,
];

const readOperation = operation({
  method: 'GET',
  path: '/loyaltylog/get',
  summary: 'One entry of the loyalty log',
  errors: ['NOT_FOUND'],
  params: z.object({ uid: uid().describe('The entry') }),
  answer: one,
  handle: async ({ db, restuid, params }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const entry = await findEntry(db, restuid, params.uid);
    if (entry === undefined) throw new Fault('NOT_FOUND', 'No such entry');
    return { body: { loyaltylog: loyaltyView(entry, restaurant) } };
  },
});

const createOperation = operation({
  method: 'POST',
  path: '/loyaltylog/create',
  summary: 'Moves points by hand',
  errors: ['CUSTOMER_NOT_FOUND', 'INSUFFICIENT_POINTS'],
  emits: ['loyaltylog.created'],
  params: createParams,
  answer: one,
  handle: async ({ db, restuid, params, readNow }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const amount = amountOf(params, restaurant);
    const result = await createEntry(
      db,
      restaurant,
      {
        customer: { uid: params.client_uid, email: params.client_email },
        diffOp: params.diff_op,
        amount,
        notes: params.notes ?? null,
        subrestaurantUid: params.subrestaurant_uid ?? null,
      },
      readNow,
    );
    if (result.kind !== 'posted') throw refusalOf(result, params.input_type);
    const entry = await findEntry(db, restuid, result.entry.uid);
    if (entry === undefined) throw new Error('the posted ledger entry was not found in its own transaction');
    return { body: { loyaltylog: loyaltyView(entry, restaurant) } };
  },
});

const listOperation = (cursors: Cursors): Operation =>
  operation({
    method: 'GET',
    path: '/loyaltylog/list',
    summary: 'Entries of the loyalty log, newest first',
    errors: [],
    params: listParams,
    answer: z.object({ loyaltylogs: z.array(loyaltyAnswer).describe('Newest first'), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { page: _page, pagesize: _pagesize, cursor: _cursor, ...named } = params;
      const scope = { list: 'loyaltylogs by key', restuid, ...named };
      const query = cursors.read<Key>(params, scope);
      const listed = await listEntries(db, restuid, filterOf(named, restaurant), query);
      return {
        body: {
          loyaltylogs: listed.rows.map((entry) => loyaltyView(entry, restaurant)),
          ...cursors.answer(query, scope, listed),
        },
      };
    },
  });

type Filters = Omit<z.infer<typeof listParams>, 'page' | 'pagesize' | 'cursor'>;

const filterOf = (named: Filters, { apiTimeZone }: Restaurant): EntryFilter => ({
  clientUid: named.client_uid,
  clientEmail: named.client_email,
  orderUid: named.order_uid,
  type: named.type,
  createdFrom: named.date_from === undefined ? undefined : startOfDay(named.date_from, apiTimeZone),
  createdBefore: named.date_to === undefined ? undefined : endOfDay(named.date_to, apiTimeZone),
});

/** The member that input_type names; the schema has checked that it is present. */
const amountOf = (
  params: z.infer<typeof createParams>,
  restaurant: Restaurant,
): { points: number } | { value: number } => {
  if (params.input_type === 'points') return { points: params.diff_points ?? 0 };
  const value = params.diff_value ?? 0;
  if (isExpressible(value, restaurant.currency)) return { value };
  throw validationFault([{ pointer: 'diff_value', code: 'FORMAT', message: `${restaurant.currency} has no decimals` }]);
};

const refusalOf = (result: Exclude<MovementResult, { kind: 'posted' }>, inputType: 'points' | 'value'): Fault => {
  const pointer = inputType === 'points' ? 'diff_points' : 'diff_value';
  switch (result.kind) {
    case 'no_customer':
      return new Fault('CUSTOMER_NOT_FOUND', 'No such customer');
    case 'insufficient': {
      const message = `at most ${toWire(result.balance)}`;
      return new Fault('INSUFFICIENT_POINTS', `The balance is ${toWire(result.balance)} points`, {
        errors: [{ pointer, code: 'INSUFFICIENT_POINTS', message }],
      });
    }
    case 'no_location': {
      const message = 'No such location';
      return new Fault('SUBRESTAURANT_NOT_FOUND', message, {
        errors: [{ pointer: 'subrestaurant_uid', code: 'SUBRESTAURANT_NOT_FOUND', message }],
      });
    }
    case 'no_value':
      return validationFault([
        { pointer: 'input_type', code: 'NOT_ENABLED', message: 'points have no value in this restaurant' },
      ]);
    case 'too_small':
      return validationFault([{ pointer, code: 'RANGE', message: 'is worth less than the smallest part of a point' }]);
    case 'above_max':
      return validationFault([{ pointer, code: 'RANGE', message: 'would lift the balance above 10000000 points' }]);
  }
};

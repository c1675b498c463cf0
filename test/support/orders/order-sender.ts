/** A restaurant with a menu that orders can be sent to, and the ways to send, move and read them. */
import { expect } from 'vitest';
import type { NewRestaurant } from '#src/ordering/index.ts';
import type { Location } from '#src/ordering/restaurants/restaurant.ts';
import { findLocation, saveLocation } from '#src/ordering/restaurants/restaurant-store.ts';
import type { Answer, CallOptions, Json, TestOrdering } from '../ordering.ts';
import type { Body } from './menu-sender.ts';

const option = (ext_id: string, type: string, option_values: Body[], more: Body = {}): Body => ({
  ext_id,
  name: ext_id,
  type,
  option_values: option_values.map((value) => ({ name: value.ext_id, ...value })),
  ...more,
});

const size = option(
  'size',
  'single',
  [{ ext_id: 'regular' }, { ext_id: 'large', price_operator: '=', price_operand: 11 }],
  {
    primary: true,
  },
);
const extras = option(
  'extras',
  'multiple',
  [
    { ext_id: 'ham', price_operand: 1.2 },
    { ext_id: 'egg', price_operand: 1, restrict_to_primary_value_ext_ids: ['large'] },
    { ext_id: 'smaller', price_operator: '-', price_operand: 30 },
    { ext_id: 'secret', hidden: true },
  ],
  { max_selectable: 5, max_quantity: 3 },
);
const dough = option('dough', 'single', [{ ext_id: 'wheat' }, { ext_id: 'spelt', price_operand: 0.5 }], {
  min_selectable: 1,
});
const stuffing = option('stuffing', 'multiple', [{ ext_id: 'olives' }, { ext_id: 'capers' }], { min_selectable: 2 });

/** P1 has choices of every kind, P2 demands some, P3 and P4 are hidden, P5 has a price for deliveries. */
const menu: Body = {
  pos_uid: 'till-1',
  update_mode: 'merge',
  categories: [
    { ext_id: 'C1', name: 'Pizza' },
    { ext_id: 'C2', name: 'Winter', hidden: true },
  ],
  products: [
    {
      ext_id: 'P1',
      name: 'Margherita',
      price: 8.5,
      options: [size, extras, { ...size, ext_id: 'none', primary: false, hidden: true }],
    },
    { ext_id: 'P2', name: 'Calzone', price: 7.5, options: [dough, stuffing] },
    { ext_id: 'P3', name: 'Old one', price: 7, hidden: true },
    { ext_id: 'P4', name: 'Hot wine', price: 4, category_ext_id: 'C2' },
    { ext_id: 'P5', name: 'Focaccia', price: 5, prices_table: { '1': 6.25 } },
  ].map((product) => ({ category_ext_id: 'C1', ...product })),
};

export type Choice = { quantity?: number; notes?: string; options?: Record<string, (string | [string, number])[]> };

export type Shop = Awaited<ReturnType<typeof openShop>>;

/** A restaurant of its own with the menu above (and `products` in its first category). */
export const openShop = async (
  core: TestOrdering,
  settings: Partial<NewRestaurant> = {},
  products: readonly Body[] = [],
) => {
  const restaurant = await core.addRestaurant(settings);
  const { restuid, caller, locationUid } = restaurant;
  const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
    core.call(method, path, { caller, ...options });
  const more = products.map((product) => ({ category_ext_id: 'C1', ...product }));
  const imported = await call('POST', '/menu/import', {
    body: { ...menu, products: [...(menu.products as Body[]), ...more] },
  });
  expect(imported.json.import?.errors ?? imported.json).toEqual([]);
  const listed: Json[] = (await call('GET', '/menu/products', { query: { visible: 0 } })).json.products;
  const named = (elements: Json[], extId: string): Json => elements.find((element) => element.ext_id === extId);
  const product = (extId: string): Json => named(listed, extId);

  /** A line by the ext_ids of the menu; what the menu does not know is sent as it is. */
  const line = (extId: string, { options = {}, ...rest }: Choice = {}): Body => ({
    product: { uid: product(extId)?.uid ?? extId },
    quantity: 1,
    ...rest,
    options: Object.entries(options).map(([name, values]) => {
      const known = named(product(extId)?.options ?? [], name);
      return {
        uid: known?.uid ?? name,
        values: values.map((value) => {
          const [valueName, quantity] = typeof value === 'string' ? [value, 1] : value;
          return { uid: named(known?.option_values ?? [], valueName)?.uid ?? valueName, quantity };
        }),
      };
    }),
  });

  /** A pickup in an hour, paid in cash, one product P1. */
  const orderOf = (change: Body = {}): Body => ({
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0',
    payment_method: 'cash',
    payment_method_sub: 'pos',
    pickup: { date: core.clock.now().toISOString() },
    details: [line('P1')],
    ...change,
  });

  const create = (change: Body = {}, options: CallOptions = {}): Promise<Answer> =>
    call('POST', '/order/create', { body: orderOf(change), ...options });

  /** The receipt of an order that must be taken. */
  const placed = async (change: Body = {}): Promise<Json> => {
    const answer = await create(change);
    expect(answer.text).toContain('"success":true');
    return answer.json.order;
  };

  const act = (action: string, { uid, token }: Json, members: Body = {}): Promise<Answer> =>
    call('POST', `/order/${action}`, { body: { uid, token, ...members } });

  /** State after a move that must be legal. */
  const done = async (action: string, order: Json, members: Body = {}): Promise<Json> => {
    const answer = await act(action, order, members);
    expect(answer.text).toContain('"success":true');
    return answer.json.order;
  };

  const read = async (uid: string): Promise<Json> => (await call('GET', '/orders/get', { query: { uid } })).json.order;

  const customer = async (email: string): Promise<Json> =>
    (await call('GET', '/customerstats/customer', { query: { email } })).json.customer;

  const changeLocation = async (change: Partial<Location>): Promise<void> => {
    const location = await findLocation(core.db, restuid, change.uid ?? locationUid);
    const first = location ?? (await findLocation(core.db, restuid, locationUid));
    if (first !== undefined) await saveLocation(core.db, { ...first, ...change });
  };

  /** [event, seq, previous_seq] of an order, oldest first. */
  const eventsOf = async (uid: string): Promise<[string, number, number | null][]> =>
    (await core.events({ kind: 'orders', entity: uid })).map(({ event, seq, previous_seq }) => [
      event,
      seq,
      previous_seq,
    ]);

  return {
    restuid,
    caller,
    locationUid,
    call,
    product,
    line,
    orderOf,
    create,
    placed,
    act,
    done,
    read,
    customer,
    changeLocation,
    eventsOf,
  };
};

/** [status, error, [[pointer, code], …]] of a refusal. */
export const refusalOf = ({ status, json }: Answer): [number, string, [string, string][]] => [
  status,
  json.error,
  (json.errors ?? []).map((error: Json): [string, string] => [error.pointer, error.code]),
];

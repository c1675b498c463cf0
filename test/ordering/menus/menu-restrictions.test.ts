import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, startOrdering, type TestOrdering, type TestRestaurant } from '../../support/ordering.ts';
import {
  type Body,
  category,
  codesOf,
  createMenuSender,
  type MenuSender,
  product,
  size,
  toppings,
} from '../../support/orders/menu-sender.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];
let refused: MenuSender['refused'];
let list: MenuSender['list'];
let restaurant: TestRestaurant;

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted, refused, list } = createMenuSender(core));
});
afterAll(() => core.close());

const merge = { update_mode: 'merge' };

/** C1 has the sizes; the egg of P1 is for large ones only. C2 has sizes of its own, C3 small ones, C4 none. */
const open = async (): Promise<void> => {
  restaurant = await core.addRestaurant();
  const small = { ...size, option_values: [{ ext_id: 's', name: 'Small' }] };
  await accepted(restaurant, {
    categories: [
      category('C1', { options: [size] }),
      category('C2', { options: [size] }),
      category('C3', { options: [small] }),
      category('C4'),
    ],
    products: [product('P1', { options: [toppings] })],
  });
};

/** The sizes of P1 by ext_id, and those that its egg is restricted to. */
const read = async (): Promise<{ options: Json[]; sizes: Record<string, string>; egg: string[] }> => {
  const [{ options }] = await list('products', restaurant);
  const values = (extId: string): Json[] =>
    options.find((option: Json) => option.ext_id === extId)?.option_values ?? [];
  return {
    options,
    sizes: Object.fromEntries(values('size').map(({ ext_id, uid }) => [ext_id, uid])),
    egg: values('toppings').find(({ ext_id }) => ext_id === 'egg').restrict_to_primary_value_uids,
  };
};

/** Orders a large one with egg. */
const order = async (): Promise<number> => {
  const [one] = await list('products', restaurant);
  const [sizes, extras] = one.options;
  const answer = await core.call('POST', '/order/create', {
    caller: restaurant.caller,
    body: {
      client: { first_name: 'Ada', email: 'ada@example.com' },
      dmethod: '0t',
      table: '7',
      payment_method: 'external',
      details: [
        {
          product: { uid: one.uid },
          quantity: 1,
          options: [
            { uid: sizes.uid, values: [{ uid: sizes.option_values[1].uid }] },
            { uid: extras.uid, values: [{ uid: extras.option_values[1].uid }] },
          ],
        },
      ],
    },
  });
  return answer.status;
};

const change = (more: Body): Body => ({ ...merge, products: [{ ext_id: 'P1', ...more }] });

test('A-712 options that an import leaves out stay restricted to the same values of a primary option that is copied or of another category', async () => {
  await open();
  expect(await order()).toBe(200);
  const before = await read();
  for (const more of [{ category_ext_id: 'C2' }, { inherits_options: 'copy' }]) {
    const report = await accepted(restaurant, change(more));
    const { sizes, egg } = await read();
    expect([sizes.l === before.sizes.l, egg]).toEqual([false, [sizes.l]]);
    expect(report.items.map(({ kind, ext_id }: Json) => [kind, ext_id])).toEqual([
      ['product', 'P1'],
      ['option_value', 'egg'],
    ]);
    expect(await order()).toBe(200);
  }
  const plain = await accepted(restaurant, change({ price: 9 }));
  expect(plain.items).toHaveLength(1);
});

test('A-712 an import that takes away the primary value of a restriction, and leaves the options out, is refused', async () => {
  await open();
  for (const more of [{ category_ext_id: 'C3' }, { category_ext_id: 'C4' }, { inherits_options: 'none' }]) {
    const report = await refused(restaurant, change(more));
    expect(codesOf(report)).toEqual([['VALUE_UNKNOWN', '/products/0']]);
    expect(report.errors[0].message).toContain('no value l');
  }
  expect(await order()).toBe(200);
  await accepted(restaurant, change({ category_ext_id: 'C4', options: [] }));
});

test('A-712 a value that the category leaves out takes the restricted one from offer until it is sent again', async () => {
  await open();
  const before = await read();
  const small = { ...size, option_values: [{ ext_id: 's', name: 'Small' }] };
  await accepted(restaurant, { ...merge, categories: [category('C1', { options: [small] })] });
  await accepted(restaurant, change({ price: 9 }));
  expect((await read()).egg).toEqual(before.egg);
  await accepted(restaurant, { ...merge, categories: [category('C1', { options: [size] })] });
  expect(await read()).toEqual({ ...before, options: expect.anything() });
  expect(await order()).toBe(200);
});

test('restrictions that an earlier release left at the values of the category are mapped by the next import of the product', async () => {
  await open();
  const { egg } = await read();
  await accepted(restaurant, change({ inherits_options: 'copy' }));
  await core.pool.query(
    `update ordering.products set options = jsonb_set(options, '{0,option_values,1,restrict_to_primary_value_uids}', $2)
     where restuid = $1`,
    [restaurant.restuid, JSON.stringify(egg)],
  );
  expect((await read()).egg).toEqual(egg);
  await accepted(restaurant, change({ price: 9 }));
  const repaired = await read();
  expect(repaired.egg).toEqual([repaired.sizes.l]);
});

/** A primary option with `values` values, and others whose values are restricted to all of these. */
const restricted = (values: number, others: number): Body[] => {
  const names = Array.from({ length: values }, (_, i) => `${i}`);
  const valuesOf = (more: Body): Body[] => names.map((name) => ({ ext_id: name, name, ...more }));
  const one = (ext_id: string, more: Body, ofValues: Body): Body => ({
    ext_id,
    name: ext_id,
    type: 'multiple',
    ...more,
    option_values: valuesOf(ofValues),
  });
  const lists = { restrict_to_primary_value_ext_ids: names };
  return [one('size', { primary: true }, {}), ...Array.from({ length: others }, (_, i) => one(`o${i}`, {}, lists))];
};

test('A-716 a product with more than 10,000 restrictions of its option values is refused, as is a category', async () => {
  await open();
  await accepted(restaurant, change({ category_ext_id: 'C4', options: restricted(100, 1) }));
  const tooMany = restricted(101, 1);
  for (const [kind, body] of [
    ['products', change({ options: tooMany })],
    ['categories', { ...merge, categories: [category('C2', { options: tooMany })] }],
  ] as const) {
    const report = await refused(restaurant, body);
    expect(codesOf(report)).toEqual([['LENGTH', `/${kind}/0/options`]]);
    expect(report.errors[0].message).toContain('have 10201 restrictions');
  }
});

test('A-716 an import of more than 200,000 restrictions is refused, whether they are sent or copied from categories', async () => {
  await open();
  const send = (body: Body) =>
    core.call('POST', '/menu/import', { caller: restaurant.caller, body: { pos_uid: 'till-1', ...merge, ...body } });
  const full = restricted(100, 1);
  const names = Array.from({ length: 21 }, (_, i) => `P${i}`);
  const sent = await send({ products: names.map((name) => product(name, { options: full })) });
  expect([sent.status, sent.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(sent.json.errors).toMatchObject([{ pointer: 'products', code: 'LENGTH' }]);
  expect(sent.json.errors[0].message).toContain('210000');
  const copies = {
    ...merge,
    categories: [category('C4', { options: full })],
    products: names.map((name) => product(name, { category_ext_id: 'C4', inherits_options: 'copy', options: [] })),
  };
  expect(codesOf(await refused(restaurant, copies))).toEqual([['LENGTH', '/products/20']]);
});

test('A-716 a product that has more restrictions from an earlier release is read, changed and repaired', async () => {
  await open();
  await accepted(restaurant, change({ category_ext_id: 'C4', options: restricted(100, 1) }));
  await core.pool.query(
    `update ordering.products set options = options || (
       select jsonb_agg(options -> 1 || jsonb_build_object('uid', 'opt_' || n, 'ext_id', 'X' || n))
       from generate_series(1, 3) n) where restuid = $1`,
    [restaurant.restuid],
  );
  await accepted(restaurant, change({ price: 9 }));
  expect((await list('products', restaurant))[0].options).toHaveLength(5);
  await accepted(restaurant, change({ category_ext_id: 'C1', options: [toppings] }));
  expect((await list('products', restaurant))[0].options).toHaveLength(2);
});

import type { Socket } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Answer,
  type Json,
  startOrdering,
  type TestOrdering,
  type TestRestaurant,
} from '../../support/ordering.ts';
import { type Body, category, createMenuSender, type MenuSender, product } from '../../support/orders/menu-sender.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];
let list: MenuSender['list'];
/** Connections of the core to PostgreSQL. */
const sockets = new Set<Socket>();

beforeAll(async () => {
  core = await startOrdering();
  core.pool.on('acquire', (client) => {
    const connection: unknown = Reflect.get(client, 'connection');
    sockets.add(Reflect.get(connection as object, 'stream') as Socket);
  });
  ({ accepted, list } = createMenuSender(core));
});
afterAll(() => core.close());

const order = ({ caller }: TestRestaurant, details: Json[]): Promise<Answer> => {
  const client = { first_name: 'Ada', email: 'ada@example.com' };
  const body = { client, dmethod: '0t', table: '7', payment_method: 'external', details };
  return core.call('POST', '/order/create', { caller, body });
};

const bytesReadBy = async (act: () => Promise<unknown>): Promise<number> => {
  const sum = (): number => [...sockets].reduce((total, socket) => total + socket.bytesRead, 0);
  const before = sum();
  await act();
  return sum() - before;
};

const value = (ext_id: string, more: Body = {}): Body => ({ ext_id, name: `Value ${ext_id}`, ...more });
const option = (ext_id: string, option_values: Body[], more: Body = {}): Body => ({
  ext_id,
  name: `Option ${ext_id}`,
  type: 'multiple',
  option_values,
  ...more,
});

/** Options of 200 values each. */
const large = (prefix: string, count: number): Body[] =>
  Array.from({ length: count }, (_, i) =>
    option(
      `${prefix}${i}`,
      Array.from({ length: 200 }, (_value, j) => value(`v${j}`)),
    ),
  );

test('A-765 an order reads the options that it names and those that are required, however many others there are', async () => {
  const bytesOf = async (count: number): Promise<number> => {
    const restaurant = await core.addRestaurant();
    const products = ['P1', 'P2', 'P3'].map((name) => product(name, { options: large('p', count) }));
    await accepted(restaurant, { categories: [category('C1', { options: large('c', count) })], products });
    const shown = await list('products', restaurant);
    const details = shown.map(({ uid, options }) => {
      const [first, last] = [options[0], options.at(-1)].map((each) => ({
        uid: each.uid,
        values: [{ uid: each.option_values[150].uid }],
      }));
      return { product: { uid }, quantity: 1, options: [first, last] };
    });
    expect((await order(restaurant, details)).status).toBe(200);
    return bytesReadBy(async () => expect((await order(restaurant, details)).status).toBe(200));
  };
  const [few, many] = [await bytesOf(3), await bytesOf(15)];
  expect(many).toBeLessThan(30_000);
  expect(many - few).toBeLessThan(2_000);
});

/** The options of every kind of choice: restricted, hidden, required, limited. */
const options: Body[] = [
  option('size', [value('s'), value('m', { price_operand: 2 }), value('l', { price_operand: 4 })], {
    type: 'single',
    min_selectable: 1,
    primary: true,
  }),
  option(
    'extra',
    [
      value('ham', { restrict_to_primary_value_ext_ids: ['s', 'l'] }),
      value('egg', { restrict_to_primary_value_ext_ids: ['l'], price_operand: 1 }),
      value('old', { hidden: true }),
    ],
    { min_selectable: 1, max_quantity: 2 },
  ),
  option('sauce', [value('hot'), value('mild', { price_operator: '=', price_operand: 6 })], { max_selectable: 1 }),
  option('gone', [value('none', { hidden: true })], { min_selectable: 1 }),
  option('secret', [value('x')], { min_selectable: 1, hidden: true }),
];

/** What is chosen, as option, value and quantity. */
const choices: [string, string, number?][][] = [
  [],
  [['size', 's']],
  [['size', 'm']],
  [
    ['size', 's'],
    ['size', 'l'],
  ],
  [
    ['size', 'l'],
    ['extra', 'egg', 2],
    ['sauce', 'mild'],
  ],
  [
    ['size', 's'],
    ['extra', 'egg'],
  ],
  [
    ['size', 's'],
    ['extra', 'ham', 3],
  ],
  [
    ['extra', 'ham'],
    ['sauce', 'hot'],
  ],
  [
    ['size', 'l'],
    ['extra', 'old'],
    ['gone', 'none'],
    ['secret', 'x'],
  ],
  [
    ['size', 's'],
    ['extra', 'ham'],
    ['sauce', 'hot', 2],
  ],
];

test('A-765 an order of a product with many options has the same answer as one of a product with few', async () => {
  const restaurant = await core.addRestaurant();
  const categories = [
    category('few', { options }),
    category('many', { options: [...options, ...large('c', 2)] }),
    category('plain'),
  ];
  const products = [
    ...['few', 'many'].flatMap((name) => [
      product(`sync-${name}`, { category_ext_id: name }),
      product(`copy-${name}`, { category_ext_id: name, inherits_options: 'copy' }),
    ]),
    product('own-few', { category_ext_id: 'plain', options }),
    product('own-many', { category_ext_id: 'plain', options: [...options, ...large('p', 2)] }),
  ];
  await accepted(restaurant, { categories, products });
  const shown = new Map((await list('products', restaurant)).map((each) => [each.ext_id, each]));
  const lineOf = (name: string, chosen: (typeof choices)[number]): Json => {
    const { uid, options: offered } = shown.get(name) ?? {};
    const sent = [...new Set(chosen.map(([of]) => of))].map((of) => {
      const found = offered.find((each: Json) => each.ext_id === of);
      const values = chosen.flatMap(([each, ext_id, quantity = 1]) =>
        each === of ? [{ uid: found.option_values.find((v: Json) => v.ext_id === ext_id).uid, quantity }] : [],
      );
      return { uid: found.uid, values };
    });
    return { product: { uid }, quantity: 1, options: sent };
  };
  const answerOf = async (name: string, lines: typeof choices): Promise<unknown> => {
    const lined = lines.map((chosen) => lineOf(name, chosen));
    const { status, json } = await order(restaurant, lined);
    const priced = json.order?.details?.map(({ options: taken, total }: Json) => [
      taken.map((each: Json) => [each.ext_id, each.values.map((v: Json) => [v.ext_id, v.price_operand, v.quantity])]),
      total,
    ]);
    return { status, errors: json.errors, priced, total: json.order?.total };
  };
  const accept = choices.slice(4, 5);
  for (const kind of ['sync', 'copy', 'own']) {
    for (const lines of [...choices.map((chosen) => [chosen]), choices, [...accept, ...choices.slice(2, 3), ...accept]])
      expect(await answerOf(`${kind}-many`, lines)).toEqual(await answerOf(`${kind}-few`, lines));
    expect(await answerOf(`${kind}-many`, accept)).toMatchObject({ status: 200, total: 12 });
    expect(await answerOf(`${kind}-many`, choices.slice(2, 3))).toMatchObject({ status: 200, total: 9.5 });
  }
});

test('A-765 a required option whose values are offered elsewhere only asks for nothing, and one with a value here does', async () => {
  const restaurant = await core.addRestaurant();
  const here = restaurant.locationUid;
  const values = Array.from({ length: 200 }, (_, i) => value(`v${i}`));
  const products = ['elsewhere', 'both'].map((name) =>
    product(name, { options: [option('must', values, { min_selectable: 1 }), ...large('p', 2)] }),
  );
  await accepted(restaurant, { categories: [category('C1')], products });
  // An import cannot say where a value is offered. Of `both` the last value is offered here.
  await sql`
    update ordering.products p set options = jsonb_set(p.options, '{0,option_values}', (
      select jsonb_agg(v || jsonb_build_object('subrestaurant_uids',
        case when p.ext_id = 'both' and n = 200 then ${sql.lit(JSON.stringify([here]))}::jsonb else '["loc_other"]' end) order by n)
      from jsonb_array_elements(p.options -> 0 -> 'option_values') with ordinality as each (v, n)))
    where p.restuid = ${restaurant.restuid}`.execute(core.db);
  const shown = new Map((await list('products', restaurant)).map((each) => [each.ext_id, each.uid]));
  const answers = await Promise.all(
    ['elsewhere', 'both'].map(async (name) => {
      const { status, json } = await order(restaurant, [
        { product: { uid: shown.get(name) }, quantity: 1, options: [] },
      ]);
      return [status, json.errors?.[0]?.code];
    }),
  );
  expect(answers).toEqual([
    [200, undefined],
    [400, 'OPTION_COUNT'],
  ]);
});

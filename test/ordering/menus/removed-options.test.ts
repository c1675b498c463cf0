import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, startOrdering, type TestOrdering, type TestRestaurant } from '../../support/ordering.ts';
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

const bytesRead = (): number => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);

const options = (prefix: string, count: number, values: number): Body[] =>
  Array.from({ length: count }, (_, i) => ({
    ext_id: `${prefix}${i}`,
    name: `Option ${i}`,
    type: 'multiple',
    option_values: Array.from({ length: values }, (_, j) => ({ ext_id: `V${j}`, name: `Value ${j}` })),
  }));

const merge = { update_mode: 'merge' };

/** What is stored inside the only product. */
const stored = async ({ restuid }: TestRestaurant): Promise<{ options: number; values: number }> => {
  const { rows } = await core.pool.query(
    `select jsonb_array_length(options)::integer as options,
       (select coalesce(sum(jsonb_array_length(o -> 'option_values')), 0)::integer from jsonb_array_elements(options) o) as values
     from ordering.products where restuid = $1`,
    [restuid],
  );
  return rows[0];
};

test('A-714 of what imports remove inside a product 1,000 values are kept, those removed last, and no more', async () => {
  const restaurant = await core.addRestaurant();
  const send = (sent: Body[]): Promise<Json> =>
    accepted(restaurant, { ...merge, categories: [category('C1')], products: [product('P1', { options: sent })] });
  for (const prefix of ['a', 'b', 'c']) await send(options(prefix, 4, 200));
  expect(await stored(restaurant)).toEqual({ options: 9, values: 1_800 });
  const [shown] = await list('products', restaurant);
  await send([]);
  expect(await stored(restaurant)).toEqual({ options: 5, values: 1_000 });
  const report = await send(options('c', 4, 200));
  expect(report.counts.options.created).toBe(4);
  const [again] = await list('products', restaurant);
  expect(again.options).toEqual(shown.options);
});

test('A-714 values that are removed inside options have the same bound, and an import without options applies it too', async () => {
  const restaurant = await core.addRestaurant();
  const send = (more: Body): Promise<Json> =>
    accepted(restaurant, { ...merge, categories: [category('C1')], products: [{ ...product('P1'), ...more }] });
  await send({ options: options('a', 8, 200) });
  await send({ options: options('a', 8, 1) });
  expect(await stored(restaurant)).toEqual({ options: 8, values: 1_008 });
  // As an earlier release left it.
  await core.pool.query(
    `update ordering.products set options = options || (
       select jsonb_agg(options -> 0 || jsonb_build_object('uid', 'opt_' || n, 'ext_id', 'X' || n, 'removed', true))
       from generate_series(1, 100) n) where restuid = $1`,
    [restaurant.restuid],
  );
  const [before] = await list('products', restaurant);
  expect(before.options).toHaveLength(8);
  await send({ price: 9 });
  expect((await stored(restaurant)).values).toBeLessThanOrEqual(1_008);
  expect(await list('products', restaurant)).toEqual([{ ...before, price: 9 }]);
});

test('A-714 reads and orders do not read what was removed', async () => {
  const restaurant = await core.addRestaurant();
  const names = ['P1', 'P2', 'P3', 'P4', 'P5'];
  const sent = (count: number) => ({
    ...merge,
    categories: [category('C1', { options: options('c', count, 20) })],
    products: names.map((name) => product(name, { options: options('p', count, 20) })),
  });
  await accepted(restaurant, sent(2));
  await accepted(restaurant, sent(1));
  // As after hundreds of imports with other ext_ids for the same options.
  for (const table of ['categories', 'products'])
    await core.pool.query(
      `update ordering.${table} set options = options || (
         select jsonb_agg(options -> 1 || jsonb_build_object('uid', 'opt_' || n, 'ext_id', 'X' || n))
         from generate_series(1, 400) n) where restuid = $1`,
      [restaurant.restuid],
    );
  const [first] = await list('products', restaurant);
  const products = await list('products', restaurant);
  const body = {
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0t',
    table: '7',
    payment_method: 'external',
    details: products.map(({ uid }) => ({ product: { uid }, quantity: 1 })),
  };
  const { caller } = restaurant;
  const before = bytesRead();
  const answers = [
    await core.call('POST', '/order/create', { caller, body }),
    await core.call('GET', '/menu/products', { caller }),
    await core.call('GET', '/menu/products', { caller, query: { catuid: first.category_uid, q: 'product' } }),
    await core.call('GET', '/menu/product', { caller, query: { uid: first.uid } }),
    await core.call('GET', '/menu/categories', { caller }),
    await core.call('GET', '/menu/category', { caller, query: { uid: first.category_uid } }),
  ];
  expect(bytesRead() - before).toBeLessThan(500_000);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const shown = answers[3]?.json.product.options.map((option: Json) => [option.ext_id, option.option_values.length]);
  expect(shown).toEqual([
    ['c0', 20],
    ['p0', 20],
  ]);
});

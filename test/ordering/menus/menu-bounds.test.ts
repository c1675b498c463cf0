import { afterAll, beforeAll, expect, test } from 'vitest';
import { startOrdering, type TestOrdering, type TestRestaurant } from '../../support/ordering.ts';
import { category, codesOf, createMenuSender, type MenuSender, product } from '../../support/orders/menu-sender.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];
let refused: MenuSender['refused'];

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted, refused } = createMenuSender(core));
});
afterAll(() => core.close());

const options = (count: number, values: number) =>
  Array.from({ length: count }, (_, i) => ({
    ext_id: `O${i}`,
    name: `Option ${i}`,
    type: 'multiple',
    option_values: Array.from({ length: values }, (_, j) => ({ ext_id: `V${j}`, name: `Value ${j}` })),
  }));

/** What many imports leave: copies of the only row of a table with ext_ids and uids of their own. */
const copyRow = (table: string, { restuid }: TestRestaurant, copies: number) =>
  core.pool.query(
    `insert into ordering.${table} select (jsonb_populate_record(e, jsonb_build_object(
       'uid', e.uid || n, 'ext_id', e.ext_id || '-' || n))).* from ordering.${table} e, generate_series(1, ${copies}) n
     where e.restuid = $1`,
    [restuid],
  );

const merge = { update_mode: 'merge' };
const optionless = { options: [{ ext_id: 'O', name: 'Option', type: 'single', option_values: [] }] };

test('A-517 an import that would add option values beyond 200,000 is refused, and what adds none is not', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C1', { options: options(100, 200) })], products: [] });
  await copyRow('categories', restaurant, 9);
  // Options without values have their room too.
  const more = { ...merge, products: [product('P1', optionless)] };
  expect(codesOf(await refused(restaurant, more))).toEqual([['LENGTH', '/products']]);
  const ofCategory = { ...merge, categories: [category('C2', optionless)] };
  expect(codesOf(await refused(restaurant, ofCategory))).toEqual([['LENGTH', '/categories']]);
  const copying = { ...merge, products: [product('P1', { inherits_options: 'copy' })] };
  expect(codesOf(await refused(restaurant, copying))).toEqual([['LENGTH', '/products/0']]);
  await accepted(restaurant, { ...merge, products: [product('P1')] });
  await accepted(restaurant, {
    ...merge,
    categories: [category('C1', { name: 'Renamed' })],
    products: [product('P1')],
  });
  // A smaller category makes room.
  const smaller = category('C1', { options: options(99, 200) });
  await accepted(restaurant, { ...merge, categories: [smaller], products: [product('P1', optionless)] });
  const answer = await core.call('GET', '/menu/products', { caller: restaurant.caller });
  expect(answer.json.products[0].options.map((each: { name: string }) => each.name).slice(-2)).toEqual([
    'Option 98',
    'Option',
  ]);
  await accepted(restaurant, { categories: [], products: [], confirm_removal: true });
  await accepted(restaurant, { categories: [category('C1', { options: options(100, 200) })], products: [] });
});

test('A-517 an import that would add categories or products beyond 20,000 is refused, and what adds none is not', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C1')], products: [product('P1')] });
  await copyRow('products', restaurant, 19_998);
  expect(codesOf(await refused(restaurant, { ...merge, products: [product('P2')] }))).toEqual([
    ['LENGTH', '/products'],
  ]);
  expect(codesOf(await refused(restaurant, { ...merge, categories: [category('C2')] }))).toEqual([
    ['LENGTH', '/categories'],
  ]);
  await accepted(restaurant, { ...merge, products: [product('P1', { price: 9 }), product('P1-7', { price: 9 })] });
  // An owner who has more than that already may change and remove it.
  await copyRow('categories', restaurant, 5);
  await accepted(restaurant, { ...merge, products: [product('P1', { price: 8 })] });
  expect(codesOf(await refused(restaurant, { ...merge, products: [product('P2')] }))).toEqual([
    ['LENGTH', '/products'],
  ]);
  const left = await accepted(restaurant, {
    categories: [category('C1')],
    products: [product('P1')],
    confirm_removal: true,
  });
  expect(left.counts.products.removed).toBe(19_998);
});

test('A-517 removed options are forgotten where those of the sent elements are too many together', async () => {
  const restaurant = await core.addRestaurant();
  const products = ['P1', 'P2', 'P3'].map((extId) => product(extId, { options: options(2, 200) }));
  await accepted(restaurant, { categories: [category('C1')], products });
  const one = products.map((each) => ({ ...each, options: options(1, 200) }));
  await accepted(restaurant, { categories: [category('C1')], products: one });
  const stored = async (): Promise<number[]> => {
    const { rows } = await core.pool.query<{ count: number }>(
      `select jsonb_array_length(options)::integer as count from ordering.products where restuid = $1 order by ext_id`,
      [restaurant.restuid],
    );
    return rows.map(({ count }) => count);
  };
  expect(await stored()).toEqual([2, 2, 2]);
  // As after hundreds of imports with other ext_ids for the same options.
  await core.pool.query(
    `update ordering.products set options = options || (
       select jsonb_agg(options -> 1 || jsonb_build_object('uid', 'opt_' || n, 'ext_id', 'X' || n))
       from generate_series(1, 400) n) where restuid = $1`,
    [restaurant.restuid],
  );
  await accepted(restaurant, { ...merge, products: one.map((each) => ({ ...each, price: 9 })) });
  expect(await stored()).toEqual([1, 1, 1]);
});

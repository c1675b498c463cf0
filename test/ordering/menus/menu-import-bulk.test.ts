import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, clientOf, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import {
  type Body,
  category,
  codesOf,
  createMenuSender,
  type MenuSender,
  product,
} from '../../support/orders/menu-sender.ts';

let core: TestOrdering;
let send: MenuSender['send'];
let accepted: MenuSender['accepted'];
let refused: MenuSender['refused'];
let list: MenuSender['list'];
let menuOf: MenuSender['menuOf'];

beforeAll(async () => {
  core = await startOrdering();
  ({ send, accepted, refused, list, menuOf } = createMenuSender(core));
});
afterAll(() => core.close());

test('A-029 an import reaches its own restaurant only', async () => {
  const [one, two] = [await core.addRestaurant(), await core.addRestaurant()];
  const caller = clientOf([one.restuid, two.restuid], { id: 'opc_both' });
  const body = { categories: [category('C1')], products: [product('P1')] };
  await accepted(one, { ...body, restuid: one.restuid }, caller);
  const merge = { restuid: two.restuid, update_mode: 'merge', products: [product('P1')] };
  const answer = await send(two, merge, caller);
  const invented = await send(two, { ...merge, products: [product('P1', { category_ext_id: 'C1' })] }, caller);
  expect([answer.status, answer.json.import.errors]).toEqual([422, invented.json.import.errors]);
  expect(codesOf(answer.json.import)).toEqual([['CATEGORY_UNKNOWN', '/products/0/category_ext_id']]);
  await accepted(two, { categories: [], products: [], restuid: two.restuid, confirm_removal: true }, caller);
  expect((await list('products', one)).length).toBe(1);
});

test('parallel imports of one restaurant follow one another, and each finds what the other left', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C0')], products: [] });
  const imports = Array.from({ length: 8 }, (_, i) => ({
    update_mode: 'merge',
    categories: [category('C1')],
    products: [product('shared', { price: i + 1 }), product(`P${i}`)],
  }));
  const reports = await Promise.all(imports.map((body) => accepted(restaurant, body)));
  expect(reports.map((report) => report.version).sort()).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  expect(reports.map((report) => report.counts.categories.created).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 1]);
  const products = await list('products', restaurant);
  expect(products.map((each) => each.ext_id).sort()).toEqual([
    'P0',
    'P1',
    'P2',
    'P3',
    'P4',
    'P5',
    'P6',
    'P7',
    'shared',
  ]);
  const last = reports.findIndex((report) => report.version === 9);
  expect(products.find((each) => each.ext_id === 'shared')?.price).toBe(last + 1);
  const events = await core.events({ kind: 'menu', entity: restaurant.restuid });
  expect(events.map((event) => [event.seq, event.previous_seq])).toEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 9].map((seq) => [seq, seq === 1 ? null : seq - 1]),
  );
});

test('an Idempotency-Key repeats the report of an import, also of a refused one', async () => {
  const restaurant = await core.addRestaurant();
  const call = (body: Body): Promise<Answer> =>
    core.call('POST', '/menu/import', {
      caller: restaurant.caller,
      body: { pos_uid: 'till-1', update_mode: 'merge', ...body },
      headers: { 'idempotency-key': 'menu-1' },
    });
  const bad = await call({ products: [product('P1')] });
  const again = await call({ products: [product('P1')] });
  expect([bad.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([422, 422, 'true']);
  expect(again.text).toBe(bad.text);
});

const large = (): { categories: Body[]; products: Body[] } => {
  const options = [0, 1].map((o) => ({
    ext_id: `o${o}`,
    name: `Option ${o}`,
    type: 'multiple',
    option_values: Array.from({ length: 5 }, (_, v) => ({
      ext_id: `v${v}`,
      name: `Value ${v}`,
      price_operand: v,
      position: v,
    })),
  }));
  return {
    categories: Array.from({ length: 1000 }, (_, i) => category(`C${i}`)),
    products: Array.from({ length: 5000 }, (_, i) =>
      product(`P${i}`, {
        category_ext_id: `C${i % 1000}`,
        description: `Dish number ${i}`,
        allergens: ['milk'],
        options,
      }),
    ),
  };
};

test('A-098 one bad product among 5,000 stops the whole import, and names itself', async () => {
  const restaurant = await core.addRestaurant();
  const menu = large();
  menu.products[4321] = { ...menu.products[4321], price: 'a lot' };
  const report = await refused(restaurant, menu);
  expect(report.errors).toMatchObject([{ pointer: '/products/4321/price', ext_id: 'P4321', code: 'TYPE' }]);
  expect(await menuOf(restaurant)).toEqual({ categories: [], products: [] });
});

test('the largest menu is imported while readers are served, and a repetition changes nothing', async () => {
  const restaurant = await core.addRestaurant();
  const menu = large();
  let running = true;
  const importing = accepted(restaurant, menu).finally(() => {
    running = false;
  });
  let servedMeanwhile = 0;
  while (running) {
    const { status } = await core.call('GET', '/menu/products', { caller: restaurant.caller });
    expect(status).toBe(200);
    if (running) servedMeanwhile += 1;
  }
  const report = await importing;
  expect(servedMeanwhile).toBeGreaterThan(5);
  expect(report.counts.categories.created).toBe(1000);
  expect(report.counts.products.created).toBe(5000);
  expect(report.counts.option_values.created).toBe(50_000);
  const again = await accepted(restaurant, menu);
  expect([again.version, again.items, again.counts.option_values.unchanged]).toEqual([1, [], 50_000]);
  const products = await core.call('GET', '/menu/products', { caller: restaurant.caller, query: { page: 50 } });
  expect([products.json.total_count, products.json.more, products.json.products.length]).toEqual([5000, false, 100]);
  const event = (await core.events({ kind: 'menu', entity: restaurant.restuid }))[0];
  expect([event.truncated, event.menu.version, event.menu.products.created]).toEqual([true, 1, null]);
});

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStaffMenus } from '#src/ordering/index.ts';
import { createLog } from '#src/platform/log.ts';
import { type Json, startOrdering, type TestOrdering, type TestRestaurant } from '../../support/ordering.ts';
import { category, createMenuSender, type MenuSender, product } from '../../support/orders/menu-sender.ts';
import { openShop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];
let heavy: TestRestaurant;

const products = 12;
const extIds = Array.from({ length: products }, (_, i) => `P${String(i).padStart(2, '0')}`);

/** As many as one category may have: each of its products repeats them in the answer. */
const options = (count: number, values: number) =>
  Array.from({ length: count }, (_, i) => ({
    ext_id: `O${i}`,
    name: `Option ${i}`,
    type: 'multiple',
    option_values: Array.from({ length: values }, (_, j) => ({ ext_id: `V${j}`, name: `Value ${i} ${j}` })),
  }));

const valuesOf = (body: Json): number =>
  body.products.flatMap((each: Json) => each.options).flatMap((each: Json) => each.option_values).length;

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted } = createMenuSender(core));
  heavy = await core.addRestaurant();
  await accepted(heavy, {
    categories: [category('C1', { options: options(100, 200) })],
    products: extIds.map((extId) => product(extId)),
  });
});
afterAll(() => core.close());

const get = (restaurant: TestRestaurant, path: string, query: Record<string, string | number>) =>
  core.call('GET', path, { caller: restaurant.caller, query });

/** Every page from the first one along the cursors. */
const follow = async (restaurant: TestRestaurant, path: string, query: Record<string, string | number> = {}) => {
  const pages: { json: Json; bytes: number }[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { status, json, text } = await get(restaurant, path, cursor === '' ? query : { ...query, cursor });
    expect([status, json.more]).toEqual([200, json.next_cursor !== null]);
    pages.push({ json, bytes: text.length });
    cursor = json.next_cursor;
  }
  return pages;
};

test('A-514 a page of products with very many options ends early, and the cursor reaches every product', async () => {
  const pages = await follow(heavy, '/menu/products');
  expect(pages.flatMap(({ json }) => json.products.map((each: Json) => each.ext_id))).toEqual(extIds);
  expect(Math.max(...pages.map(({ json }) => valuesOf(json)))).toBe(20_000);
  expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(6_000_000);
  expect(new Set(pages.map(({ json }) => json.total_count))).toEqual(new Set([products]));
});

test('A-514 pages by number are refused where a page ends early, and correct where none does', async () => {
  for (const query of [{ page: 2, pagesize: 5 }, { page: 2 }, { page: 9 }, { page: 2, pagesize: 5, q: 'product' }]) {
    const { status, json } = await get(heavy, '/menu/products', query);
    expect([status, json.errors]).toMatchObject([400, [{ pointer: 'pagesize', code: 'RANGE' }]]);
  }
  const { json } = await get(heavy, '/menu/products', { page: 3, pagesize: 1 });
  expect(json.products.map((each: Json) => each.ext_id)).toEqual(['P02']);
  const light = await core.addRestaurant();
  await accepted(light, {
    categories: [category('C1', { options: options(1, 20) })],
    products: extIds.map((extId) => product(extId)),
  });
  const pages = [1, 2, 3].map((page) => get(light, '/menu/products', { page, pagesize: 5 }));
  const found = (await Promise.all(pages)).flatMap((each) => each.json.products.map((one: Json) => one.ext_id));
  expect(found).toEqual(extIds);
});

test('A-514 pages of categories and orders end early too, and the cursor reaches every one', async () => {
  const many = await core.addRestaurant();
  const names = Array.from({ length: 5 }, (_, i) => `C${i}`);
  const categories = names.map((name) => category(name, { options: options(50, 200) }));
  await accepted(many, { categories, products: [] });
  const listed = await follow(many, '/menu/categories');
  expect(listed.map(({ json }) => json.categories.length)).toEqual([2, 2, 1]);
  expect(listed.flatMap(({ json }) => json.categories.map((each: Json) => each.ext_id))).toEqual(names);

  const shop = await openShop(core);
  const placed: string[] = [];
  // Random text cannot be stored in less.
  const line = () => shop.line('P1', { notes: randomBytes(250).toString('hex') });
  for (let i = 0; i < 9; i += 1) placed.push((await shop.placed({ details: Array.from({ length: 200 }, line) })).uid);
  for (const query of [{}, { closed: 0, dmethod: '0' }] as const) {
    const pages = await follow(shop, '/orders/list', query);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flatMap(({ json }) => json.orders.map((each: Json) => each.uid)).toSorted()).toEqual(
      placed.toSorted(),
    );
    const { status, json } = await get(shop, '/orders/list', { ...query, page: 2, pagesize: 8 });
    expect([status, json.errors]).toMatchObject([400, [{ pointer: 'pagesize', code: 'RANGE' }]]);
  }
});

test('A-766 a page of what an import changed ends early where the elements are large, and the next ones have the rest', async () => {
  const restaurant = await core.addRestaurant();
  const own = (price: number) => extIds.map((extId) => product(extId, { price, options: options(15, 200) }));
  await accepted(restaurant, { categories: [category('C1')], products: own(7) });
  await accepted(restaurant, { categories: [category('C1')], products: own(8) });
  const menus = createStaffMenus(core.db, createLog({ level: 'silent', role: 'test' }));
  const latest = await menus.latestChange(restaurant.restuid);
  if (latest === undefined) throw new Error('the import has no record');
  const pages: { name: string | null; price: { before: number | null; after: number | null } }[][] = [];
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const page = await menus.changes(restaurant.restuid, latest, { after, limit: 50 });
    pages.push(page.items.map(({ name, price }) => ({ name: name.after, price })));
    after = page.items.at(-1)?.cursor;
    hasMore = page.hasMore;
  }
  expect(pages.length).toBeGreaterThan(1);
  const changed = pages.flat().toSorted((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1));
  expect(changed).toEqual(extIds.map((extId) => ({ name: `Product ${extId}`, price: { before: 700, after: 800 } })));
});

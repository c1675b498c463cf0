import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Answer,
  type Json,
  startOrdering,
  type TestOrdering,
  type TestRestaurant,
} from '../../support/ordering.ts';

let core: TestOrdering;
let other: TestRestaurant;

const size = {
  ext_id: 'size',
  name: 'Size',
  type: 'single',
  option_values: [
    { ext_id: 'l', name: 'Large', price_operator: '=', price_operand: 11, position: 2 },
    { ext_id: 's', name: 'Small', position: 1 },
  ],
};

const importMenu = async (restaurant: TestRestaurant, categories: Json[], products: Json[]): Promise<void> => {
  const body = { pos_uid: 'till-1', update_mode: 'replace', categories, products };
  const answer = await core.call('POST', '/menu/import', { caller: restaurant.caller, body });
  expect(answer.status).toBe(200);
};

beforeAll(async () => {
  core = await startOrdering();
  other = await core.addRestaurant();
  await importMenu(
    core.restaurant,
    [
      { ext_id: 'wine', name: 'Vini', position: 2 },
      { ext_id: 'pizza', name: 'Pizze', position: 1, description: 'From the oven', options: [size] },
      { ext_id: 'old', name: 'Old', position: 0, hidden: true },
    ],
    [
      { ext_id: 'chianti', category_ext_id: 'wine', name: 'Chianti 100%', price: 5 },
      { ext_id: 'diavola', category_ext_id: 'pizza', name: 'Diavola', price: 9, position: 2 },
      { ext_id: 'margherita', category_ext_id: 'pizza', name: 'Margherità', price: 7.5, position: 1 },
      { ext_id: 'secret', category_ext_id: 'pizza', name: 'Secret', price: 8, position: 3, hidden: true },
      { ext_id: 'stale', category_ext_id: 'old', name: 'Stale', price: 1 },
    ],
  );
  await importMenu(
    other,
    [{ ext_id: 'pizza', name: 'Pizze' }],
    [{ ext_id: 'p', category_ext_id: 'pizza', name: 'Pizza', price: 1 }],
  );
});
afterAll(() => core.close());

const get = (path: string, query: Record<string, string | number> = {}): Promise<Answer> =>
  core.call('GET', path, { query });

const extIds = async (
  what: 'categories' | 'products',
  query: Record<string, string | number> = {},
): Promise<string[]> => {
  const answer = await get(`/menu/${what}`, query);
  expect(answer.status).toBe(200);
  return answer.json[what].map((each: Json) => each.ext_id);
};

const uidOf = async (what: 'categories' | 'products', extId: string): Promise<string> =>
  (await get(`/menu/${what}`, { visible: 0 })).json[what].find((each: Json) => each.ext_id === extId).uid;

test('A-104 lists show what is not hidden, all with visible 0, in the order of the menu', async () => {
  expect(await extIds('categories')).toEqual(['pizza', 'wine']);
  expect(await extIds('categories', { visible: 0 })).toEqual(['old', 'pizza', 'wine']);
  expect(await extIds('products')).toEqual(['margherita', 'diavola', 'chianti']);
  expect(await extIds('products', { visible: 0 })).toEqual(['stale', 'margherita', 'diavola', 'secret', 'chianti']);
  const answer = await get('/menu/products', { visible: 2 });
  expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: 'visible', code: 'ENUM' }]]);
});

test('A-104 q is a part of the name without case, and never a pattern', async () => {
  expect(await extIds('products', { q: 'GHERITÀ' })).toEqual(['margherita']);
  expect(await extIds('products', { q: '%' })).toEqual(['chianti']);
  expect(await extIds('products', { q: 'secret' })).toEqual([]);
  expect(await extIds('products', { q: 'secret', visible: 0 })).toEqual(['secret']);
  expect(await extIds('categories', { q: 'zz' })).toEqual(['pizza']);
  const answer = await get('/menu/categories', { q: 'x'.repeat(101) });
  expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: 'q', code: 'LENGTH' }]]);
});

test('A-104 products of one category, hidden categories too; an unknown one is CATEGORY_NOT_FOUND', async () => {
  expect(await extIds('products', { catuid: await uidOf('categories', 'pizza') })).toEqual(['margherita', 'diavola']);
  expect(await extIds('products', { catuid: await uidOf('categories', 'old') })).toEqual([]);
  expect(await extIds('products', { catuid: await uidOf('categories', 'old'), visible: 0 })).toEqual(['stale']);
  const unknown = await get('/menu/products', { catuid: 'cat_unknown' });
  expect([unknown.status, unknown.json.error]).toEqual([404, 'CATEGORY_NOT_FOUND']);
});

test('A-012 a category has every member, null where there is nothing, and counts its products that are not hidden', async () => {
  const { category } = (await get('/menu/category', { uid: await uidOf('categories', 'pizza') })).json;
  expect(category).toEqual({
    uid: expect.stringMatching(/^cat_/),
    name: 'Pizze',
    description: 'From the oven',
    image: null,
    products_count: 2,
    url: null,
    hidden: false,
    position: 1,
    subrestaurant_uids: [],
    ext_id: 'pizza',
    options: [
      {
        uid: expect.stringMatching(/^opt_/),
        name: 'Size',
        short_name: null,
        type: 'single',
        min_selectable: 0,
        max_selectable: 1,
        max_quantity: 1,
        note: null,
        hidden: false,
        position: 0,
        primary: false,
        first_default: false,
        show_caption: false,
        print_caption: false,
        subrestaurant_uids: [],
        ext_id: 'size',
        option_values: [expect.objectContaining({ ext_id: 's', position: 1 }), expect.anything()],
      },
    ],
  });
  expect(category.options[0].option_values[1]).toEqual({
    uid: expect.stringMatching(/^opv_/),
    name: 'Large',
    short_name: null,
    price_operator: '=',
    price_operand: 11,
    hidden: false,
    position: 2,
    checked_default: false,
    subrestaurant_uids: [],
    restrict_to_primary_value_uids: [],
    ext_id: 'l',
  });
});

test('A-012 a product has every member and the options that apply', async () => {
  const { product } = (await get('/menu/product', { uid: await uidOf('products', 'secret') })).json;
  const { category } = (await get('/menu/category', { uid: product.category_uid })).json;
  expect(product).toEqual({
    uid: expect.stringMatching(/^prd_/),
    category_uid: await uidOf('categories', 'pizza'),
    name: 'Secret',
    ingredients: null,
    price: 8,
    prices_table: {},
    image: null,
    allergens: [],
    symbols: [],
    suggested: false,
    price_sale_alert: false,
    price_sale_badge: 0,
    checkout_selling: false,
    url: null,
    hidden: true,
    position: 3,
    subrestaurant_uids: [],
    ext_id: 'secret',
    inherits_options: 'sync',
    options: category.options,
  });
});

test('F-07 A-065 the lists of a menu go by page and by cursor, to the same end', async () => {
  const first = await get('/menu/products', { pagesize: 2 });
  expect(first.json).toMatchObject({ page: 1, pagesize: 2, total_count: 3, more: true });
  const last = await get('/menu/products', { pagesize: 2, page: 2 });
  expect(last.json).toMatchObject({ page: 2, total_count: 3, more: false, next_cursor: null });
  expect([...first.json.products, ...last.json.products].map((each: Json) => each.ext_id)).toEqual(
    await extIds('products'),
  );
  const next = await get('/menu/products', { pagesize: 2, cursor: first.json.next_cursor });
  expect(next.json).toEqual(last.json);
  const past = await get('/menu/categories', { page: 1_000_000 });
  expect(past.json).toMatchObject({ categories: [], total_count: 2, more: false, next_cursor: null });
  const wrong = await get('/menu/categories', { pagesize: 101 });
  expect([wrong.status, wrong.json.errors]).toMatchObject([400, [{ pointer: 'pagesize', code: 'RANGE' }]]);
});

test('A-029 elements of another restaurant answer like invented ones', async () => {
  const theirs = async (path: string, what: string): Promise<string> =>
    (await core.call('GET', path, { caller: other.caller })).json[what][0].uid;
  const category = await theirs('/menu/categories', 'categories');
  const product = await theirs('/menu/products', 'products');
  for (const [path, name, uid, code] of [
    ['/menu/category', 'uid', category, 'CATEGORY_NOT_FOUND'],
    ['/menu/products', 'catuid', category, 'CATEGORY_NOT_FOUND'],
    ['/menu/product', 'uid', product, 'PRODUCT_NOT_FOUND'],
  ] as const) {
    const ask = (value: string): Promise<Answer> =>
      core.call('GET', path, { query: { [name]: value }, headers: { 'x-request-id': 'same' } });
    const [foreign, invented] = [await ask(uid), await ask(`${uid.slice(0, -3)}000`)];
    expect([foreign.status, foreign.json.error]).toEqual([404, code]);
    expect(foreign.text).toBe(invented.text);
  }
  const own = await core.call('GET', '/menu/product', { caller: other.caller, query: { uid: product } });
  expect(own.status).toBe(200);
});

test('a read without uid is MISSING_PARAMETER', async () => {
  for (const path of ['/menu/category', '/menu/product']) {
    const answer = await get(path);
    expect([answer.status, answer.json.error, answer.json.errors]).toMatchObject([
      400,
      'MISSING_PARAMETER',
      [{ pointer: 'uid', code: 'REQUIRED' }],
    ]);
  }
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { importMenu, MenuRefused } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import {
  type Answer,
  clientOf,
  type Json,
  startOrdering,
  type TestOrdering,
  type TestRestaurant,
} from '../support/ordering.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

type Body = Record<string, unknown>;

const category = (ext_id: string, more: Body = {}): Body => ({ ext_id, name: `Category ${ext_id}`, ...more });
const product = (ext_id: string, more: Body = {}): Body => ({
  ext_id,
  category_ext_id: 'C1',
  name: `Product ${ext_id}`,
  price: 7.5,
  ...more,
});

const size: Body = {
  ext_id: 'size',
  name: 'Size',
  type: 'single',
  min_selectable: 1,
  primary: true,
  option_values: [
    { ext_id: 's', name: 'Small' },
    { ext_id: 'l', name: 'Large', price_operand: 4 },
  ],
};
const toppings: Body = {
  ext_id: 'toppings',
  name: 'Toppings',
  type: 'multiple',
  max_selectable: 6,
  option_values: [
    { ext_id: 'ham', name: 'Ham', price_operand: '1.50' },
    { ext_id: 'egg', name: 'Egg', price_operand: 1, restrict_to_primary_value_ext_ids: ['l'] },
  ],
};

const send = (restaurant: TestRestaurant, body: Body, caller = restaurant.caller): Promise<Answer> =>
  core.call('POST', '/menu/import', { caller, body: { pos_uid: 'till-1', update_mode: 'replace', ...body } });

const accepted = async (restaurant: TestRestaurant, body: Body, caller = restaurant.caller): Promise<Json> => {
  const answer = await send(restaurant, body, caller);
  expect(answer.json.import?.errors ?? answer.json).toEqual([]);
  expect(answer.status).toBe(200);
  return answer.json.import;
};

const refused = async (restaurant: TestRestaurant, body: Body): Promise<Json> => {
  const answer = await send(restaurant, body);
  expect([answer.status, answer.json.error]).toEqual([422, 'IMPORT_ERROR']);
  expect(answer.json.import).toMatchObject({ state: 'failed', version: null });
  return answer.json.import;
};

const list = async (what: 'categories' | 'products', restaurant: TestRestaurant): Promise<Json[]> =>
  (await core.call('GET', `/menu/${what}`, { caller: restaurant.caller, query: { visible: 0 } })).json[what];

/** Everything that a reader sees of the menu. */
const menuOf = async (restaurant: TestRestaurant): Promise<Json> => ({
  categories: await list('categories', restaurant),
  products: await list('products', restaurant),
});

const uidsByExtId = async (what: 'categories' | 'products', restaurant: TestRestaurant): Promise<Map<string, string>> =>
  new Map((await list(what, restaurant)).map((each) => [each.ext_id, each.uid]));

const codesOf = (report: Json): [string, string][] =>
  report.errors.map((error: Json): [string, string] => [error.code, error.pointer]);

test('A-095 a replace states categories and products; a merge may leave them out', async () => {
  const { caller } = await core.addRestaurant();
  const import_ = (body: Body): Promise<Answer> => core.call('POST', '/menu/import', { caller, body });
  const missing = await import_({ pos_uid: 'till-1', update_mode: 'replace', categories: [] });
  expect([missing.status, missing.json.error, missing.json.errors]).toMatchObject([
    400,
    'MISSING_PARAMETER',
    [{ pointer: 'products', code: 'REQUIRED' }],
  ]);
  const both = await import_({ update_mode: 'replace', max_removal_percent: 101 });
  expect(both.json.error).toBe('MISSING_PARAMETER');
  expect(both.json.errors.map((error: Json) => [error.pointer, error.code])).toEqual([
    ['max_removal_percent', 'RANGE'],
    ['pos_uid', 'REQUIRED'],
    ['categories', 'REQUIRED'],
    ['products', 'REQUIRED'],
  ]);
  const merged = await import_({ pos_uid: 'till-1', update_mode: 'merge', products: [] });
  expect([merged.status, merged.json.import.state]).toEqual([200, 'applied']);
});

test('only what is wrong at the top is VALIDATION_ERROR, and asking for a plan is refused while there are none', async () => {
  const restaurant = await core.addRestaurant();
  for (const [body, pointer, code] of [
    [{ categories: {}, products: [] }, 'categories', 'TYPE'],
    [{ categories: new Array(1001).fill({}), products: [] }, 'categories', 'LENGTH'],
    [{ categories: [], products: new Array(5001).fill(0) }, 'products', 'LENGTH'],
    [{ categories: [], products: [], update_mode: 'append' }, 'update_mode', 'ENUM'],
    [{ categories: [], products: [], pos_uid: 'x'.repeat(65) }, 'pos_uid', 'LENGTH'],
    [{ categories: [], products: [], dry_run: true }, 'dry_run', 'NOT_ENABLED'],
    [{ plan_id: 'pln_1' }, 'plan_id', 'NOT_ENABLED'],
  ] as [Body, string, string][]) {
    const answer = await send(restaurant, body);
    expect([answer.status, answer.json.error]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.json.errors).toMatchObject([{ pointer, code }]);
  }
  const values = Array.from({ length: 200 }, (_, i) => ({ ext_id: `v${i}`, name: 'V' }));
  const option = (i: number): Body => ({ ext_id: `o${i}`, name: 'O', type: 'multiple', option_values: values });
  const full = { options: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(option) };
  const products = Array.from({ length: 26 }, (_, i) => product(`P${i}`, full));
  const answer = await send(restaurant, { categories: [category('C1')], products });
  expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: 'products', code: 'LENGTH' }]]);
  expect(await menuOf(restaurant)).toEqual({ categories: [], products: [] });
});

test('an import creates what was sent, and the report says so', async () => {
  const restaurant = await core.addRestaurant();
  const report = await accepted(restaurant, {
    categories: [category('C1', { options: [size] })],
    products: [
      product('P1', { options: [toppings], description: 'Tomato', allergens: ['milk'], prices_table: { 1: 8 } }),
    ],
  });
  const created = (count: number): Json => ({ created: count, updated: 0, unchanged: 0, removed: 0 });
  expect(report).toMatchObject({
    version: 1,
    base_version: 0,
    plan_id: null,
    plan_expires_iso: null,
    state: 'applied',
    percent: 100,
    kind: 'import',
    pos_uid: 'till-1',
    update_mode: 'replace',
    client_id: restaurant.caller.id,
    created: '2026-03-01 12:00:00',
    created_iso: '2026-03-01T12:00:00+01:00',
    counts: { categories: created(1), products: created(1), options: created(2), option_values: created(4) },
    removal_percent: 0,
    warnings: [],
    errors: [],
  });
  expect(report.items.map((item: Json) => [item.kind, item.ext_id, item.action, item.pointer])).toEqual([
    ['category', 'C1', 'created', '/categories/0'],
    ['option', 'size', 'created', '/categories/0/options/0'],
    ['option_value', 's', 'created', '/categories/0/options/0/option_values/0'],
    ['option_value', 'l', 'created', '/categories/0/options/0/option_values/1'],
    ['product', 'P1', 'created', '/products/0'],
    ['option', 'toppings', 'created', '/products/0/options/0'],
    ['option_value', 'ham', 'created', '/products/0/options/0/option_values/0'],
    ['option_value', 'egg', 'created', '/products/0/options/0/option_values/1'],
  ]);
  const [shown] = await list('products', restaurant);
  expect(shown).toMatchObject({
    ext_id: 'P1',
    ingredients: 'Tomato',
    price: 7.5,
    prices_table: { 1: 8 },
    allergens: ['milk'],
    symbols: [],
    image: null,
    url: null,
    hidden: false,
    position: 0,
    inherits_options: 'sync',
  });
  const large = shown.options[0].option_values[1].uid;
  expect(shown.options.map((option: Json) => [option.ext_id, option.max_selectable, option.max_quantity])).toEqual([
    ['size', 1, 1],
    ['toppings', 6, 0],
  ]);
  expect(shown.options[1].option_values).toMatchObject([
    { ext_id: 'ham', price_operator: '+', price_operand: 1.5, restrict_to_primary_value_uids: [] },
    { ext_id: 'egg', price_operand: 1, restrict_to_primary_value_uids: [large] },
  ]);
  expect((await core.events({ kind: 'menu', entity: restaurant.restuid }))[0]).toMatchObject({
    event: 'menu.changed',
    seq: 1,
    previous_seq: null,
    menu: {
      version: 1,
      previous_version: 0,
      cause: 'import',
      categories: { created: [{ uid: shown.category_uid, ext_id: 'C1' }], updated: [], removed: [] },
      products: { created: [{ uid: shown.uid, ext_id: 'P1' }], updated: [], removed: [] },
    },
  });
});

test('A-096 the same import again changes nothing: same version, no event; the same ext_id of two clients is two elements', async () => {
  const restaurant = await core.addRestaurant();
  const menu = {
    categories: [category('C1', { options: [size], subrestaurant_uids: ['loc_1'] })],
    products: [
      product('P1', { options: [toppings], prices_table: { '20': 9, '1': 8, '0t': 7 } }),
      product('P2', { inherits_options: 'copy' }),
    ],
  };
  const first = await accepted(restaurant, menu);
  const before = await menuOf(restaurant);
  const again = await accepted(restaurant, menu);
  expect([first.version, again.version, again.base_version, again.items]).toEqual([1, 1, 1, []]);
  const unchanged = (count: number): Json => ({ created: 0, updated: 0, unchanged: count, removed: 0 });
  expect(again.counts).toEqual({
    categories: unchanged(1),
    products: unchanged(2),
    options: unchanged(2),
    option_values: unchanged(4),
  });
  expect(await menuOf(restaurant)).toEqual(before);

  const other = clientOf([restaurant.restuid], { id: 'opc_other' });
  const second = await accepted(restaurant, menu, other);
  expect([second.version, second.counts.products.created]).toEqual([2, 2]);
  const both = await list('products', restaurant);
  expect(both.map((each) => each.ext_id).sort()).toEqual(['P1', 'P1', 'P2', 'P2']);
  expect(new Set(both.map((each) => each.uid)).size).toBe(4);
  const events = await core.events({ kind: 'menu', entity: restaurant.restuid });
  expect(events.map((event) => [event.seq, event.previous_seq])).toEqual([
    [1, null],
    [2, 1],
  ]);
});

test('A-097 a replace removes what its own point of sale left out, and what is sent again has its uid back', async () => {
  const restaurant = await core.addRestaurant();
  const other = clientOf([restaurant.restuid], { id: 'opc_other' });
  const categories = [category('C1'), category('C2', { options: [size] })];
  const plain = ['P1', 'P2', 'P3'].map((ext_id) =>
    product(ext_id, { options: [{ ...toppings, option_values: [] }], inherits_options: 'none' }),
  );
  await accepted(restaurant, { categories, products: plain });
  await accepted(restaurant, { categories: [category('C1')], products: [product('P9')] }, other);
  await accepted(restaurant, { pos_uid: 'till-2', update_mode: 'merge', products: [product('P5')] });
  const before = await uidsByExtId('products', restaurant);
  const categoriesBefore = await uidsByExtId('categories', restaurant);
  expect([...before.keys()].sort()).toEqual(['P1', 'P2', 'P3', 'P5', 'P9']);

  const less = await accepted(restaurant, { categories: [category('C1')], products: plain.slice(0, 2) });
  expect([less.counts.categories.removed, less.counts.products.removed]).toEqual([1, 1]);
  expect([less.counts.options.removed, less.counts.option_values.removed, less.removal_percent]).toEqual([2, 2, 50]);
  expect(less.items.filter((item: Json) => item.kind === 'product')).toEqual([
    { kind: 'product', ext_id: 'P3', uid: before.get('P3'), action: 'removed', pointer: null, changes: [] },
  ]);
  expect([...(await uidsByExtId('products', restaurant)).keys()].sort()).toEqual(['P1', 'P2', 'P5', 'P9']);
  const gone = await core.call('GET', '/menu/product', {
    caller: restaurant.caller,
    query: { uid: before.get('P3') ?? '' },
  });
  expect([gone.status, gone.json.error]).toEqual([404, 'PRODUCT_NOT_FOUND']);
  const event = (await core.events({ kind: 'menu', entity: restaurant.restuid })).at(-1);
  expect(event.menu.products).toEqual({ created: [], updated: [], removed: [{ uid: before.get('P3'), ext_id: 'P3' }] });

  const back = await accepted(restaurant, { categories, products: plain });
  expect([back.counts.categories.created, back.counts.products.created, back.counts.options.created]).toEqual([
    1, 1, 2,
  ]);
  expect(await uidsByExtId('products', restaurant)).toEqual(before);
  expect(await uidsByExtId('categories', restaurant)).toEqual(categoriesBefore);
});

test("A-097 what the panel made is nobody else's to change or remove", async () => {
  const restaurant = await core.addRestaurant();
  const make = (products: Body[]) =>
    inTransaction(core.db, (tx) =>
      importMenu(tx, {
        restuid: restaurant.restuid,
        owner: null,
        posUid: 'till-1',
        mode: 'merge',
        categories: [category('C1')],
        products,
        now: core.clock.now(),
      }),
    );
  await expect(make([product('P1', { price: 'free' })])).rejects.toThrow(MenuRefused);
  await make([product('P1')]);
  const before = await menuOf(restaurant);
  const report = await accepted(restaurant, { categories: [category('C1')], products: [product('P2')] });
  expect([report.version, report.counts.products]).toEqual([2, { created: 1, updated: 0, unchanged: 0, removed: 0 }]);
  await accepted(restaurant, { categories: [], products: [], confirm_removal: true });
  expect(await menuOf(restaurant)).toEqual(before);
});

test('a replace takes over what another point of sale of the same client sent, a merge leaves it where it was', async () => {
  const restaurant = await core.addRestaurant();
  const menu = { categories: [category('C1')], products: [product('P1'), product('P2')] };
  await accepted(restaurant, menu);
  await accepted(restaurant, { ...menu, pos_uid: 'till-2', update_mode: 'merge' });
  const stays = await accepted(restaurant, { categories: [], products: [], pos_uid: 'till-2', confirm_removal: true });
  expect([stays.version, stays.counts.products.removed]).toEqual([1, 0]);
  const taken = await accepted(restaurant, { ...menu, pos_uid: 'till-2' });
  expect([taken.version, taken.items]).toEqual([1, []]);
  const nothing = await accepted(restaurant, { categories: [], products: [], confirm_removal: true });
  expect([nothing.version, nothing.counts.products.removed]).toEqual([1, 0]);
  const less = await accepted(restaurant, {
    categories: [category('C1')],
    products: [product('P1')],
    pos_uid: 'till-2',
  });
  expect([less.version, less.counts.products.removed]).toEqual([2, 1]);
});

test('options and values that were left out come back with their uids', async () => {
  const restaurant = await core.addRestaurant();
  const optionsOf = async (): Promise<Json[]> => (await list('products', restaurant))[0].options;
  const menu = (options: Body[]): Body => ({ categories: [category('C1')], products: [product('P1', { options })] });
  await accepted(restaurant, menu([size, toppings]));
  const before = await optionsOf();
  const small = { ...size, option_values: (size.option_values as Body[]).slice(0, 1) };
  const less = await accepted(restaurant, menu([small]));
  expect(less.counts.options).toEqual({ created: 0, updated: 0, unchanged: 1, removed: 1 });
  expect(less.counts.option_values).toEqual({ created: 0, updated: 0, unchanged: 1, removed: 3 });
  expect((await optionsOf()).map((option) => [option.ext_id, option.option_values.length])).toEqual([['size', 1]]);
  await accepted(restaurant, menu([size, toppings]));
  expect(await optionsOf()).toEqual(before);
});

test('a merge changes what it names, keeps the rest and removes nothing; a replace puts what is left out to its default', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, {
    categories: [category('C1', { description: 'Good' }), category('C2')],
    products: [
      product('P1', { description: 'Tomato', suggested: true, position: 4 }),
      product('P2', { category_ext_id: 'C2' }),
    ],
  });
  const merged = await accepted(restaurant, {
    update_mode: 'merge',
    products: [{ ext_id: 'P1', price: '8.20', category_ext_id: 'C2' }, product('P3')],
  });
  expect(merged.counts.products).toEqual({ created: 1, updated: 1, unchanged: 0, removed: 0 });
  expect(merged.items[0]).toMatchObject({
    kind: 'product',
    ext_id: 'P1',
    action: 'updated',
    pointer: '/products/0',
    changes: [
      { field: 'category_ext_id', from: 'C1', to: 'C2' },
      { field: 'price', from: 7.5, to: 8.2 },
    ],
  });
  const find = async (ext_id: string): Promise<Json> =>
    (await list('products', restaurant)).find((each) => each.ext_id === ext_id);
  expect(await find('P1')).toMatchObject({
    name: 'Product P1',
    ingredients: 'Tomato',
    suggested: true,
    position: 4,
    price: 8.2,
  });
  expect(await find('P2')).toBeDefined();
  const cleared = await accepted(restaurant, { update_mode: 'merge', products: [{ ext_id: 'P1', description: '' }] });
  expect(cleared.items[0].changes).toEqual([{ field: 'description', from: 'Tomato', to: null }]);

  const incomplete = await refused(restaurant, { update_mode: 'merge', products: [{ ext_id: 'P8' }] });
  expect(codesOf(incomplete)).toEqual([
    ['REQUIRED', '/products/0/name'],
    ['REQUIRED', '/products/0/price'],
    ['REQUIRED', '/products/0/category_ext_id'],
  ]);

  await accepted(restaurant, {
    categories: [category('C1')],
    products: [product('P1'), product('P3')],
    confirm_removal: true,
  });
  expect(await find('P1')).toMatchObject({ ingredients: null, suggested: false, position: 0, price: 7.5 });
});

test('a merged options array replaces the old one; without it the options stay', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, {
    categories: [category('C1')],
    products: [product('P1', { options: [size, toppings] })],
  });
  const names = async (): Promise<string[]> =>
    (await list('products', restaurant))[0].options.map((option: Json) => option.ext_id);
  await accepted(restaurant, { update_mode: 'merge', products: [{ ext_id: 'P1', name: 'Other' }] });
  expect(await names()).toEqual(['size', 'toppings']);
  const report = await accepted(restaurant, { update_mode: 'merge', products: [{ ext_id: 'P1', options: [size] }] });
  expect(report.counts.options).toEqual({ created: 0, updated: 0, unchanged: 1, removed: 1 });
  expect(await names()).toEqual(['size']);
  const events = await core.events({ kind: 'menu', entity: restaurant.restuid });
  expect(events.at(-1).menu.products.updated).toHaveLength(1);
});

test('A-099 every fault of an import is in one report, with its place', async () => {
  const restaurant = await core.addRestaurant();
  const report = await refused(restaurant, {
    categories: [
      category('C1', { options: [size] }),
      category('C1'),
      category('C2', { options: [size, { ...size, ext_id: 'size2' }] }),
    ],
    products: [
      product('P1', { category_ext_id: 'C9' }),
      product('P2', { options: [{ ...toppings, min_selectable: 7, option_values: [] }] }),
      product('P3', { options: [{ ...size, ext_id: 'size3' }] }),
      product('P1'),
      product('P4', {
        options: [
          { ...toppings, option_values: [{ ext_id: 'a', name: 'A', restrict_to_primary_value_ext_ids: ['xl'] }] },
        ],
      }),
      product('P5', { options: [{ ...size, primary: false, max_selectable: 2 }, toppings, toppings] }),
    ],
  });
  expect(codesOf(report).sort((a, b) => (a[1] < b[1] ? -1 : 1))).toEqual([
    ['EXT_ID_DUPLICATE', '/categories/1/ext_id'],
    ['TWO_PRIMARY', '/categories/2/options/1/primary'],
    ['CATEGORY_UNKNOWN', '/products/0/category_ext_id'],
    ['OPTION_BOUNDS', '/products/1/options/0/min_selectable'],
    ['TWO_PRIMARY', '/products/2/options/0/primary'],
    ['EXT_ID_DUPLICATE', '/products/3/ext_id'],
    ['VALUE_UNKNOWN', '/products/4/options/0/option_values/0/restrict_to_primary_value_ext_ids'],
    ['OPTION_BOUNDS', '/products/5/options/0/max_selectable'],
    ['EXT_ID_DUPLICATE', '/products/5/options/2/ext_id'],
  ]);
  expect(report.errors.find((error: Json) => error.code === 'CATEGORY_UNKNOWN')).toMatchObject({ ext_id: 'P1' });
  expect(await menuOf(restaurant)).toEqual({ categories: [], products: [] });
});

test('wrong types inside elements are findings of the import, never a crash and never VALIDATION_ERROR', async () => {
  const restaurant = await core.addRestaurant();
  const odd: [unknown, [string, string][]][] = [
    [null, [['TYPE', '']]],
    ['P1', [['TYPE', '']]],
    [[], [['TYPE', '']]],
    [product('', {}), [['EXT_ID_MISSING', '/ext_id']]],
    [product('P1', { ext_id: {} }), [['TYPE', '/ext_id']]],
    [product('x'.repeat(101)), [['LENGTH', '/ext_id']]],
    [product('P1', { name: {} }), [['TYPE', '/name']]],
    [product('P1', { name: ' ' }), [['REQUIRED', '/name']]],
    [product('P1', { name: null }), [['REQUIRED', '/name']]],
    [product('P1', { price: 'cheap' }), [['TYPE', '/price']]],
    [product('P1', { price: -1 }), [['RANGE', '/price']]],
    [product('P1', { price: 1.005 }), [['FORMAT', '/price']]],
    [product('P1', { description: 'x'.repeat(2001) }), [['LENGTH', '/description']]],
    [product('P1', { image: '/local.png' }), [['FORMAT', '/image']]],
    [product('P1', { image: 'javascript:alert(1)' }), [['FORMAT', '/image']]],
    [product('P1', { hidden: 'maybe' }), [['TYPE', '/hidden']]],
    [
      product('P1', { allergens: ['milk', 'wood', 3] }),
      [
        ['ENUM', '/allergens/1'],
        ['ENUM', '/allergens/2'],
      ],
    ],
    [product('P1', { symbols: 'vegan' }), [['TYPE', '/symbols']]],
    [product('P1', { inherits_options: 'all' }), [['ENUM', '/inherits_options']]],
    [product('P1', { prices_table: [1] }), [['TYPE', '/prices_table']]],
    [
      product('P1', { prices_table: { 'a/b': 1, 1: 'x' } }),
      [
        ['TYPE', '/prices_table/1'],
        ['FORMAT', '/prices_table/a~1b'],
      ],
    ],
    [JSON.parse('{"__proto__":{"name":"x"},"ext_id":"P1","category_ext_id":"C1","price":1}'), [['REQUIRED', '/name']]],
    [product('P1', { price_sale_badge: 101 }), [['RANGE', '/price_sale_badge']]],
    [product('P1', { category_ext_id: [] }), [['TYPE', '/category_ext_id']]],
    [product('P1', { options: {} }), [['TYPE', '/options']]],
    [product('P1', { options: new Array(101).fill({}) }), [['LENGTH', '/options']]],
    [product('P1', { options: [7] }), [['TYPE', '/options/0']]],
    [product('P1', { options: [{ ...size, type: 'both' }] }), [['ENUM', '/options/0/type']]],
    [product('P1', { options: [{ ...size, option_values: 3 }] }), [['TYPE', '/options/0/option_values']]],
    [
      product('P1', { options: [{ ...size, option_values: [{ ext_id: 'v', name: 'V', price_operator: '*' }] }] }),
      [['ENUM', '/options/0/option_values/0/price_operator']],
    ],
    [
      product('P1', { options: [{ ...size, option_values: [{ name: 'V', price_operand: [] }] }] }),
      [
        ['EXT_ID_MISSING', '/options/0/option_values/0/ext_id'],
        ['TYPE', '/options/0/option_values/0/price_operand'],
      ],
    ],
  ];
  for (const [element, findings] of odd) {
    const report = await refused(restaurant, { categories: [category('C1')], products: [element] });
    expect(codesOf(report)).toEqual(findings.map(([code, place]) => [code, `/products/0${place}`]));
    expect(report.counts.products.created).toBe(0);
  }
  const all = await refused(restaurant, { categories: [category('C1')], products: odd.map(([element]) => element) });
  expect(all.errors.length).toBeGreaterThan(odd.length - 1);
  expect(await menuOf(restaurant)).toEqual({ categories: [], products: [] });
});

test('warnings name what is probably not meant, and the import is applied', async () => {
  const restaurant = await core.addRestaurant();
  const report = await accepted(restaurant, {
    colour: 'red',
    categories: [category('C1'), category('C2', { name: 'category c1', emoji: '🍕' }), category('C3', { emoji: 'x' })],
    products: [
      product('P1', { price: 0 }),
      product('P2', { name: 'PRODUCT P1', category_ext_id: 'C3' }),
      product('P3', { name: 'PRODUCT P1', 'a/b': 1, options: [{ ...toppings, option_values: [] }] }),
    ],
  });
  expect(report.warnings.map((warning: Json) => [warning.code, warning.pointer, warning.ext_id])).toEqual([
    ['UNKNOWN_FIELD', '/colour', null],
    ['UNKNOWN_FIELD', '/categories/1/emoji', 'C2'],
    ['UNKNOWN_FIELD', '/products/2/a~1b', 'P3'],
    ['OPTION_WITHOUT_VALUES', '/products/2/options/0', 'toppings'],
    ['PRICE_ZERO', '/products/0', 'P1'],
    ['DUPLICATE_NAME', '/products/2', 'P3'],
    ['EMPTY_CATEGORY', '/categories/1', 'C2'],
    ['DUPLICATE_NAME', '/categories/1', 'C2'],
  ]);
  expect(report.state).toBe('applied');
});

test('A-102 a replace that removes more than allowed stops, unless it is confirmed', async () => {
  const restaurant = await core.addRestaurant();
  const products = Array.from({ length: 100 }, (_, i) => product(`P${i}`));
  await accepted(restaurant, { categories: [category('C1')], products });
  const less = { categories: [category('C1')], products: products.slice(0, 49) };
  const report = await refused(restaurant, less);
  expect(codesOf(report)).toEqual([['REMOVAL_GUARD', '/products']]);
  expect([report.removal_percent, report.counts.products.removed]).toEqual([51, 51]);
  expect((await list('products', restaurant)).length).toBe(100);
  const wider = await refused(restaurant, { ...less, max_removal_percent: 50.0 });
  expect(wider.errors).toHaveLength(1);
  const half = await accepted(restaurant, { ...less, products: products.slice(0, 50) });
  expect([half.removal_percent, half.version]).toEqual([50, 2]);
  await refused(restaurant, { categories: [], products: [] });
  const all = await accepted(restaurant, { categories: [], products: [], confirm_removal: true });
  expect([all.removal_percent, all.counts.categories.removed, all.counts.products.removed]).toEqual([100, 1, 50]);
  expect(await menuOf(restaurant)).toEqual({ categories: [], products: [] });
});

test('a category stays while another point of sale has a product in it', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C1'), category('C2')], products: [product('P1')] });
  await accepted(restaurant, { pos_uid: 'till-2', update_mode: 'merge', products: [product('P2')] });
  const report = await accepted(restaurant, { categories: [], products: [], confirm_removal: true });
  expect([report.counts.categories.removed, report.counts.products.removed]).toEqual([1, 1]);
  const menu = await menuOf(restaurant);
  expect(menu.categories.map((each: Json) => each.ext_id)).toEqual(['C1']);
  expect(menu.products.map((each: Json) => each.category_uid)).toEqual([menu.categories[0].uid]);
  const cannot = await refused(restaurant, { categories: [], products: [product('P1')] });
  expect(codesOf(cannot)).toEqual([['CATEGORY_UNKNOWN', '/products/0/category_ext_id']]);
});

test('a category that brings a second primary option to a product that was not sent is refused', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C1')], products: [product('P1', { options: [size] })] });
  const report = await refused(restaurant, {
    update_mode: 'merge',
    categories: [category('C1', { options: [{ ...size, ext_id: 'other' }] })],
  });
  expect(codesOf(report)).toEqual([['TWO_PRIMARY', '/categories/0/options/0/primary']]);
  await accepted(restaurant, {
    update_mode: 'merge',
    categories: [category('C1', { options: [{ ...size, ext_id: 'other', hidden: true }] })],
  });
});

test('A-105 a product that syncs follows its category, one that copied stays, one without has none', async () => {
  const restaurant = await core.addRestaurant();
  const menu = (options: Body[]): Body => ({
    categories: [category('C1', { options })],
    products: ['sync', 'copy', 'none'].map((inherits_options) => product(inherits_options, { inherits_options })),
  });
  const optionsOf = async (): Promise<Record<string, string[]>> =>
    Object.fromEntries(
      (await list('products', restaurant)).map((each) => [
        each.ext_id,
        each.options.map((option: Json) => `${option.name} ${option.option_values.map((value: Json) => value.name)}`),
      ]),
    );
  await accepted(restaurant, menu([size, toppings]));
  const both = ['Size Small,Large', 'Toppings Ham,Egg'];
  expect(await optionsOf()).toEqual({ sync: both, copy: both, none: [] });
  const products = await list('products', restaurant);
  const [synced, copied] = products.map((each) => each.options);
  const uids = (options: Json[]): string[] =>
    options.flatMap((option) => [option.uid, ...option.option_values.map((value: Json) => value.uid)]);
  expect(uids(synced).filter((uid) => uids(copied).includes(uid))).toEqual([]);
  expect(copied[1].option_values[1].restrict_to_primary_value_uids).toEqual([copied[0].option_values[1].uid]);

  await accepted(restaurant, menu([{ ...size, name: 'How big' }]));
  expect(await optionsOf()).toEqual({ sync: ['How big Small,Large'], copy: both, none: [] });
  expect((await list('products', restaurant))[1].options).toEqual(copied);
});

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

test('amounts with decimals are refused where the currency has none', async () => {
  const restaurant = await core.addRestaurant({ currency: 'JPY' });
  const report = await refused(restaurant, {
    categories: [category('C1')],
    products: [product('P1'), product('P2', { price: 700 })],
  });
  expect(codesOf(report)).toEqual([['FORMAT', '/products/0/price']]);
});

test('parallel imports of one restaurant follow one another, and each finds what the other left', async () => {
  const restaurant = await core.addRestaurant();
  const imports = Array.from({ length: 8 }, (_, i) => ({
    update_mode: 'merge',
    categories: [category('C1')],
    products: [product('shared', { price: i + 1 }), product(`P${i}`)],
  }));
  const reports = await Promise.all(imports.map((body) => accepted(restaurant, body)));
  expect(reports.map((report) => report.version).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
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
  const last = reports.findIndex((report) => report.version === 8);
  expect(products.find((each) => each.ext_id === 'shared')?.price).toBe(last + 1);
  const events = await core.events({ kind: 'menu', entity: restaurant.restuid });
  expect(events.map((event) => [event.seq, event.previous_seq])).toEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((seq) => [seq, seq === 1 ? null : seq - 1]),
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

test('the largest menu goes in within seconds, readers are served meanwhile, and its repetition changes nothing', async () => {
  const restaurant = await core.addRestaurant();
  const menu = large();
  const started = performance.now();
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
  expect(performance.now() - started).toBeLessThan(20_000);
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

import { afterAll, beforeAll, expect, test } from 'vitest';
import { importMenu, MenuRefused } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type Answer, clientOf, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
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
let menuOf: MenuSender['menuOf'];
let uidsByExtId: MenuSender['uidsByExtId'];

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted, refused, list, menuOf, uidsByExtId } = createMenuSender(core));
});
afterAll(() => core.close());

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

test('an import creates the sent elements, and the report lists them', async () => {
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

test('A-097 no import changes or removes elements that the panel created', async () => {
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

test('a replace takes over elements of another point of sale of the same client, a merge does not', async () => {
  const restaurant = await core.addRestaurant();
  const menu = { categories: [category('C1')], products: [product('P1'), product('P2')] };
  await accepted(restaurant, menu);
  const touched = menu.products.map((each) => ({ ...each, price: 9 }));
  await accepted(restaurant, { products: touched, pos_uid: 'till-2', update_mode: 'merge' });
  await accepted(restaurant, { ...menu, pos_uid: 'till-2', update_mode: 'merge' });
  const stays = await accepted(restaurant, { categories: [], products: [], pos_uid: 'till-2', confirm_removal: true });
  expect([stays.version, stays.counts.products.removed]).toEqual([3, 0]);
  const taken = await accepted(restaurant, { ...menu, pos_uid: 'till-2' });
  expect([taken.version, taken.items]).toEqual([3, []]);
  const nothing = await accepted(restaurant, { categories: [], products: [], confirm_removal: true });
  expect([nothing.version, nothing.counts.products.removed]).toEqual([3, 0]);
  const less = await accepted(restaurant, {
    categories: [category('C1')],
    products: [product('P1')],
    pos_uid: 'till-2',
  });
  expect([less.version, less.counts.products.removed]).toEqual([4, 1]);
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

test('a merge changes named members only and removes nothing; a replace sets omitted members to their defaults', async () => {
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

  const changed = menu([{ ...size, name: 'How big' }]);
  await accepted(restaurant, {
    ...changed,
    products: (changed.products as Body[]).map((each) => ({ ...each, price: 9 })),
  });
  expect(await optionsOf()).toEqual({ sync: ['How big Small,Large'], copy: both, none: [] });
  expect((await list('products', restaurant))[1].options).toEqual(copied);
});

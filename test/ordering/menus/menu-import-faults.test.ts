import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
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
let send: MenuSender['send'];
let accepted: MenuSender['accepted'];
let refused: MenuSender['refused'];
let menuOf: MenuSender['menuOf'];

beforeAll(async () => {
  core = await startOrdering();
  ({ send, accepted, refused, menuOf } = createMenuSender(core));
});
afterAll(() => core.close());

test('only faults of top-level members are VALIDATION_ERROR, including members sent with a plan', async () => {
  const restaurant = await core.addRestaurant();
  for (const [body, pointer, code] of [
    [{ categories: {}, products: [] }, 'categories', 'TYPE'],
    [{ categories: new Array(1001).fill({}), products: [] }, 'categories', 'LENGTH'],
    [{ categories: [], products: new Array(5001).fill(0) }, 'products', 'LENGTH'],
    [{ categories: [], products: [], update_mode: 'append' }, 'update_mode', 'ENUM'],
    [{ categories: [], products: [], pos_uid: 'x'.repeat(65) }, 'pos_uid', 'LENGTH'],
    [{ categories: [], products: [], dry_run: 'maybe' }, 'dry_run', 'TYPE'],
    [{ plan_id: 'pln_1', update_mode: undefined }, 'pos_uid', 'CONFLICTING_VALUES'],
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
        ['TYPE', '/allergens/2'],
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

test('probably unintended values are warnings, and the import is applied', async () => {
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

test('an import copies at most 50,000 option values from categories to products, and names the product that is one too many', async () => {
  const restaurant = await core.addRestaurant();
  const values = Array.from({ length: 200 }, (_, i) => ({ ext_id: `v${i}`, name: 'V' }));
  const options = Array.from({ length: 50 }, (_, i) => ({ ...toppings, ext_id: `o${i}`, option_values: values }));
  await accepted(restaurant, { categories: [category('C1', { options })], products: [] });
  const copying = (count: number): Body[] =>
    Array.from({ length: count }, (_, i) => product(`P${i}`, { inherits_options: 'copy' }));
  const merge = { update_mode: 'merge', categories: undefined };
  const report = await refused(restaurant, { ...merge, products: copying(40) });
  expect(codesOf(report)).toEqual([['LENGTH', '/products/5']]);
  expect((await menuOf(restaurant)).products).toEqual([]);
  await accepted(restaurant, { ...merge, products: copying(5) });
  // What was copied before is not copied again.
  await accepted(restaurant, { ...merge, products: copying(6) });
});

test('an element that cannot be identified does not count as left out', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C1')], products: [product('P1')] });
  const report = await refused(restaurant, { categories: [category('C1')], products: [product('')] });
  expect(codesOf(report)).toEqual([['EXT_ID_MISSING', '/products/0/ext_id']]);
  expect(report.removal_percent).toBe(0);
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

test('A-525 a replace moves a primary option from a product that it removes to the category', async () => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, { categories: [category('C1')], products: [product('P1', { options: [size] })] });
  const moved = { categories: [category('C1', { options: [size] })], products: [product('P2')], confirm_removal: true };
  // The product of one point of sale stays when another sends its whole menu.
  const report = await refused(restaurant, { ...moved, pos_uid: 'other' });
  expect(codesOf(report)).toEqual([['TWO_PRIMARY', '/categories/0/options/0/primary']]);
  expect((await accepted(restaurant, moved)).counts.products).toMatchObject({ created: 1, removed: 1 });
});

test('amounts with decimals are refused where the currency has none', async () => {
  const restaurant = await core.addRestaurant({ currency: 'JPY' });
  const report = await refused(restaurant, {
    categories: [category('C1')],
    products: [product('P1'), product('P2', { price: 700 })],
  });
  expect(codesOf(report)).toEqual([['FORMAT', '/products/0/price']]);
});

test('A-096 whatever stands inside the elements, the answer is a report, and what was accepted changes nothing the second time', async () => {
  const restaurant = await core.addRestaurant();
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '1e3', '\\ud800', -0.001, 1e300),
  );
  const mostly = (good: fc.Arbitrary<unknown>) => fc.oneof({ weight: 9, arbitrary: good }, junk);
  const extId = mostly(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
  const name = mostly(fc.string({ minLength: 1, maxLength: 20 }));
  const some = (good: Record<string, fc.Arbitrary<unknown>>, fields: string[]) =>
    fc.record<Record<string, unknown>>(
      {
        ...Object.fromEntries(fields.map((field) => [field, mostly(fc.constant(undefined))])),
        ext_id: extId,
        name,
        ...good,
      },
      { requiredKeys: ['ext_id', 'name', ...Object.keys(good)] },
    );
  const restricted = mostly(fc.array(fc.constantFrom('a', 'b'), { maxLength: 1 }));
  const value = some({ restrict_to_primary_value_ext_ids: restricted }, [
    'price_operator',
    'price_operand',
    'position',
  ]);
  const option = some(
    {
      type: mostly(fc.constantFrom('single', 'multiple')),
      primary: mostly(fc.boolean()),
      option_values: mostly(fc.array(value, { maxLength: 3 })),
    },
    ['min_selectable', 'hidden', 'max_quantity'],
  );
  const options = mostly(fc.array(option, { maxLength: 2 }));
  const fields = ['description', 'image', 'hidden', 'position', 'subrestaurant_uids'];
  const more = ['prices_table', 'allergens', 'symbols', 'price_sale_badge'];
  const goods = {
    options,
    price: mostly(fc.integer({ min: 0, max: 100 })),
    category_ext_id: fc.constant('a'),
    inherits_options: mostly(fc.constantFrom('sync', 'copy', 'none')),
  };
  const body = fc.record({
    categories: fc
      .array(mostly(some({ options }, fields)), { maxLength: 2 })
      .map((others) => [category('a'), ...others]),
    products: fc.array(mostly(some(goods, [...fields, ...more])), { maxLength: 2 }),
    update_mode: fc.constantFrom('merge', 'replace'),
    confirm_removal: fc.constant(true),
  });
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const answer = await send(restaurant, sent);
      seen.add(answer.status);
      // A string with U+0000 is refused before anything is looked at.
      if (answer.status === 400) expect(answer.json.errors).toMatchObject([{ pointer: '', code: 'INVALID_JSON' }]);
      if (answer.status === 400) return;
      const applied = answer.status === 200;
      expect([answer.status, answer.json.import?.state]).toEqual(applied ? [200, 'applied'] : [422, 'failed']);
      if (!applied) return;
      const again = (await send(restaurant, sent)).json.import;
      expect([again.version, again.items]).toEqual([answer.json.import.version, []]);
    }),
    // A busy machine makes fewer runs, so that the test stays within its time.
    { numRuns: 300, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false },
  );
  expect(seen).toContain(200);
  expect(seen).toContain(422);
});

test('text that is not Unicode is a finding', async () => {
  const restaurant = await core.addRestaurant();
  const report = await refused(restaurant, {
    categories: [category('C1')],
    products: [product('P1', { name: 'a\ud800b', options: [{ ...size, note: '\udc00' }] })],
  });
  expect(codesOf(report)).toEqual([
    ['FORMAT', '/products/0/name'],
    ['FORMAT', '/products/0/options/0/note'],
  ]);
});

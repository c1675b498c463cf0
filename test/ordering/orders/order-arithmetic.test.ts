import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loyaltyDiscount, orderTotal, priceLine } from '#src/ordering/orders/price/order-arithmetic.ts';
import { percentageOf } from '#src/ordering/values/money.ts';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let shop: Shop;

const equals = (ext_id: string, price_operand: number, position: number) => ({
  ext_id,
  name: ext_id,
  price_operator: '=',
  price_operand,
  position,
});

const bowl = {
  ext_id: 'bowl',
  name: 'Bowl',
  price: 4,
  options: [
    // Sent in another sequence than their positions, so that only the position can decide.
    {
      ext_id: 'late',
      name: 'Late',
      type: 'multiple',
      position: 2,
      option_values: [equals('a', 7, 5), equals('b', 9, 1)],
    },
    { ext_id: 'early', name: 'Early', type: 'multiple', position: 1, option_values: [equals('c', 20, 9)] },
  ],
};

beforeAll(async () => {
  core = await startOrdering();
  const delivery = [{ name: 'Town', fee: 250, orderMin: 0, zips: ['50122'] }];
  shop = await openShop(core, { pointValue: 0.05, zones: delivery }, [bowl]);
});
afterAll(() => core.close());

const address = { street: 'Via Roma', city: 'Firenze', zip: '50122' };
const toHome = () => ({ dmethod: '1', pickup: null, delivery: { date: core.clock.now().toISOString(), address } });

const linesOf = async (details: unknown[], more: Record<string, unknown> = {}): Promise<Json[]> =>
  (await shop.read((await shop.placed({ details, ...more })).uid)).details;

test('A-079 the example of the interface: options 4.90, line 26.80, fee 2.50; with its coupon 2.68 off and 26.62 in all', async () => {
  const details = [shop.line('P1', { quantity: 2, options: { size: ['large'], extras: [['ham', 2]] } })];
  const receipt = await shop.placed({ ...toHome(), details });
  expect([receipt.total, receipt.delivery_fee]).toEqual([29.3, 2.5]);
  const order = await shop.read(receipt.uid);
  expect(order.details[0]).toMatchObject({
    price: 8.5,
    price_options: 4.9,
    quantity: 2,
    free_quantity: 0,
    total: 26.8,
  });
  expect([order.fee, order.total, order.coupon, order.loyalty]).toEqual([2.5, 29.3, null, null]);
  const discount = percentageOf(2680, 10, 'EUR');
  expect(discount).toBe(268);
  expect(orderTotal({ linesTotal: 2680, couponDiscount: discount, loyaltyDiscount: 0, fee: 250 })).toBe(2662);
});

test('A-079 12.5 % of 10.20 is 1.275 and gives 1.28: halves go up, once, and never by a binary fraction', () => {
  expect(percentageOf(1020, 12.5, 'EUR')).toBe(128);
  // 1.005 and 2.675 are less than they look as binary fractions.
  expect(percentageOf(2010, 5, 'EUR')).toBe(101);
  expect(percentageOf(5350, 5, 'EUR')).toBe(268);
  expect(percentageOf(99, 0.5, 'EUR')).toBe(0);
  expect(percentageOf(1050, 10, 'JPY')).toBe(100);
  expect(percentageOf(150_000, 10, 'JPY')).toBe(15_000);
  expect(percentageOf(1500, 10, 'JPY')).toBe(200);
  expect(loyaltyDiscount(50, 0.0001, 'EUR')).toBe(0);
  expect(loyaltyDiscount(10_000, 0.0001, 'EUR')).toBe(1);
  expect(loyaltyDiscount(150, 0.05, 'EUR')).toBe(8);
});

test('A-079 a discount is the exact quotient rounded half-up, whatever the figures', () => {
  const amounts = fc.integer({ min: 0, max: 100_000_000 });
  fc.assert(
    fc.property(amounts, fc.integer({ min: 0, max: 10_000 }), (total, percent) => {
      const exact = BigInt(total) * BigInt(percent);
      const floor = exact / 10_000n;
      const expected = Number(exact % 10_000n >= 5_000n ? floor + 1n : floor);
      expect(percentageOf(total, percent / 100, 'EUR')).toBe(expected);
    }),
  );
  fc.assert(
    fc.property(amounts, fc.integer({ min: 1, max: 10_000_000 }), (points, value) => {
      const exact = BigInt(points) * BigInt(value);
      const floor = exact / 10_000n;
      const expected = Number(exact % 10_000n >= 5_000n ? floor + 1n : floor);
      expect(loyaltyDiscount(points, value / 10_000, 'EUR')).toBe(expected);
    }),
  );
});

test('A-080 the price of the delivery method wins over the price, and methods without one have the price', async () => {
  expect(await linesOf([shop.line('P5', { quantity: 3 })])).toMatchObject([{ price: 5, total: 15 }]);
  expect(await linesOf([shop.line('P5', { quantity: 3 })], toHome())).toMatchObject([
    { price: 6.25, product: { price: 6.25 }, total: 18.75 },
  ]);
});

test('A-080 of several = values the last by option position, then value position, sets the unit', async () => {
  const all = { late: ['b', 'a'], early: ['c'] };
  expect(await linesOf([shop.line('bowl', { options: all })])).toMatchObject([{ price_options: 3, total: 7 }]);
  expect(await linesOf([shop.line('bowl', { options: { early: ['c'], late: ['b'] } })])).toMatchObject([{ total: 9 }]);
  expect(await linesOf([shop.line('bowl', { options: { early: ['c'] } })])).toMatchObject([{ total: 20 }]);
});

test('A-080 options never take a unit below zero, and price_options is the amount that they took', async () => {
  const details = [shop.line('P1', { quantity: 3, options: { extras: ['smaller', 'ham'] } })];
  expect(await linesOf(details)).toMatchObject([{ price: 8.5, price_options: -8.5, quantity: 3, total: 0 }]);
});

test('A-080 prices, fees and totals that a caller sends are ignored', async () => {
  const cheap = { price: 0.01, total: 0.01, price_options: -8, free_quantity: 1 };
  const line = { ...shop.line('P1'), ...cheap, product: { uid: shop.product('P1').uid, price: 0.01, name: 'Free' } };
  const receipt = await shop.placed({ ...toHome(), details: [line], total: 0.01, fee: 0, delivery_fee: 0, paid: true });
  expect([receipt.total, receipt.delivery_fee]).toEqual([11, 2.5]);
  const order = await shop.read(receipt.uid);
  expect(order.details).toMatchObject([{ price: 8.5, free_quantity: 0, total: 8.5, product: { name: 'Margherita' } }]);
  expect([order.total, order.paid]).toEqual([11, false]);
});

test('names and prices stay those of the moment of ordering', async () => {
  const { uid } = await shop.placed({
    details: [shop.line('P2', { options: { dough: ['spelt'], stuffing: ['olives', 'capers'] } })],
  });
  const before = await shop.read(uid);
  const products = [{ ext_id: 'P2', category_ext_id: 'C1', name: 'Renamed', price: 99, options: [] }];
  const body = { pos_uid: 'till-1', update_mode: 'merge', products };
  expect((await shop.call('POST', '/menu/import', { body })).json.success).toBe(true);
  expect(await shop.read(uid)).toEqual(before);
  expect(await linesOf([shop.line('P2')])).toMatchObject([{ price: 99, product: { name: 'Renamed' } }]);
});

test('redeemed points are taken off by their value, at most the value of the lines', async () => {
  const { customer } = (await shop.call('POST', '/customer/create', { body: { email: 'points@example.com' } })).json;
  const give = { client_uid: customer.uid, diff_op: 'add', diff_points: 1000 };
  expect((await shop.call('POST', '/loyaltylog/create', { body: give })).status).toBe(200);
  const client = { first_name: 'Ada', email: 'points@example.com' };
  const receipt = await shop.placed({ ...toHome(), client, redeem_points: 50.5 });
  // 50.5 points at 0.05 are 2.525, half-up 2.53.
  expect(receipt.total).toBe(8.47);
  expect((await shop.read(receipt.uid)).loyalty).toEqual({ redeemed_points: 50.5, discount: 2.53 });
  expect(refusalOf(await shop.create({ client, redeem_points: 171 }))).toEqual([
    400,
    'VALIDATION_ERROR',
    [['redeem_points', 'RANGE']],
  ]);
  expect((await shop.placed({ client, redeem_points: 170 })).total).toBe(0);
});

test('in a currency without minor digits a discount is rounded half-up to the whole unit', async () => {
  const { caller } = await core.addRestaurant({ currency: 'JPY', pointValue: 0.15, pointsPerUnit: 0.01 });
  const call = (path: string, body: Json): Promise<Json> => core.call('POST', path, { caller, body });
  const products = [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Ramen', price: 1050 }];
  const categories = [{ ext_id: 'C1', name: 'Noodles' }];
  expect((await call('/menu/import', { pos_uid: 'till', update_mode: 'merge', categories, products })).status).toBe(
    200,
  );
  const [ramen] = (await core.call('GET', '/menu/products', { caller })).json.products;
  const { customer } = (await call('/customer/create', { email: 'ada@example.com' })).json;
  await call('/loyaltylog/create', { client_uid: customer.uid, diff_op: 'add', diff_points: 100 });
  const body = {
    ...shop.orderOf({ details: [{ product: { uid: ramen.uid }, quantity: 2 }] }),
    client: { first_name: 'Ada', email: 'ada@example.com' },
  };
  // 10 points are 1.50, 9.99 are 1.4985.
  for (const [redeem_points, total] of [
    [10, 2098],
    [9.99, 2099],
  ]) {
    const { order } = (await call('/order/create', { ...body, redeem_points })).json;
    expect([order.total, order.currency]).toEqual([total, 'JPY']);
  }
});

test('the pure arithmetic of a line is exact for any choice', () => {
  const value = fc.record({
    operator: fc.constantFrom('+' as const, '-' as const),
    operand: fc.integer({ min: 0, max: 100_000 }),
    quantity: fc.integer({ min: 1, max: 99 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100_000 }), fc.array(value, { maxLength: 20 }), (price, values) => {
      const chosen = values.map(({ operator, operand, quantity }, position) => ({
        value: { uid: `v${position}`, position, price_operator: operator, price_operand: operand } as Json,
        quantity,
      }));
      const line = priceLine(
        { price, prices_table: {} },
        [{ option: { position: 0 } as Json, values: chosen }],
        '0',
        7,
      );
      const change = values.reduce((sum, v) => sum + (v.operator === '+' ? 1 : -1) * v.operand * v.quantity, 0);
      expect(line).toEqual({
        price,
        priceOptions: Math.max(0 - price, change),
        total: Math.max(0, price + change) * 7,
      });
    }),
  );
});

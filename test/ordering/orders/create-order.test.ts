import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientOf, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let shop: Shop;

beforeAll(async () => {
  core = await startOrdering();
  shop = await openShop(core);
});
afterAll(() => core.close());

const at = (ms = 0): string => new Date(core.clock.now().getTime() + ms).toISOString();
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

test('A-012 the receipt and the order have every member, null where there is nothing, and every date its twin', async () => {
  const own = await openShop(core, { timeZone: 'Europe/Rome', countdownMinutes: 10, language: 'it' });
  await own.changeLocation({ code: 'A' });
  const details = [own.line('P1', { notes: 'Hot', options: { extras: [['ham', 2]] } })];
  const receipt = await own.placed({ details, pickup: { date: '2026-03-01T19:30:00+01:00' }, language: null });
  expect(receipt).toEqual({
    uid: expect.stringMatching(/^ord_/),
    token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    order_number: 'A-1',
    total: 10.9,
    date: '2026-03-01T12:00:00+01:00',
    confirmed: false,
    delivery_fee: 0,
    pickup_date: '2026-03-01T19:30:00+01:00',
    delivery_date: null,
    status: 'new',
    number: 1,
    external_id: null,
    currency: 'EUR',
    countdown_end: '2026-03-01T12:10:00+01:00',
  });
  const margherita = own.product('P1');
  const extras = margherita.options.find((option: Json) => option.ext_id === 'extras');
  const ham = { price_operator: '+', price_operand: 1.2, quantity: 2, offline_uid: null, ext_id: 'ham' };
  const twins = (name: string, time: string) => ({
    [name]: `2026-03-01 ${time}`,
    [`${name}_iso`]: `2026-03-01T${time}+01:00`,
  });
  expect(await own.read(receipt.uid)).toEqual({
    uid: receipt.uid,
    token: receipt.token,
    seq: 2,
    status: 'new',
    ...twins('date', '12:00:00'),
    updated_iso: '2026-03-01T12:00:00+01:00',
    number: 1,
    order_number: 'A-1',
    client: {
      uid: (await own.customer('ada@example.com')).uid,
      first_name: 'Ada',
      last_name: null,
      phone: null,
      email: 'ada@example.com',
    },
    details: [
      {
        product: {
          uid: margherita.uid,
          name: 'Margherita',
          price: 8.5,
          category: 'Pizza',
          category_uid: margherita.category_uid,
          offline_uid: null,
          ext_id: 'P1',
        },
        options: [
          {
            uid: extras.uid,
            name: 'extras',
            type: 'multiple',
            ext_id: 'extras',
            values: [{ uid: extras.option_values[0].uid, name: 'ham', ...ham }],
          },
        ],
        price: 8.5,
        price_options: 2.4,
        quantity: 1,
        free_quantity: 0,
        total: 10.9,
        notes: 'Hot',
      },
    ],
    dmethod: '0',
    fee: 0,
    payment_method: 'cash',
    payment_method_sub: 'pos',
    paid: false,
    total: 10.9,
    currency: 'EUR',
    closed: false,
    subrestaurant_uid: own.locationUid,
    subrestaurant_code: 'A',
    notes: null,
    language: 'it',
    creator: 'customer',
    table: null,
    external_id: null,
    pickup: twins('date', '19:30:00'),
    delivery: null,
    coupon: null,
    loyalty: null,
    confirmation: {
      confirmed: false,
      countdown_time: 10,
      ...twins('countdown_started', '12:00:00'),
      ...twins('countdown_end', '12:10:00'),
      timeout: false,
      closed: false,
      date: null,
      date_iso: null,
      text: null,
    },
    cancellation: null,
  });
});

test('A-081 each refusal of a product, option or value has its code and pointer, and nothing is stored', async () => {
  const own = await openShop(core);
  const other = await openShop(core);
  const line = own.line;
  const refusals: [Json, string, string][] = [
    [line('prd_invented'), 'PRODUCT_NOT_FOUND', 'product/uid'],
    [{ ...line('P1'), product: { uid: other.product('P1').uid } }, 'PRODUCT_NOT_FOUND', 'product/uid'],
    [line('P3'), 'PRODUCT_NOT_AVAILABLE', 'product/uid'],
    [line('P4'), 'PRODUCT_NOT_AVAILABLE', 'product/uid'],
    [line('P1', { options: { opt_invented: ['large'] } }), 'OPTION_NOT_FOUND', 'options/0/uid'],
    [line('P1', { options: { none: ['large'] } }), 'OPTION_NOT_FOUND', 'options/0/uid'],
    [
      line('P1', { options: { size: ['large'], [own.product('P2').options[0].uid]: ['wheat'] } }),
      'OPTION_NOT_FOUND',
      'options/1/uid',
    ],
    [line('P1', { options: { size: ['ham'] } }), 'OPTION_VALUE_NOT_FOUND', 'options/0/values/0/uid'],
    [line('P1', { options: { extras: ['ham', 'secret'] } }), 'OPTION_VALUE_NOT_FOUND', 'options/0/values/1/uid'],
    [line('P1', { options: { extras: ['egg'] } }), 'OPTION_VALUE_NOT_FOUND', 'options/0/values/0/uid'],
    [
      line('P1', { options: { size: ['regular'], extras: ['egg'] } }),
      'OPTION_VALUE_NOT_FOUND',
      'options/1/values/0/uid',
    ],
  ];
  for (const [refused, code, pointer] of refusals) {
    const answer = await own.create({ details: [own.line('P5'), refused] });
    expect(refusalOf(answer)).toEqual([422, code, [[`/details/1/${pointer}`, code]]]);
  }
  const several = await own.create({ details: [line('P3'), line('P1', { options: { extras: ['egg'] } })] });
  expect(refusalOf(several)[2]).toHaveLength(2);
  expect((await own.call('GET', '/orders/list')).json.total_count).toBe(0);
  expect(await own.customer('ada@example.com')).toBeUndefined();
  const taken = await own.placed({ details: [line('P1', { options: { size: ['large'], extras: ['egg'] } })] });
  expect([taken.number, taken.total]).toEqual([1, 12]);
  const events = (await core.events()).filter(
    (event) => event.restuid === own.restuid && event.event !== 'menu.changed',
  );
  expect(events.map(({ event }) => event)).toEqual(['customer.changed', 'order.new', 'order.countdown_started']);
});

test('A-082 too few or too many values are OPTION_COUNT at the option', async () => {
  const fine = { dough: ['wheat'], stuffing: ['olives', 'capers'] };
  const counts: [Json, string][] = [
    [shop.line('P2', { options: { stuffing: ['olives', 'capers'] } }), 'options'],
    [shop.line('P2', { options: { ...fine, dough: ['wheat', 'spelt'] } }), 'options/0/values'],
    [shop.line('P2', { options: { ...fine, dough: [['wheat', 2]] } }), 'options/0/values'],
    [shop.line('P2', { options: { ...fine, stuffing: ['olives'] } }), 'options/1/values'],
    [shop.line('P1', { options: { extras: [['ham', 4]] } }), 'options/0/values'],
    [
      shop.line('P1', {
        options: {
          extras: [
            ['ham', 3],
            ['smaller', 3],
          ],
        },
      }),
      'options/0/values',
    ],
  ];
  for (const [line, pointer] of counts) {
    expect(refusalOf(await shop.create({ details: [line] }))).toEqual([
      400,
      'VALIDATION_ERROR',
      [[`/details/0/${pointer}`, 'OPTION_COUNT']],
    ]);
  }
  await shop.placed({ details: [shop.line('P2', { options: { ...fine, stuffing: [['olives', 2]] } })] });
  const twice = shop.line('P1', { options: { extras: ['ham', 'ham'] } });
  expect(refusalOf(await shop.create({ details: [twice] }))[2]).toEqual([
    ['/details/0/options/0/values/1/uid', 'DUPLICATE'],
  ]);
});

test('an option without any value for the chosen size requires none', async () => {
  const rim = {
    ext_id: 'rim',
    name: 'Rim',
    type: 'single',
    min_selectable: 1,
    option_values: [{ ext_id: 'cheese', name: 'Cheese', restrict_to_primary_value_ext_ids: ['big'] }],
  };
  const sizes = {
    ext_id: 'size',
    name: 'Size',
    type: 'single',
    primary: true,
    option_values: [{ ext_id: 'big', name: 'Big' }],
  };
  const own = await openShop(core, {}, [{ ext_id: 'pan', name: 'Pan', price: 9, options: [sizes, rim] }]);
  await own.placed({ details: [own.line('pan')] });
  const big = await own.create({ details: [own.line('pan', { options: { size: ['big'] } })] });
  expect(refusalOf(big)).toEqual([400, 'VALIDATION_ERROR', [['/details/0/options', 'OPTION_COUNT']]]);
});

test('required members depend on the method, and all missing ones are reported at once', async () => {
  const all = await shop.call('POST', '/order/create', { body: {} });
  expect(refusalOf(all)).toEqual([
    400,
    'MISSING_PARAMETER',
    expect.arrayContaining([
      ['client', 'REQUIRED'],
      ['dmethod', 'REQUIRED'],
      ['payment_method', 'REQUIRED'],
      ['details', 'REQUIRED'],
    ]),
  ]);
  const home = { dmethod: '1', payment_method_sub: null, client: { last_name: 'Lovelace' } };
  for (const delivery of [undefined, null, {}, { address: null }]) {
    const [status, error, details] = refusalOf(await shop.create({ ...home, delivery }));
    expect([status, error, details.sort()]).toEqual([
      400,
      'MISSING_PARAMETER',
      [
        ['/client/email', 'REQUIRED'],
        ['/client/first_name', 'REQUIRED'],
        ['/client/phone', 'REQUIRED'],
        ['/delivery/address', 'REQUIRED'],
        ['/delivery/date', 'REQUIRED'],
        ['payment_method_sub', 'REQUIRED'],
      ],
    ]);
  }
  const needs: [Json, string][] = [
    [{ client: null }, 'client'],
    [{ pickup: null }, '/pickup/date'],
    [{ pickup: {} }, '/pickup/date'],
    [{ dmethod: '1', delivery: { date: at() } }, '/delivery/address'],
    [{ dmethod: '20', delivery: { date: at() } }, '/delivery/deliverypoint/uid'],
    [{ dmethod: '0t' }, 'table'],
    [{ payment_method_sub: null }, 'payment_method_sub'],
    [{ client: { email: 'a@b' } }, '/client/first_name'],
  ];
  for (const [change, pointer] of needs) {
    expect(refusalOf(await shop.create(change))).toEqual([400, 'MISSING_PARAMETER', [[pointer, 'REQUIRED']]]);
  }
});

test('a member of any shape is named in the answer, which is never an internal fault', async () => {
  const shapes = fc.oneof(
    fc.constantFrom<Json>(null, '', [], {}, 7, true, 'x', { uid: {} }, { date: [] }, { date: at(), address: 7 }, [
      null,
    ]),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const members = Object.keys(shop.orderOf({ delivery: 1, table: 1, coupon: 1, language: 1, creator: 1, notes: 1 }));
  const broken = fc.dictionary(fc.constantFrom(...members), shapes, { minKeys: 1, maxKeys: 4 });
  await fc.assert(
    fc.asyncProperty(broken, fc.constantFrom('0', '1', '0t', '20'), async (change, dmethod) => {
      const answer = await shop.create({ dmethod, ...change });
      expect([200, 400, 422]).toContain(answer.status);
      if (answer.status !== 200) expect(answer.json.errors.length).toBeGreaterThan(0);
      const pointers = refusalOf(answer)[2].map(([pointer]) => pointer);
      expect(new Set(pointers).size).toBe(pointers.length);
    }),
    { numRuns: 150 },
  );
});

test('A-059 all values outside their bounds are reported at once with their pointers', async () => {
  const answer = await shop.create({
    client: { first_name: 'x'.repeat(101), email: 'invalid', phone: '1'.repeat(33) },
    payment_method: 'card',
    details: [
      { product: { uid: 'a b' }, quantity: 0, notes: 'n'.repeat(501) },
      { product: { uid: 'p' }, quantity: 1.5 },
    ],
    redeem_points: 0,
    external_id: 'e'.repeat(101),
    creator: 'robot',
    language: 'ita',
  });
  const [status, error, details] = refusalOf(answer);
  expect([status, error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(details.sort()).toEqual([
    ['/client/email', 'FORMAT'],
    ['/client/first_name', 'LENGTH'],
    ['/client/phone', 'LENGTH'],
    ['/details/0/notes', 'LENGTH'],
    ['/details/0/product/uid', 'FORMAT'],
    ['/details/0/quantity', 'RANGE'],
    ['/details/1/quantity', 'FORMAT'],
    ['creator', 'ENUM'],
    ['external_id', 'LENGTH'],
    ['language', 'LENGTH'],
    ['payment_method', 'ENUM'],
    ['redeem_points', 'RANGE'],
  ]);
  const many = Array.from({ length: 201 }, () => shop.line('P5'));
  expect(refusalOf(await shop.create({ details: many }))[2]).toEqual([['details', 'LENGTH']]);
  expect(refusalOf(await shop.create({ details: [] }))[2]).toEqual([['details', 'LENGTH']]);
  expect((await shop.placed({ details: many.slice(1) })).total).toBe(1000);
});

test('a blank value counts as none, and members of another method are neither checked nor stored', async () => {
  const { uid } = await shop.placed({
    client: { first_name: ' Ada ', last_name: '', email: 'blank@example.com', phone: ' ' },
    payment_method: 'invoice',
    payment_method_sub: 'whatever',
    notes: '  ',
    external_id: '',
    table: '7',
    delivery: { date: '2020-01-01T00:00:00Z', address: { street: '' } },
    details: [{ ...shop.line('P5'), notes: '' }],
  });
  expect(await shop.read(uid)).toMatchObject({
    client: { first_name: 'Ada', last_name: null, phone: null },
    payment_method_sub: null,
    notes: null,
    external_id: null,
    table: null,
    delivery: null,
    details: [{ notes: null }],
  });
  const past = { date: '2020-01-01T00:00:00Z' };
  const atTable = await shop.placed({ dmethod: '0t', table: '7', pickup: past, delivery: past });
  expect(await shop.read(atTable.uid)).toMatchObject({ table: '7', pickup: null, delivery: null });
  const delivery = { date: at(), address: { street: 'Via Roma', city: 'Firenze' } };
  const home = await shop.placed({ dmethod: '1', table: '7', pickup: past, delivery });
  expect(await shop.read(home.uid)).toMatchObject({ table: null, pickup: null, delivery: { address: { kms: null } } });
});

test('dates reach from 5 minutes ago to 365 days ahead', async () => {
  for (const [ms, fits] of [
    [-5 * minuteMs, true],
    [-5 * minuteMs - 1000, false],
    [365 * dayMs, true],
    [365 * dayMs + 1000, false],
  ] as const) {
    const answer = await shop.create({ pickup: { date: at(ms) } });
    expect(fits ? answer.status : refusalOf(answer)).toEqual(
      fits ? 200 : [400, 'VALIDATION_ERROR', [['/pickup/date', 'RANGE']]],
    );
  }
});

test('all faults of parameters are reported before refusals of the domain, for every method', async () => {
  const faults: Json = { pickup: { date: at(-dayMs) }, redeem_points: 1 };
  const named = [
    ['/pickup/date', 'RANGE'],
    ['redeem_points', 'NOT_ENABLED'],
  ];
  const coupon = { code: 'SPRING10' };
  for (const change of [{ subrestaurant_uid: 'loc_invented' }, { details: [shop.line('P3')] }, { coupon }]) {
    expect(refusalOf(await shop.create({ ...faults, ...change }))).toEqual([400, 'VALIDATION_ERROR', named]);
  }
  const own = await openShop(core);
  await own.changeLocation({ uid: `${own.locationUid}2`, position: 1 });
  expect(refusalOf(await own.create(faults))).toEqual([
    400,
    'MISSING_PARAMETER',
    [...named, ['subrestaurant_uid', 'REQUIRED']],
  ]);
});

test('A-088 an order that the restaurant creates, or that needs no confirmation, is confirmed at once: order.new, then order.confirmed', async () => {
  const byRestaurant = await shop.placed({ creator: 'restaurant', client: { first_name: 'Walk-in' } });
  const trusting = await openShop(core, { confirmationRequired: false });
  const byCustomer = await trusting.placed();
  for (const [where, receipt] of [
    [shop, byRestaurant],
    [trusting, byCustomer],
  ] as const) {
    expect(receipt).toMatchObject({ confirmed: true, status: 'confirmed', countdown_end: null });
    expect(await where.eventsOf(receipt.uid)).toEqual([
      ['order.new', 1, null],
      ['order.confirmed', 2, 1],
    ]);
    const order = await where.read(receipt.uid);
    expect(order.confirmation).toMatchObject({ confirmed: true, closed: true, date: '2026-03-01 12:00:00' });
    const [first, second] = await core.events({ kind: 'orders', entity: receipt.uid });
    expect([first.order.status, second.order]).toEqual(['new', order]);
  }
  expect((await shop.read(byRestaurant.uid)).client).toMatchObject({ uid: null, first_name: 'Walk-in' });
});

test('without a countdown an order waits for its confirmation and no countdown is announced', async () => {
  const patient = await openShop(core, { countdownMinutes: 0 });
  const receipt = await patient.placed();
  expect(receipt).toMatchObject({ status: 'new', countdown_end: null });
  expect(await patient.eventsOf(receipt.uid)).toEqual([['order.new', 1, null]]);
});

test('order.countdown_started holds uid, token and the countdown', async () => {
  const receipt = await shop.placed();
  const [, started] = await core.events({ kind: 'orders', entity: receipt.uid });
  const { confirmation } = await shop.read(receipt.uid);
  const { closed: _closed, text: _text, date: _date, date_iso: _iso, ...countdown } = confirmation;
  expect(started).toMatchObject({ event: 'order.countdown_started', seq: 2, previous_seq: 1 });
  expect(started.order).toEqual({ uid: receipt.uid, token: receipt.token, confirmation: countdown });
});

test('A-087 with several visible locations one must be named, and it must be there', async () => {
  const own = await openShop(core);
  const second = `${own.locationUid}2`;
  await own.changeLocation({ uid: second, code: 'B', position: 1, hidden: true });
  expect((await own.placed()).order_number).toBe('1');
  expect(refusalOf(await own.create({ subrestaurant_uid: second }))).toEqual([
    422,
    'SUBRESTAURANT_NOT_FOUND',
    [['subrestaurant_uid', 'SUBRESTAURANT_NOT_FOUND']],
  ]);
  await own.changeLocation({ uid: second, hidden: false });
  expect(refusalOf(await own.create())).toEqual([400, 'MISSING_PARAMETER', [['subrestaurant_uid', 'REQUIRED']]]);
  for (const invented of ['loc_invented', shop.locationUid]) {
    expect(refusalOf(await own.create({ subrestaurant_uid: invented }))[1]).toBe('SUBRESTAURANT_NOT_FOUND');
  }
  const receipt = await own.placed({ subrestaurant_uid: second });
  expect([receipt.order_number, (await own.read(receipt.uid)).subrestaurant_uid]).toEqual(['B-2', second]);
  const products = [
    { ext_id: 'P5', category_ext_id: 'C1', name: 'Focaccia', price: 5, subrestaurant_uids: [own.locationUid] },
  ];
  const body = { pos_uid: 'till-1', update_mode: 'merge', products };
  expect((await own.call('POST', '/menu/import', { body })).json.success).toBe(true);
  const elsewhere = await own.create({ subrestaurant_uid: second, details: [own.line('P5')] });
  expect(refusalOf(elsewhere)).toEqual([
    422,
    'PRODUCT_NOT_AVAILABLE',
    [['/details/0/product/uid', 'PRODUCT_NOT_AVAILABLE']],
  ]);
  await own.placed({ subrestaurant_uid: own.locationUid, details: [own.line('P5')] });
});

test('a coupon that does not exist is COUPON_ERROR', async () => {
  const answer = await shop.create({ coupon: { code: 'SPRING10' } });
  expect(refusalOf(answer)).toEqual([422, 'COUPON_ERROR', [['/coupon/code', 'COUPON_ERROR']]]);
});

test('A-028 an order goes to the restaurant that the caller may speak for, and to no other', async () => {
  const other = await openShop(core);
  const both = clientOf([shop.restuid, other.restuid]);
  expect((await shop.create({ restuid: other.restuid })).status).toBe(403);
  expect(refusalOf(await shop.create({}, { caller: both }))[1]).toBe('MISSING_PARAMETER');
  const answer = await other.create({ restuid: other.restuid }, { caller: both });
  expect(answer.json.order.number).toBe(1);
});

/** Input that contradicts itself, lacks something or buys nothing is refused, and the text says what is wanted. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { createGenerator, describedOperations } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { describedOperations as describedWebhookOperations } from '#src/webhooks/index.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf } from '../../support/orders/order-sender.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

const json = { 'content-type': 'application/json' };
const post = (path: string, body: string, headers: Record<string, string> = json): Promise<Answer> =>
  core.call('POST', path, { body, headers });

const operations = [...describedOperations(), ...describedWebhookOperations(kindScopes)];
const posts = describedOperations()
  .filter(({ method }) => method === 'POST')
  .map(({ path }) => path);

test.each(posts)('F-06 %s refuses a body with a member that is given twice, with its place', async (path) => {
  for (const [body, pointer] of [
    ['{"email":"first@example.com","email":"second@example.com"}', 'email'],
    ['{"phone":"1","\\u0070hone":"1"}', 'phone'],
    ['{"unknown":{"a":[0,{"b":1,"b":1}]}}', '/unknown/a/1/b'],
    ['{"__proto__":{"email":"a@b"},"__proto__":{}}', '__proto__'],
  ] as const) {
    const answer = await post(path, body);
    expect([body, answer.status, answer.json.errors]).toEqual([
      body,
      400,
      [{ pointer, code: 'DUPLICATE', message: 'is given twice' }],
    ]);
  }
});

test('F-06 a member that is given twice is found in a large import too, and nothing of it is imported', async () => {
  const product = (id: number, more = ''): string =>
    `{"ext_id":"P${id}","category_ext_id":"C","name":"Pizza ${id} ${'x'.repeat(100)}","price":7.5${more}}`;
  const importing = (last: string): string =>
    `{"pos_uid":"till","update_mode":"merge","categories":[{"ext_id":"C","name":"C"}],"products":[${[
      ...Array.from({ length: 2500 }, (_, index) => product(index)),
      last,
    ].join(',')}]}`;
  const refused = await post('/menu/import', importing(product(2500, ',"price":8')));
  expect([refused.status, refused.json.errors]).toEqual([
    400,
    [{ pointer: '/products/2500/price', code: 'DUPLICATE', message: 'is given twice' }],
  ]);
  expect((await core.call('GET', '/menu/products')).json.total_count).toBe(0);
  const long = await post('/menu/import', importing(product(2500).replace('7.5', '7.50000000000000000001')));
  expect(long.json.import.errors).toMatchObject([{ pointer: '/products/2500/price', code: 'FORMAT' }]);
  expect((await post('/menu/import', importing(product(2500)))).status).toBe(200);
});

test('F-02 a long body that would have to be searched for the texts of its numbers is refused, a short one is not', async () => {
  const create = (numbers: string): Promise<Answer> =>
    post('/customer/create', `{"email":"numbers@example.com","unknown":[${numbers}]}`);
  for (const number of ['1e100', '1300000000062769153', '0.1234567890123456']) {
    const long = await create(
      Array.from({ length: 50_000 }, () => number)
        .join(',')
        .slice(0, 250_000)
        .replace(/,[^,]*$/, ''),
    );
    expect([long.status, long.json.errors]).toEqual([
      400,
      [{ pointer: '', code: 'FORMAT', message: expect.stringContaining('more than 15 digits') }],
    ]);
  }
  expect((await create(Array.from({ length: 50_000 }, () => '1.5').join(','))).status).toBe(200);
  const short = await core.call('POST', '/customer/remove', { body: { email: 'numbers@example.com' } });
  expect(short.status).toBe(200);
  expect((await create('1e100,1300000000062769153')).status).toBe(200);
});

test('F-06 a body in another charset than UTF-8 is 415, however it is written', async () => {
  for (const charset of ['iso-8859-1', '"iso-8859-1"', 'utf-16', 'us-ascii', '', 'utf-8,latin1']) {
    for (const type of [`application/json; charset=${charset}`, `application/json;x=y;CHARSET = ${charset}`]) {
      const answer = await post('/customer/create', '{"phone":"1"}', { 'content-type': type });
      expect([type, answer.status, answer.json.error]).toEqual([type, 415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  }
  for (const type of ['application/json', 'application/json;charset=UTF-8', 'Application/JSON ; charset="utf-8"; x=1'])
    expect((await post('/customer/create', '{"phone":"1"}', { 'content-type': type })).status).toBe(200);
});

test('F-06 a time of day that no clock shows is refused, and more than milliseconds too', async () => {
  const shop = await openShop(core);
  for (const date of [
    '2026-03-01T24:00:00+01:00',
    '2026-03-01T23:60:00+01:00',
    '2026-03-01T23:59:60+01:00',
    '2026-03-01T20:00:00+24:00',
    '2026-03-01T20:00:00+01:60',
    '2026-03-01T20:00:00.1230001+01:00',
  ]) {
    expect([date, refusalOf(await shop.create({ pickup: { date } }))]).toEqual([
      date,
      [400, 'VALIDATION_ERROR', [['/pickup/date', 'FORMAT']]],
    ]);
    const list = await shop.call('GET', '/orders/list', { query: { updated_from: date } });
    expect(refusalOf(list)).toEqual([400, 'VALIDATION_ERROR', [['updated_from', 'FORMAT']]]);
  }
  for (const date of ['2026-03-01T23:59:59.123+01:00', '2026-03-01T19:30:00.000000000+01:00'])
    expect((await shop.create({ pickup: { date } })).status).toBe(200);
});

const periods = operations.flatMap(({ method, path, params }) =>
  Object.keys(params.shape)
    .filter(
      (name) => method === 'GET' && Object.hasOwn(params.shape, name.replace(/_from$/, '_to')) && /_from$/.test(name),
    )
    .map((name): [string, string] => [path, name]),
);

test('F-06 every list with a period is known', () => {
  expect(periods.map(([path]) => path)).toEqual(
    expect.arrayContaining(['/orders/list', '/customerstats/customers', '/loyaltylog/list']),
  );
});

test.each(periods)('F-06 %s refuses a %s after its end', async (path, from) => {
  const to = from.replace(/_from$/, '_to');
  const ask = (query: Record<string, string>): Promise<Answer> => core.call('GET', path, { query });
  const answer = await ask({ [from]: '2026-03-02', [to]: '2026-03-01' });
  expect([answer.status, answer.json.error, answer.json.errors]).toEqual([
    400,
    'VALIDATION_ERROR',
    [{ pointer: from, code: 'RANGE', message: `must not be after ${to}` }],
  ]);
  expect((await ask({ [from]: '2026-03-01', [to]: '2026-03-01' })).status).toBe(200);
});

test('F-11 if one of two members is required, the text names both with their pointers', async () => {
  for (const [path, body, names] of [
    ['/customer/create', '{}', 'email or phone'],
    ['/customer/remove', '{}', 'uid or email'],
    ['/loyaltylog/create', '{"diff_op":"add","diff_points":1}', 'client_uid or client_email'],
  ] as const) {
    const { json: answer } = await post(path, body);
    expect(answer.message).toBe(`${names} is required`);
    expect(answer.errors).toEqual(
      names.split(' or ').map((pointer) => ({ pointer, code: 'REQUIRED', message: `${names} is required` })),
    );
  }
  const shop = await openShop(core);
  for (const client of [{ first_name: 'Ada' }, { first_name: 'Ada', email: '', phone: ' ' }]) {
    const answer = await shop.create({ client });
    expect(answer.json.message).toBe('client.email or client.phone is required');
    expect(refusalOf(answer)).toEqual([
      400,
      'MISSING_PARAMETER',
      [
        ['/client/email', 'REQUIRED'],
        ['/client/phone', 'REQUIRED'],
      ],
    ]);
  }
  expect((await shop.create({ client: {}, dmethod: '0t' })).json.message).toBe(
    'Missing: /client/first_name, table; client.email or client.phone is required',
  );
});

test('F-11 a null that was sent is spoken of as null', async () => {
  const nulls = await post('/customer/create', '{"email":null,"phone":null}');
  expect(nulls.json.message).toBe('email or phone is required, and null is no value');
  const half = await post('/customer/create', '{"email":null}');
  expect(half.json.message).toBe('email or phone is required, and null is no value');
  expect(half.json.errors.map(({ pointer, message }: Json) => [pointer, message])).toEqual([
    ['email', 'email or phone is required, and null is no value'],
    ['phone', 'email or phone is required'],
  ]);
  const points = await post('/loyaltylog/create', '{"client_uid":"cus_1","diff_op":null,"diff_points":null}');
  expect([points.json.error, points.json.message]).toEqual([
    'MISSING_PARAMETER',
    'diff_op must not be null; diff_points must not be null',
  ]);
  const mixed = await post(
    '/order/create',
    '{"client":{"first_name":null},"dmethod":"1","delivery":null,"details":[{}]}',
  );
  expect(mixed.json.errors).toEqual(
    expect.arrayContaining([
      { pointer: '/client/first_name', code: 'REQUIRED', message: 'must not be null' },
      { pointer: '/details/0/product', code: 'REQUIRED', message: 'is required' },
      { pointer: 'payment_method', code: 'REQUIRED', message: 'is required' },
    ]),
  );
});

const earn = async (shop: Awaited<ReturnType<typeof openShop>>, email: string, points: number): Promise<void> => {
  await shop.call('POST', '/customer/create', { body: { email } });
  const body = { client_email: email, diff_op: 'add', diff_points: points };
  expect((await shop.call('POST', '/loyaltylog/create', { body })).status).toBe(200);
};

test.each([
  ['JPY', 0.0001, 100, 10_000],
  ['JPY', 0.0049, 100, 103],
  ['EUR', 0.0001, 49, 50],
] as const)(
  'F-04 points that are worth nothing in %s at %d are not taken',
  async (currency, pointValue, few, enough) => {
    const whole = { ext_id: 'yen', name: 'In whole units', price: 900 };
    const shop = await openShop(core, { currency: 'EUR', pointValue }, [whole]);
    await sql`update ordering.restaurants set currency = ${currency} where uid = ${shop.restuid}`.execute(core.db);
    await earn(shop, 'ada@example.com', 20_000);
    const details = [shop.line('yen')];
    const refused = await shop.create({ details, redeem_points: few });
    expect(refusalOf(refused)).toEqual([400, 'VALIDATION_ERROR', [['redeem_points', 'RANGE']]]);
    expect(refused.json.errors[0].message).toBe(`are worth less than the smallest amount of ${currency}`);
    expect((await shop.customer('ada@example.com')).loyalty_points).toBe(20_000);
    const order = await shop.placed({ details, redeem_points: enough });
    expect((await shop.read(order.uid)).loyalty.discount).toBeGreaterThan(0);
    expect((await shop.customer('ada@example.com')).loyalty_points).toBe(20_000 - enough);
  },
);

test('F-04 points are not taken for a coupon that can take nothing off', async () => {
  const shop = await openShop(core);
  await earn(shop, 'ada@example.com', 100);
  const make = (gencode: string, terms: { discountPerc: number; validTo?: string; points?: number }) =>
    inTransaction(core.db, (tx) => createGenerator(tx, shop.restuid, { gencode, ...terms }, core.clock.now()));
  await expect(make('FREE', { discountPerc: 0, points: 5 })).rejects.toThrow('discount-perc must be above 0');
  await make('ENDED', { discountPerc: 10, validTo: '2026-02-28', points: 5 });
  await make('TODAY', { discountPerc: 10, validTo: '2026-03-01', points: 5 });
  core.clock.set('2026-03-01T11:00:00Z');
  const generate = (gencode: string): Promise<Answer> =>
    shop.call('POST', '/coupon/generate', { body: { gencode, valid_email: 'ada@example.com' } });
  const refused = await generate('ENDED');
  expect(refusalOf(refused)).toEqual([400, 'VALIDATION_ERROR', [['gencode', 'RANGE']]]);
  expect((await shop.customer('ada@example.com')).loyalty_points).toBe(100);
  expect((await generate('TODAY')).status).toBe(200);
  expect((await shop.customer('ada@example.com')).loyalty_points).toBe(95);
});

test('F-05 entries of one moment are listed by their seq, by page and by cursor', async () => {
  const shop = await openShop(core, { pointValue: 0.1 });
  await earn(shop, 'ada@example.com', 1000);
  // Cancelling a closed order with redeemed points makes two entries at one moment.
  for (let index = 0; index < 8; index += 1) {
    const order = await shop.placed({ redeem_points: 10, creator: 'restaurant' });
    await shop.done('close', order);
    await shop.done('cancel', order);
  }
  const { loyalty_seq: last, uid } = await shop.customer('ada@example.com');
  const ask = async (query: Record<string, string | number>): Promise<Json> =>
    (await shop.call('GET', '/loyaltylog/list', { query })).json;
  const expected = Array.from({ length: last }, (_, index) => last - index);
  const seqs = (answer: Json): number[] => answer.loyaltylogs.map(({ seq }: Json) => seq);
  for (const filter of [{}, { client_uid: uid }] as Record<string, string>[]) {
    expect(seqs(await ask(filter))).toEqual(expected);
    const walked: number[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const answer = await ask({ pagesize: 1, ...filter, ...(cursor === undefined ? undefined : { cursor }) });
      walked.push(...seqs(answer));
      cursor = answer.next_cursor;
    }
    expect(walked).toEqual(expected);
  }
});

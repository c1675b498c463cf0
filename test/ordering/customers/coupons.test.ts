import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGenerator, type NewGenerator } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let shop: Shop;

// 2026-03-01 is a Sunday.
beforeAll(async () => {
  core = await startOrdering();
  shop = await openShop(core, { pointValue: 0.1 });
});
afterAll(() => core.close());

let generators = 0;
const generator = async (terms: Partial<NewGenerator> = {}, restuid = shop.restuid): Promise<string> => {
  generators += 1;
  const wanted = { gencode: `GEN-${generators}`, discountPerc: 10, ...terms };
  return (await inTransaction(core.db, (tx) => createGenerator(tx, restuid, wanted, core.clock.now()))).gencode;
};

const generate = (body: Record<string, unknown>, of = shop): Promise<Answer> =>
  of.call('POST', '/coupon/generate', { body });

/** A coupon of a generator of its own. */
const coupon = async (terms: Partial<NewGenerator> = {}, more: Record<string, unknown> = {}): Promise<Json> => {
  const answer = await generate({ gencode: await generator(terms), ...more });
  expect(answer.status).toBe(200);
  return answer.json.coupon;
};

const apply = (code: string, body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  shop.call('POST', '/coupon/apply', { body: { code, total: 40, ...body }, headers });

const left = async (code: string): Promise<number> => (await apply(code, { preview: true })).json.coupon.quantity;

const earn = async (email: string, points: number): Promise<void> => {
  await shop.call('POST', '/customer/create', { body: { email } });
  const body = { client_email: email, diff_op: 'add', diff_points: points };
  expect((await shop.call('POST', '/loyaltylog/create', { body })).status).toBe(200);
};

test('a generated coupon has the terms of its generator and every member of the interface', async () => {
  const terms = { quantity: 3, orderMin: 12.5, validFrom: '2026-02-01', validTo: '2026-12-31', validWeekdays: [6, 0] };
  const made = await coupon(terms, { valid_email: 'Ada@example.com' });
  expect(made).toEqual({
    code: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{10}$/),
    discount_perc: 10,
    quantity: 3,
    order_min: 12.5,
    valid_from: '2026-02-01',
    valid_to: '2026-12-31',
    valid_weekdays: [0, 6],
    valid_email: 'Ada@example.com',
  });
  const days = await coupon({ validDays: 7 });
  expect([days.valid_from, days.valid_to, days.valid_email]).toEqual([null, '2026-03-07', null]);
  expect((await coupon({ validDays: 7, validTo: '2026-03-02' })).valid_to).toBe('2026-03-02');
});

test('A-111 a preview takes no use; an application takes one, and only one under one Idempotency-Key', async () => {
  const { code } = await coupon({ quantity: 5, discountPerc: 12.5 });
  const preview = await apply(code, { total: 10.2, preview: true });
  // 12.5 % of 10.20 is 1.275.
  expect(preview.json).toMatchObject({ coupon: { code, quantity: 5 }, order: { discount: 1.28, total: 8.92 } });
  const first = await apply(code, {}, { 'idempotency-key': 'apply-1' });
  const again = await apply(code, {}, { 'idempotency-key': 'apply-1' });
  expect(first.json).toMatchObject({ coupon: { code, quantity: 4 }, order: { discount: 5, total: 35 } });
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
  expect(await left(code)).toBe(4);
  expect((await apply(code.toLowerCase(), { preview: true })).json.coupon.code).toBe(code);
});

test('A-112 an unknown coupon is NOT_FOUND, one that does not hold is CANNOT_APPLY with the reason', async () => {
  const refusal = async (made: Json, body: Record<string, unknown> = {}): Promise<unknown[]> => {
    const { status, json } = await apply(made.code, body);
    return [status, json.error, json.message];
  };
  expect(await refusal({ code: 'SPRING10' })).toEqual([404, 'NOT_FOUND', 'No such coupon']);
  const refused = (reason: RegExp) => [422, 'CANNOT_APPLY', expect.stringMatching(reason)];
  expect(await refusal(await coupon({ validTo: '2026-02-28' }))).toEqual(refused(/expired/));
  expect(await refusal(await coupon({ validFrom: '2026-03-02' }))).toEqual(refused(/valid from 2026-03-02/));
  expect(await refusal(await coupon({ validWeekdays: [1] }))).toEqual(refused(/day of the week/));
  expect(await refusal(await coupon({ orderMin: 40.01 }))).toEqual(refused(/40\.01 at least/));
  const personal = await coupon({ quantity: 2 }, { valid_email: 'ada@example.com' });
  expect(await refusal(personal)).toEqual(refused(/needs the email/));
  const other = await refusal(personal, { email: 'bea@example.com' });
  expect(other).toEqual(refused(/another customer/));
  expect(JSON.stringify(other)).not.toContain('ada');
  expect((await apply(personal.code, { email: 'ADA@example.com' })).status).toBe(200);
  const once = await coupon();
  expect((await apply(once.code)).status).toBe(200);
  expect(await refusal(once)).toEqual(refused(/used up/));
  // The days are those of the venue: in Rome it is Monday already.
  core.clock.set('2026-03-01T23:30:00.000Z');
  expect((await apply((await coupon({ validFrom: '2026-03-02', validWeekdays: [1] })).code)).status).toBe(200);
  core.clock.set('2026-03-01T11:00:00.000Z');
});

test('A-112 the removal of a customer erases the email of its coupons, which a later owner of the address cannot use', async () => {
  const email = 'Leaving@example.com';
  await earn(email, 1);
  const { code } = await coupon({ quantity: 2 }, { valid_email: 'leaving@Example.com' });
  const { code: other } = await coupon({}, { valid_email: 'staying@example.com' });
  expect((await apply(code, { email })).status).toBe(200);
  expect((await shop.call('POST', '/customer/remove', { body: { email } })).status).toBe(200);
  const { rows } =
    await sql`select code from ordering.coupons where lower(valid_email) = ${email.toLowerCase()}`.execute(core.db);
  expect(rows).toEqual([]);
  await shop.call('POST', '/customer/create', { body: { email } });
  expect((await apply(code, { email })).json.error).toBe('CANNOT_APPLY');
  expect((await apply(other, { email: 'staying@example.com' })).status).toBe(200);
});

test('A-524 coupons follow their customer to a new email; without one they have no use left', async () => {
  const old = 'moving@example.com';
  const now = 'moved@example.com';
  await earn(old, 60);
  const { code } = await coupon({ quantity: 3, points: 50 }, { valid_email: 'Moving@example.com' });
  const { uid } = await shop.customer(old);
  const move = (email: string | null) =>
    shop.call('POST', '/customer/update', { body: { uid, email, phone: '+39 06 1' } });
  expect((await move(now)).status).toBe(200);
  expect((await shop.call('POST', '/customer/create', { body: { email: old } })).status).toBe(200);
  expect((await apply(code, { email: old })).json.message).toBe('The coupon is for another customer');
  expect((await apply(code, { email: now })).json.coupon).toMatchObject({ quantity: 2, valid_email: now });
  expect((await move(null)).status).toBe(200);
  const later = await shop.call('POST', '/customer/create', { body: { email: now } });
  expect(later.status).toBe(200);
  expect((await apply(code, { email: now })).json.error).toBe('CANNOT_APPLY');
  const { rows } = await sql`select code from ordering.coupons where valid_email in (${old}, ${now})`.execute(core.db);
  expect(rows).toEqual([]);
});

test('A-790 a coupon bought with points is used by the customer who paid, in any letters, and by no other customer', async () => {
  const buyer = 'İlker@example.com';
  await earn(buyer, 100);
  const bought = await coupon({ points: 50 }, { valid_email: 'ilker@example.com' });
  expect((await shop.customer(buyer)).loyalty_points).toBe(50);
  const order = await shop.placed({ client: { first_name: 'İlker', email: buyer }, coupon: { code: bought.code } });
  expect((await shop.read(order.uid)).coupon).toMatchObject({ code: bought.code });
  // JavaScript writes a capital sigma at the end of a word as another small letter than PostgreSQL, which has two customers here.
  await earn('ΝΙΚΟΣ@example.com', 100);
  await earn('νικος@example.com', 100);
  const { code } = await coupon({ points: 50 }, { valid_email: 'ΝΙΚΟΣ@example.com' });
  expect((await apply(code, { email: 'νικος@example.com' })).json.message).toBe('The coupon is for another customer');
  expect((await apply(code, { email: 'νικοσ@example.com' })).status).toBe(200);
});

test('of the last use of a coupon only one of many parallel applications gets it', async () => {
  const { code } = await coupon({ quantity: 3 });
  const answers = await Promise.all(Array.from({ length: 12 }, () => apply(code)));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(3).fill(200), ...Array(9).fill(422)]);
});

test('A-113 a coupon for points is paid with an entry that names it; too few points make no coupon', async () => {
  const gencode = await generator({ points: 50 });
  await earn('payer@example.com', 80);
  const made = await generate({ gencode, valid_email: 'payer@example.com' });
  expect(made.status).toBe(200);
  const entriesOf = async (): Promise<Json[]> =>
    (await shop.call('GET', '/loyaltylog/list', { query: { client_email: 'payer@example.com', type: 'coupon' } })).json
      .loyaltylogs;
  expect(await entriesOf()).toMatchObject([
    { type: 'coupon', diff_op: 'subtract', diff_points: 50, loyalty_points: 30, coupon_code: made.json.coupon.code },
  ]);
  const events = await core.events({ kind: 'loyaltylog', entity: (await shop.customer('payer@example.com')).uid });
  expect(events.at(-1)).toMatchObject({ event: 'loyaltylog.created', loyaltylog: { type: 'coupon', seq: 2 } });
  const key = { 'idempotency-key': 'too-few' };
  const poor = await shop.call('POST', '/coupon/generate', {
    body: { gencode, valid_email: 'payer@example.com' },
    headers: key,
  });
  expect([poor.status, poor.json.error, poor.json.coupon]).toEqual([422, 'INSUFFICIENT_POINTS', undefined]);
  expect((await entriesOf()).length).toBe(1);
  expect((await shop.customer('payer@example.com')).loyalty_points).toBe(30);
  const withoutEmail = await generate({ gencode });
  expect([withoutEmail.status, withoutEmail.json.error, withoutEmail.json.errors[0].pointer]).toEqual([
    400,
    'MISSING_PARAMETER',
    'valid_email',
  ]);
  expect((await generate({ gencode, valid_email: 'unknown@example.com' })).json.error).toBe('NOT_FOUND');
  const parallel = await Promise.all(
    Array.from({ length: 8 }, async () => {
      await earn('many@example.com', 25);
      return generate({ gencode, valid_email: 'many@example.com' });
    }),
  );
  expect(parallel.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(4);
  expect((await shop.customer('many@example.com')).loyalty_points).toBe(
    200 - 50 * parallel.filter(({ status }) => status === 200).length,
  );
});

test('A-113 points are not taken for a coupon that would end before it begins', async () => {
  const today = core.clock.now();
  const inDays = (days: number) => new Date(today.getTime() + days * 86_400_000).toISOString().slice(0, 10);
  await earn('early@example.com', 80);
  const early = await generator({ points: 50, validFrom: inDays(30), validDays: 7 });
  const refused = await generate({ gencode: early, valid_email: 'early@example.com' });
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, 'gencode']);
  expect(refused.json.errors[0].message).toContain(inDays(30));
  expect((await shop.customer('early@example.com')).loyalty_points).toBe(80);
  const lasting = await generator({ points: 50, validFrom: inDays(30), validDays: 60 });
  expect((await generate({ gencode: lasting, valid_email: 'early@example.com' })).status).toBe(200);
});

test('A-113 points are not taken for a coupon that no day of the week in its time fits', async () => {
  await earn('weekend@example.com', 100);
  const buy = (gencode: string) => generate({ gencode, valid_email: 'weekend@example.com' });
  // Today is a Sunday: the coupon would be valid until Tuesday, but on Saturdays only.
  const never = await buy(await generator({ points: 50, validDays: 3, validWeekdays: [6] }));
  expect([never.status, never.json.errors]).toMatchObject([400, [{ pointer: 'gencode', code: 'RANGE' }]]);
  const ended = await generator({ points: 50, validFrom: '2026-02-01', validTo: '2026-03-03', validWeekdays: [3, 6] });
  expect((await buy(ended)).status).toBe(400);
  expect((await shop.customer('weekend@example.com')).loyalty_points).toBe(100);
  expect((await buy(await generator({ points: 50, validDays: 7, validWeekdays: [6] }))).status).toBe(200);
  expect((await buy(await generator({ points: 50, validWeekdays: [6] }))).status).toBe(200);
  const period = { validFrom: '2026-03-01', validTo: '2026-03-03' };
  await expect(generator({ ...period, validWeekdays: [6] })).rejects.toThrow(/must have one of the valid-weekdays/);
  await generator({ ...period, validWeekdays: [2] });
});

test('A-029 coupons and generators of another restaurant answer like invented ones', async () => {
  const other = await openShop(core);
  const gencode = await generator();
  const { code } = await coupon();
  const body = { code, total: 40 };
  const answers = [
    await generate({ gencode }, other),
    await generate({ gencode: 'GEN-0' }, other),
    await other.call('POST', '/coupon/apply', { body }),
    await other.call('POST', '/coupon/apply', { body: { ...body, code: 'ABSENT' } }),
  ].map(({ status, json: { request_id, ...rest } }) => [status, rest]);
  expect(answers[0]).toEqual([404, expect.objectContaining({ error: 'NOT_FOUND' })]);
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[2]).toEqual(answers[3]);
  expect(await left(code)).toBe(1);
});

test('an order with a coupon is reduced by it, takes one use, and gives it back when it is cancelled', async () => {
  const { code } = await coupon({ quantity: 2, discountPerc: 10 });
  const options = { size: ['large'], extras: [['ham', 2]] as [string, number][] };
  const order = await shop.placed({
    coupon: { code: code.toLowerCase() },
    details: [shop.line('P1', { quantity: 2, options })],
  });
  const stored = await shop.read(order.uid);
  // The example of interface 10.5: two lines of 13.40, 10 % off.
  expect([stored.coupon, stored.total]).toEqual([{ code, discount: 2.68 }, 24.12]);
  expect(await left(code)).toBe(1);
  await shop.done('confirm', order);
  await shop.done('close', order);
  const entries = await shop.call('GET', '/loyaltylog/list', { query: { order_uid: order.uid } });
  expect(entries.json.loyaltylogs[0]).toMatchObject({ type: 'order', diff_points: 24.12, used_coupon_code: code });
  await shop.done('cancel', order);
  expect(await left(code)).toBe(2);
  const refusedLate = await shop.create({ coupon: { code }, redeem_points: 1_000_000 });
  expect(refusedLate.status).toBeGreaterThanOrEqual(400);
  expect(await left(code)).toBe(2);
});

test('A-084 lines of more than the largest amount are refused, however much of them a coupon takes off', async () => {
  const { code } = await coupon({ quantity: 2, discountPerc: 100 });
  const lines = (count: number) => Array.from({ length: count }, () => shop.line('P1', { quantity: 999 }));
  // 999 of 8.50 are 8,491.50.
  const above = await shop.create({ coupon: { code }, details: lines(118) });
  expect([above.status, above.json.errors]).toEqual([
    400,
    [{ pointer: 'details', code: 'RANGE', message: 'must come to 1000000 at most' }],
  ]);
  const order = await shop.placed({ coupon: { code }, details: lines(117) });
  expect((await shop.read(order.uid)).coupon).toEqual({ code, discount: 993_505.5 });
  expect(await left(code)).toBe(1);
});

test('points are worth at most what the coupon leaves of the order', async () => {
  await earn('rich@example.com', 1000);
  const { code } = await coupon({ discountPerc: 10 });
  const client = { first_name: 'Ada', email: 'rich@example.com' };
  const over = await shop.create({ client, coupon: { code }, redeem_points: 76.6 });
  expect([over.status, over.json.errors[0]]).toMatchObject([400, { pointer: 'redeem_points', code: 'RANGE' }]);
  const order = await shop.placed({ client, coupon: { code }, redeem_points: 76.5 });
  expect((await shop.read(order.uid)).total).toBe(0);
});

test('A-084 a coupon of another email, expired or below its minimum is COUPON_ERROR; a last use goes to exactly one of two orders', async () => {
  const refusal = async (code: string): Promise<unknown[]> => {
    const { status, json } = await shop.create({ coupon: { code } });
    return [status, json.error, json.errors.map((error: Json) => [error.pointer, error.code])];
  };
  const refused = [422, 'COUPON_ERROR', [['/coupon/code', 'COUPON_ERROR']]];
  expect(await refusal('ABSENT')).toEqual(refused);
  expect(await refusal((await coupon({}, { valid_email: 'bea@example.com' })).code)).toEqual(refused);
  expect(await refusal((await coupon({ validTo: '2026-02-28' })).code)).toEqual(refused);
  expect(await refusal((await coupon({ orderMin: 8.51 })).code)).toEqual(refused);
  const { code } = await coupon({ quantity: 1, orderMin: 8.5 }, {});
  const orders = await Promise.all(
    ['ada@example.com', 'bea@example.com'].map((email) =>
      shop.create({ client: { first_name: 'A', email }, coupon: { code } }),
    ),
  );
  expect(orders.map(({ status, json }) => [status, json.error ?? '']).sort()).toEqual([
    [200, ''],
    [422, 'COUPON_ERROR'],
  ]);
  expect(await refusal(code)).toEqual(refused);
});

test('a generator with wrong terms is refused with every problem named', async () => {
  const wrong = { discountPerc: 101, quantity: 0, validFrom: '2026-02-30', validWeekdays: [7] };
  await expect(generator(wrong)).rejects.toThrow(/discount-perc.*quantity.*valid-from.*valid-weekdays/);
  const gencode = await generator();
  await expect(generator({ gencode })).rejects.toThrow(/already/);
});

import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditClosedOrder, postEntry, redeemPoints, reverseOrderPoints } from '#src/ordering/loyalty/ledger.ts';
import { updateRestaurant } from '#src/ordering/restaurants/restaurant-store.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { whileLocked } from '../../support/contention.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';

let core: TestOrdering;
let restuid: string;

beforeAll(async () => {
  core = await startOrdering();
  restuid = core.restaurant.restuid;
});
afterAll(() => core.close());

let customers = 0;

const newCustomer = async (members: Record<string, unknown> = {}): Promise<string> => {
  customers += 1;
  const body = { email: `customer${customers}@example.com`, ...members };
  const answer = await core.call('POST', '/customer/create', { body });
  expect(answer.status).toBe(200);
  return answer.json.customer.uid;
};

const read = async (uid: string): Promise<Json> =>
  (await core.call('GET', '/customerstats/customer', { query: { uid } })).json.customer;

const move = (uid: string, diff_op: string, diff_points: number, more: object = {}): Promise<Answer> =>
  core.call('POST', '/loyaltylog/create', { body: { client_uid: uid, diff_op, diff_points, ...more } });

/** All entries of a customer, oldest first. */
const ledgerOf = async (uid: string): Promise<Json[]> => {
  const answer = await core.call('GET', '/loyaltylog/list', { query: { client_uid: uid } });
  expect(answer.json.more).toBe(false);
  return answer.json.loyaltylogs.sort((left: Json, right: Json) => left.seq - right.seq);
};

/** The balance is the fold of the entries, and every entry says the balance after it. */
const expectSound = async (uid: string): Promise<void> => {
  const entries = await ledgerOf(uid);
  let hundredths = 0;
  for (const [index, entry] of entries.entries()) {
    hundredths += Math.round(entry.diff_points * 100) * (entry.diff_op === 'add' ? 1 : -1);
    expect([entry.seq, entry.loyalty_points]).toEqual([index + 1, hundredths / 100]);
  }
  expect(await read(uid)).toMatchObject({ loyalty_points: hundredths / 100, loyalty_seq: entries.length });
};

/** Holds the customer until several of the calls wait for it, so that they do meet. */
const contended = <T>(uid: string, start: () => Promise<T>): Promise<T> =>
  whileLocked(
    core.db,
    sql`select 1 from ordering.customers where restuid = ${restuid} and uid = ${uid} for update`,
    5,
    start,
  );

const credit = (customerUid: string, orderUid: string, base: number) =>
  inTransaction(core.db, (tx) =>
    creditClosedOrder(tx, { restuid, customerUid, orderUid, base, now: core.clock.now() }),
  );
const redeem = (customerUid: string, orderUid: string, points: number) =>
  inTransaction(core.db, (tx) => redeemPoints(tx, { restuid, customerUid, orderUid, points, now: core.clock.now() }));
const reverse = (customerUid: string, orderUid: string) =>
  inTransaction(core.db, (tx) => reverseOrderPoints(tx, { restuid, customerUid, orderUid, now: core.clock.now() }));

test('A-110 loyaltylog/create makes a manual entry and loyaltylog.created, and leaves the customer unannounced', async () => {
  const uid = await newCustomer({ first_name: 'Ada' });
  const answer = await move(uid, 'add', 96.5, { notes: 'sorry', subrestaurant_uid: core.restaurant.locationUid });
  expect(answer.status).toBe(200);
  const entry = answer.json.loyaltylog;
  expect(entry).toMatchObject({
    seq: 1,
    client: { uid, first_name: 'Ada', last_name: null, phone: null },
    loyalty_points: 96.5,
    type: 'manual',
    input_type: 'points',
    diff_op: 'add',
    diff_points: 96.5,
    diff_value: null,
    currency: 'EUR',
    created: '2026-03-01 12:00:00',
    created_iso: '2026-03-01T12:00:00+01:00',
    notes: 'sorry',
    subrestaurant_uid: core.restaurant.locationUid,
  });
  expect((await core.call('GET', '/loyaltylog/get', { query: { uid: entry.uid } })).json.loyaltylog).toEqual(entry);
  const events = await core.events({ entity: uid });
  expect(events.map((event) => event.event)).toEqual(['customer.changed', 'loyaltylog.created']);
  expect(events[1]).toEqual({
    event: 'loyaltylog.created',
    loyaltylog: entry,
    id: expect.stringMatching(/^evt_/),
    created: '2026-03-01T11:00:00.000Z',
    restuid,
    seq: 1,
    previous_seq: null,
  });
  // The negative, proven by a later positive: only the update of the record is announced, as its second change.
  await core.call('POST', '/customer/update', { body: { uid, city: 'Pisa' } });
  const [, changed] = await core.events({ kind: 'customers', entity: uid });
  expect(changed).toMatchObject({ seq: 2, previous_seq: 1, changed_fields: ['city'] });
  expect(changed.customer.loyalty_points).toBe(96.5);
});

test('A-012 an entry holds every member of the interface, null where it has no value', async () => {
  const uid = await newCustomer();
  const { loyaltylog } = (await move(uid, 'add', 1)).json;
  expect(Object.keys(loyaltylog).join(',')).toBe(
    [
      'uid,seq,client,signup_uid,loyalty_points,type,input_type,diff_op,diff_points,diff_value,diff_left_value',
      'loyalty_left_value,currency,created,created_iso,notes,order_uid,loyaltylog_uid,coupon_code,used_coupon_code',
      'subrestaurant_uid',
    ].join(','),
  );
  expect(loyaltylog).toMatchObject({ notes: null, order_uid: null, loyaltylog_uid: null, loyalty_left_value: null });
});

test('a subtraction above the balance is refused with what is left, and nothing moves', async () => {
  const uid = await newCustomer();
  await move(uid, 'add', 96.5);
  const answer = await core.call('POST', `/loyaltylog/create?client_uid=${uid}&diff_op=subtract&diff_points=500`);
  expect([answer.status, answer.json.error]).toEqual([422, 'INSUFFICIENT_POINTS']);
  expect(answer.json.errors).toEqual([
    { pointer: 'diff_points', code: 'INSUFFICIENT_POINTS', message: 'at most 96.5' },
  ]);
  expect(await ledgerOf(uid)).toHaveLength(1);
  expect((await move(uid, 'subtract', 96.5)).json.loyaltylog.loyalty_points).toBe(0);
});

test('A-107 of 20 parallel subtractions of a whole balance exactly one succeeds', async () => {
  const uid = await newCustomer();
  await move(uid, 'add', 100);
  const answers = await contended(uid, () => Promise.all(Array.from({ length: 20 }, () => move(uid, 'subtract', 100))));
  const statuses = answers.map((answer) => answer.status).sort();
  expect(statuses).toEqual([200, ...Array(19).fill(422)]);
  expect((await read(uid)).loyalty_points).toBe(0);
  await expectSound(uid);
});

test('A-106 of 100 parallel movements none is lost and none leads below zero; seq has no gaps', async () => {
  const uid = await newCustomer();
  const amountOf = (i: number): number => ((i % 3 === 2 ? -1 : 1) * (i + 1)) / 4;
  const answers = await contended(uid, () =>
    Promise.all(
      Array.from({ length: 100 }, (_, i) => move(uid, amountOf(i) < 0 ? 'subtract' : 'add', Math.abs(amountOf(i)))),
    ),
  );
  expect(answers.filter((answer) => ![200, 422].includes(answer.status))).toEqual([]);
  expect(answers.filter((answer, i) => answer.status === 422 && amountOf(i) > 0)).toEqual([]);
  const taken = answers.reduce((sum, answer, i) => sum + (answer.status === 200 ? amountOf(i) : 0), 0);
  expect((await read(uid)).loyalty_points).toBe(taken);
  const balances = answers.filter(({ status }) => status === 200).map(({ json }) => json.loyaltylog.loyalty_points);
  expect(Math.min(...balances)).toBeGreaterThanOrEqual(0);
  await expectSound(uid);
  const seqs = (await core.events({ kind: 'loyaltylog', entity: uid })).map((event) => [event.seq, event.previous_seq]);
  expect(seqs).toEqual(seqs.map((_, index) => [index + 1, index === 0 ? null : index]));
});

test('A-106 a movement that waits for another one has the time after the wait, so time and seq have one sequence', async () => {
  const uid = await newCustomer();
  const row = sql`select 1 from ordering.customers where restuid = ${restuid} and uid = ${uid} for update`;
  const before = core.clock.now();
  const { json } = await whileLocked(
    core.db,
    row,
    1,
    () => move(uid, 'add', 1),
    () => core.clock.advance(60_000),
  );
  core.clock.set(before);
  expect(Date.parse(json.loyaltylog.created_iso) - before.getTime()).toBe(60_000);
});

test('A-106 closing sent twice, or in parallel, credits once', async () => {
  const uid = await newCustomer();
  const results = await Promise.all([credit(uid, 'ord_twice', 2412), credit(uid, 'ord_twice', 2412)]);
  expect(results.map((result) => result.kind).sort()).toEqual(['exists', 'posted']);
  expect(await ledgerOf(uid)).toMatchObject([
    { type: 'order', input_type: 'value', diff_points: 24.12, diff_value: 24.12, order_uid: 'ord_twice' },
  ]);
  await expectSound(uid);
});

test('points of an order follow the rate half-up, and an order that earns nothing makes no entry', async () => {
  const uid = await newCustomer();
  await updateRestaurant(core.db, restuid, { pointsPerUnit: 0.5 });
  expect((await credit(uid, 'ord_half', 1001)).kind).toBe('posted');
  expect((await credit(uid, 'ord_zero', 0)).kind).toBe('nothing');
  await updateRestaurant(core.db, restuid, { pointsPerUnit: 0 });
  expect((await credit(uid, 'ord_off', 1000)).kind).toBe('nothing');
  await updateRestaurant(core.db, restuid, { pointsPerUnit: 1 });
  expect((await ledgerOf(uid)).map((entry) => entry.diff_points)).toEqual([5.01]);
});

test('A-093 cancelling takes back what closing gave, at most the balance, and returns what was redeemed, once', async () => {
  const uid = await newCustomer();
  await move(uid, 'add', 100);
  expect((await redeem(uid, 'ord_c', 6000)).kind).toBe('posted');
  await credit(uid, 'ord_c', 2000);
  await move(uid, 'subtract', 55);
  await reverse(uid, 'ord_c');
  await reverse(uid, 'ord_c');
  const entries = await ledgerOf(uid);
  expect(entries.map(({ type, diff_op, diff_points }) => [type, diff_op, diff_points])).toEqual([
    ['manual', 'add', 100],
    ['redemption', 'subtract', 60],
    ['order', 'add', 20],
    ['manual', 'subtract', 55],
    ['order_cancelled', 'subtract', 5],
    ['order_cancelled', 'add', 60],
  ]);
  expect(entries[4]).toMatchObject({ loyaltylog_uid: entries[2].uid, order_uid: 'ord_c' });
  expect(entries[5]).toMatchObject({ loyaltylog_uid: entries[1].uid, order_uid: 'ord_c' });
  await expectSound(uid);
});

test('A-085 of 20 parallel redemptions of the whole balance exactly one succeeds, and one order redeems once', async () => {
  const uid = await newCustomer();
  await move(uid, 'add', 10);
  const results = await contended(uid, () =>
    Promise.all(Array.from({ length: 20 }, (_, i) => redeem(uid, `ord_r${i}`, 1000))),
  );
  expect(results.filter((result) => result.kind === 'posted')).toHaveLength(1);
  expect(results.filter((result) => result.kind === 'insufficient' && result.balance === 0)).toHaveLength(19);
  await expectSound(uid);
});

test('A-106 after any history the balance equals the sum of all entries', async () => {
  const step = fc.oneof(
    fc.record({ op: fc.constant('credit' as const), order: fc.integer({ min: 1, max: 4 }), amount: fc.nat(5000) }),
    fc.record({ op: fc.constant('redeem' as const), order: fc.integer({ min: 1, max: 4 }), amount: fc.nat(5000) }),
    fc.record({ op: fc.constant('reverse' as const), order: fc.integer({ min: 1, max: 4 }), amount: fc.nat(1) }),
    fc.record({ op: fc.constantFrom('add' as const, 'subtract' as const), order: fc.nat(1), amount: fc.nat(5000) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const uid = await newCustomer();
      await Promise.all(
        steps.map(async ({ op, order, amount }) => {
          const orderUid = `ord_${uid}_${order}`;
          if (op === 'credit') await credit(uid, orderUid, amount);
          else if (op === 'redeem') await redeem(uid, orderUid, amount + 1);
          else if (op === 'reverse') await reverse(uid, orderUid);
          else await move(uid, op, (amount + 1) / 100);
        }),
      );
      await expectSound(uid);
    }),
    { numRuns: 8 },
  );
});

test('A-108 a movement by value needs a point value, and is worth half-up of it then', async () => {
  const uid = await newCustomer();
  const byValue = (diff_value: number) =>
    core.call('POST', '/loyaltylog/create', {
      body: { client_uid: uid, diff_op: 'add', input_type: 'value', diff_value },
    });
  const refused = await byValue(10);
  expect([refused.status, refused.json.error, refused.json.errors[0].code]).toEqual([
    400,
    'VALIDATION_ERROR',
    'NOT_ENABLED',
  ]);
  await updateRestaurant(core.db, restuid, { pointValue: 0.03 });
  const posted = await byValue(1.25);
  // 1.25 / 0.03 = 41.666…, worth 41.67 x 0.03 = 1.2501.
  expect(posted.json.loyaltylog).toMatchObject({
    input_type: 'value',
    diff_points: 41.67,
    diff_value: 1.25,
    diff_left_value: 1.25,
    loyalty_left_value: 1.25,
  });
  await updateRestaurant(core.db, restuid, { pointValue: 1000 });
  const tooSmall = await byValue(0.01);
  expect([tooSmall.status, tooSmall.json.errors[0]]).toMatchObject([400, { pointer: 'diff_value', code: 'RANGE' }]);
  await updateRestaurant(core.db, restuid, { pointValue: null });
  const [entry] = await ledgerOf(uid);
  expect(entry.loyalty_left_value).toBe(1.25);
});

test('A-109 points for signing up come once, and signup_deleted tells when signup_uid was cleared', async () => {
  await updateRestaurant(core.db, restuid, { signupPoints: 500 });
  const uid = await newCustomer();
  const update = async (signup_uid: string | null): Promise<Json> =>
    (await core.call('POST', '/customer/update', { body: { uid, signup_uid } })).json.customer;
  expect(await update('app-1')).toMatchObject({ signedup: true, signup_deleted: null, loyalty_points: 5 });
  core.clock.advance(3_600_000);
  const cleared = await update(null);
  expect(cleared).toMatchObject({ signedup: false, signup_deleted: '2026-03-01 13:00:00' });
  expect(cleared.signup_deleted_iso).toBe('2026-03-01T13:00:00+01:00');
  expect(await update('app-2')).toMatchObject({ signedup: true, signup_deleted: null, loyalty_points: 5 });
  expect((await ledgerOf(uid)).map(({ type, diff_points }) => [type, diff_points])).toEqual([['signup', 5]]);
  const events = await core.events({ entity: uid });
  expect(events.map((event) => [event.event, event.seq])).toEqual([
    ['customer.changed', 1],
    ['customer.changed', 2],
    ['loyaltylog.created', 1],
    ['customer.changed', 3],
    ['customer.changed', 4],
  ]);
  // The event shows what commits with it: the points are there already.
  expect(events[1].customer).toMatchObject({ signup_uid: 'app-1', loyalty_points: 5, loyalty_seq: 1 });
  expect(events[1].changed_fields).toEqual(['signup_uid']);
  await updateRestaurant(core.db, restuid, { signupPoints: 0 });
});

test('A-763 entries of orders and of signing up lead to the largest balance at most, and name what they added', async () => {
  const uid = await newCustomer();
  for (let i = 0; i < 9; i += 1) expect((await move(uid, 'add', 1_000_000)).status).toBe(200);
  await move(uid, 'add', 999_995);
  expect(await credit(uid, 'ord_fits', 500)).toMatchObject({
    entry: { diffPoints: 500, loyaltyPoints: 1_000_000_000 },
  });
  expect((await credit(uid, 'ord_none', 2_000)).kind).toBe('nothing');
  await reverse(uid, 'ord_none');
  expect((await move(uid, 'add', 0.01)).json.errors[0].code).toBe('RANGE');
  await move(uid, 'subtract', 7);
  expect(await credit(uid, 'ord_part', 2_000)).toMatchObject({ entry: { diffPoints: 700, diffValue: 2_000 } });
  expect((await read(uid)).loyalty_points).toBe(10_000_000);
  await reverse(uid, 'ord_part');
  await redeem(uid, 'ord_back', 400);
  await move(uid, 'add', 10);
  await reverse(uid, 'ord_back');
  await move(uid, 'subtract', 2);
  await updateRestaurant(core.db, restuid, { signupPoints: 500 });
  const { customer } = (await core.call('POST', '/customer/update', { body: { uid, signup_uid: 'app-full' } })).json;
  expect(customer).toMatchObject({ signedup: true, loyalty_points: 10_000_000 });
  await updateRestaurant(core.db, restuid, { signupPoints: 0 });
  const entries = (await ledgerOf(uid)).slice(10);
  expect(entries.map(({ type, diff_op, diff_points }) => [type, diff_op, diff_points])).toEqual([
    ['order', 'add', 5],
    ['manual', 'subtract', 7],
    ['order', 'add', 7],
    ['order_cancelled', 'subtract', 7],
    ['redemption', 'subtract', 4],
    ['manual', 'add', 10],
    ['order_cancelled', 'add', 1],
    ['manual', 'subtract', 2],
    ['signup', 'add', 2],
  ]);
  await expectSound(uid);
});

test('A-109 a customer who signed up before there were points for it gets none by a later change', async () => {
  const uid = await newCustomer({ signup_uid: 'app-early' });
  await updateRestaurant(core.db, restuid, { signupPoints: 500 });
  for (const body of [
    { phone: '+39055111' },
    { signup_uid: 'app-other' },
    { signup_uid: null },
    { signup_uid: 'app-again' },
  ]) {
    const { customer } = (await core.call('POST', '/customer/update', { body: { uid, ...body } })).json;
    expect(customer.loyalty_points).toBe(0);
  }
  expect(await ledgerOf(uid)).toEqual([]);
  await updateRestaurant(core.db, restuid, { signupPoints: 0 });
});

test('a customer created with signup_uid has its points at once, in answer, ledger and events', async () => {
  await updateRestaurant(core.db, restuid, { signupPoints: 250 });
  const body = { email: 'signup@example.com', signup_uid: 'app-9' };
  const { customer } = (await core.call('POST', '/customer/create', { body })).json;
  expect(customer).toMatchObject({ signedup: true, loyalty_points: 2.5, loyalty_seq: 1 });
  const events = await core.events({ entity: customer.uid });
  expect(events.map((event) => event.event)).toEqual(['customer.changed', 'loyaltylog.created']);
  expect(events[0].customer).toEqual(customer);
  await updateRestaurant(core.db, restuid, { signupPoints: 0 });
});

test('A-073 the ledger of a removed customer keeps the uid alone, and gets no more credits', async () => {
  const uid = await newCustomer({ first_name: 'Ada', signup_uid: 'app-7' });
  await move(uid, 'add', 30);
  await credit(uid, 'ord_x', 1000);
  await core.call('POST', '/customer/remove', { body: { uid } });
  expect((await credit(uid, 'ord_y', 1000)).kind).toBe('no_customer');
  await reverse(uid, 'ord_x');
  const created = await move(uid, 'add', 1);
  expect([created.status, created.json.error]).toEqual([404, 'CUSTOMER_NOT_FOUND']);
  const entries = await ledgerOf(uid);
  expect(entries).toHaveLength(2);
  for (const entry of entries) {
    expect(entry.client).toEqual({ uid, first_name: null, last_name: null, phone: null, email: null });
    expect(entry.signup_uid).toBeNull();
  }
});

test('A-127 an entry of a time when the kind was off has no event, and the next one tells so', async () => {
  const uid = await newCustomer();
  await move(uid, 'add', 1);
  await core.setKinds({ loyaltylog: false });
  await move(uid, 'add', 2);
  await core.setKinds({ loyaltylog: true });
  await move(uid, 'add', 3);
  const events = await core.events({ kind: 'loyaltylog', entity: uid });
  expect(events.map(({ seq, previous_seq }) => [seq, previous_seq])).toEqual([
    [1, null],
    [3, 1],
  ]);
});

test('A-129 a rolled back movement leaves neither entry nor event', async () => {
  const uid = await newCustomer();
  const post = () =>
    inTransaction(core.db, async (tx) => {
      const entry = { restuid, customerUid: uid, type: 'manual', inputType: 'points', diffOp: 'add' } as const;
      await postEntry(tx, { ...entry, diffPoints: 100, now: core.clock.now() });
      throw new Error('after the movement');
    });
  await expect(post()).rejects.toThrow('after the movement');
  await move(uid, 'add', 2);
  expect((await ledgerOf(uid)).map((entry) => [entry.seq, entry.loyalty_points])).toEqual([[1, 2]]);
  expect(await core.events({ kind: 'loyaltylog', entity: uid })).toHaveLength(1);
});

test('A-029 entries and customers of another restaurant answer like invented ones', async () => {
  const other = await core.addRestaurant();
  const theirs = await core.call('POST', '/customer/create', {
    caller: other.caller,
    body: { email: 'o@example.com' },
  });
  const { uid } = theirs.json.customer;
  const posted = await core.call('POST', '/loyaltylog/create', {
    caller: other.caller,
    body: { client_uid: uid, diff_op: 'add', diff_points: 5 },
  });
  const ask = async (client: string, email: string, entry: string, location: string): Promise<string[]> => {
    const mine = await newCustomer();
    const answers = await Promise.all([
      core.call('GET', '/loyaltylog/get', { query: { uid: entry } }),
      core.call('GET', '/loyaltylog/list', { query: { client_uid: client } }),
      core.call('GET', '/loyaltylog/list', { query: { client_email: email } }),
      move(client, 'add', 5),
      core.call('POST', '/loyaltylog/create', { body: { client_email: email, diff_op: 'add', diff_points: 1 } }),
      move(mine, 'add', 5, { subrestaurant_uid: location }),
    ]);
    return answers.map((answer) => `${answer.status} ${answer.text.replace(/"request_id":"[^"]+"/, '')}`);
  };
  const foreign = await ask(uid, 'o@example.com', posted.json.loyaltylog.uid, other.locationUid);
  expect(foreign).toEqual(await ask('cus_none', 'none@example.com', 'loy_none', 'loc_none'));
  expect(foreign.map((answer) => answer.slice(0, 3))).toEqual(['404', '200', '200', '404', '404', '422']);
});

test('all missing members of a movement are reported at once', async () => {
  const missing = await core.call('POST', '/loyaltylog/create', { body: { diff_points: 'many' } });
  expect([missing.status, missing.json.error]).toEqual([400, 'MISSING_PARAMETER']);
  expect(missing.json.errors.map((error: Json) => [error.pointer, error.code])).toEqual([
    ['diff_op', 'REQUIRED'],
    ['diff_points', 'TYPE'],
    ['client_uid', 'REQUIRED'],
    ['client_email', 'REQUIRED'],
  ]);
  const uid = await newCustomer();
  for (const [amount, code] of [
    [0, 'RANGE'],
    [-1, 'RANGE'],
    [1_000_000.01, 'RANGE'],
    [0.001, 'FORMAT'],
  ] as const) {
    const answer = await move(uid, 'add', amount);
    expect([answer.status, answer.json.errors[0].code]).toEqual([400, code]);
  }
  const noValue = await move(uid, 'add', 5, { input_type: 'value' });
  expect(noValue.json.errors[0]).toMatchObject({ pointer: 'diff_value', code: 'REQUIRED' });
});

test('a currency without decimals takes no decimals', async () => {
  const yen = await core.addRestaurant({ currency: 'JPY', pointValue: 2 });
  const { caller } = yen;
  await core.call('POST', '/customer/create', { caller, body: { email: 'yen@example.com' } });
  const body = { client_email: 'yen@example.com', diff_op: 'add', input_type: 'value' };
  const wrong = await core.call('POST', '/loyaltylog/create', { caller, body: { ...body, diff_value: 10.5 } });
  expect([wrong.status, wrong.json.errors[0].code]).toEqual([400, 'FORMAT']);
  const right = await core.call('POST', '/loyaltylog/create', { caller, body: { ...body, diff_value: 25 } });
  expect(right.json.loyaltylog).toMatchObject({ diff_points: 12.5, diff_left_value: 25, currency: 'JPY' });
});

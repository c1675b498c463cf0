import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateRestaurant } from '#src/ordering/restaurants/restaurant-store.ts';
import {
  type Answer,
  type Json,
  startOrdering,
  type TestOrdering,
  type TestRestaurant,
} from '../../support/ordering.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

type Query = Record<string, string | number>;

const path = '/customerstats/customers';

/** A restaurant of its own, so that lists of several tests do not meet. */
const restaurantWith = async (customers: readonly Record<string, unknown>[]): Promise<TestRestaurant> => {
  const restaurant = await core.addRestaurant();
  for (const body of customers) {
    const answer = await core.call('POST', '/customer/create', { caller: restaurant.caller, body });
    expect(answer.status).toBe(200);
  }
  return restaurant;
};

const phones = (count: number): { phone: string }[] => Array.from({ length: count }, (_, i) => ({ phone: `555${i}` }));

const list = (restaurant: TestRestaurant, query: Query = {}): Promise<Answer> =>
  core.call('GET', path, { caller: restaurant.caller, query });

const uidsOf = (answer: Answer): string[] => answer.json.customers.map((customer: Json) => customer.uid);

test('A-065 without page it is page 1; past the end the list is empty; the last page has more: false', async () => {
  const restaurant = await restaurantWith(phones(5));
  const all = await list(restaurant);
  expect(all.json).toMatchObject({ page: 1, pagesize: 100, total_count: 5, more: false, next_cursor: null });
  const last = await list(restaurant, { page: 2, pagesize: 3 });
  expect(last.json).toMatchObject({ page: 2, pagesize: 3, total_count: 5, more: false, next_cursor: null });
  expect(uidsOf(last)).toEqual(uidsOf(all).slice(3));
  const exact = await list(restaurant, { page: 1, pagesize: 5 });
  expect([exact.json.more, exact.json.next_cursor]).toEqual([false, null]);
  const past = await list(restaurant, { page: 1_000_000, pagesize: 100 });
  expect(past.json).toMatchObject({ customers: [], page: 1_000_000, total_count: 5, more: false, next_cursor: null });
});

test('A-065 page and pagesize outside their bounds are RANGE', async () => {
  for (const query of [
    { pagesize: 0 },
    { pagesize: 101 },
    { page: 0 },
    { page: 1_000_001 },
    { pagesize: -1 },
  ] as Query[]) {
    const answer = await list(core.restaurant, query);
    expect([answer.status, answer.json.errors]).toMatchObject([
      400,
      [{ pointer: Object.keys(query)[0], code: 'RANGE' }],
    ]);
  }
});

/** Follows next_cursor from the first page; `between` runs before each further page. */
const walk = async (
  restaurant: TestRestaurant,
  query: Query,
  between = async (_page: number) => {},
): Promise<Json[]> => {
  const seen: Json[] = [];
  let answer = await list(restaurant, query);
  for (let page = 1; ; page += 1) {
    expect(answer.json.page).toBe(page);
    seen.push(...answer.json.customers);
    if (!answer.json.more) return seen;
    await between(page);
    answer = await list(restaurant, { ...query, cursor: answer.json.next_cursor });
    expect(answer.status).toBe(200);
  }
};

test('A-066 customers of one second come each exactly once and in the same sequence by page and by cursor', async () => {
  const restaurant = await restaurantWith(phones(40));
  const byCursor = (await walk(restaurant, { pagesize: 7 })).map((customer) => customer.uid);
  const byPage: string[] = [];
  for (let page = 1; page <= 6; page += 1) byPage.push(...uidsOf(await list(restaurant, { page, pagesize: 7 })));
  expect(byCursor).toEqual(byPage);
  expect(new Set(byCursor).size).toBe(40);
  expect(byCursor).toEqual([...byCursor].sort().reverse());
});

test('A-067 customers that are created or removed between cursor pages do not repeat or hide other customers', async () => {
  const restaurant = await restaurantWith(phones(20));
  const before = uidsOf(await list(restaurant));
  const removed: string[] = [];
  const seen = await walk(restaurant, { pagesize: 4 }, async (page) => {
    core.clock.advance(1000);
    await core.call('POST', '/customer/create', { caller: restaurant.caller, body: { phone: `new ${page}` } });
    const victims = [before[page * 4 - 1], before[page * 4 + 1]].filter((uid) => uid !== undefined);
    for (const uid of victims) {
      await core.call('POST', '/customer/remove', { caller: restaurant.caller, body: { uid } });
      removed.push(uid);
    }
  });
  const uids = seen.map((customer) => customer.uid);
  expect(new Set(uids).size).toBe(uids.length);
  const untouched = before.filter((uid) => !removed.includes(uid));
  expect(uids.filter((uid) => !removed.includes(uid))).toEqual(untouched);
});

test('under a cursor total_count stays the figure of the first page', async () => {
  const restaurant = await restaurantWith(phones(3));
  const first = await list(restaurant, { pagesize: 2 });
  await core.call('POST', '/customer/create', { caller: restaurant.caller, body: { phone: '1' } });
  const second = await list(restaurant, { pagesize: 2, cursor: first.json.next_cursor });
  expect(second.json).toMatchObject({ page: 2, total_count: 3, more: false });
  expect((await list(restaurant)).json.total_count).toBe(4);
});

test('A-068 a cursor with other filters, of another restaurant or list, or damaged is CURSOR_INVALID', async () => {
  const restaurant = await restaurantWith(phones(3));
  const other = await restaurantWith(phones(3));
  const { next_cursor: cursor } = (await list(restaurant, { pagesize: 1 })).json;
  const damaged = `${cursor.slice(0, 10)}${cursor[10] === 'A' ? 'B' : 'A'}${cursor.slice(11)}`;
  const answers = [
    await list(restaurant, { cursor, signedup: 0 }),
    await list(other, { cursor }),
    await core.call('GET', '/loyaltylog/list', { caller: restaurant.caller, query: { cursor } }),
    await list(restaurant, { cursor: damaged }),
    await list(restaurant, { cursor: `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}` }),
    await list(restaurant, { cursor: `${cursor}.x` }),
    await list(restaurant, { cursor: 'e30' }),
  ];
  for (const answer of answers) {
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: 'cursor', code: 'CURSOR_INVALID' }]]);
  }
  const mixed = await list(restaurant, { cursor, page: 2 });
  expect([mixed.status, mixed.json.errors[0].code]).toEqual([400, 'MIXED_PAGING']);
  expect((await list(restaurant, { cursor, pagesize: 2 })).status).toBe(200);
});

test('A-077 dates are days of the API time zone, both ends included', async () => {
  const restaurant = await core.addRestaurant({ timeZone: 'Europe/Rome' });
  await updateRestaurant(core.db, restaurant.restuid, { apiTimeZone: 'America/New_York' });
  // Midnights of New York are at 05:00 UTC in winter.
  const times = ['2026-01-10T04:59:59Z', '2026-01-10T05:00:00Z', '2026-01-11T04:59:59Z', '2026-01-11T05:00:00Z'];
  for (const [index, at] of times.entries()) {
    core.clock.set(at);
    await core.call('POST', '/customer/create', { caller: restaurant.caller, body: { phone: `77${index}` } });
  }
  const phonesOf = async (query: Query): Promise<string[]> =>
    (await list(restaurant, query)).json.customers.map((customer: Json) => customer.phone).sort();
  expect(await phonesOf({ added_from: '2026-01-10', added_to: '2026-01-10' })).toEqual(['771', '772']);
  expect(await phonesOf({ added_from: '2026-01-11' })).toEqual(['773']);
  expect(await phonesOf({ added_to: '2026-01-09' })).toEqual(['770']);
  expect(await phonesOf({ added_to: '9999-12-31', added_from: '0001-01-01' })).toHaveLength(4);
  await sql`update ordering.customers set first_order = added, last_order = added + interval '1 day',
    devices_unregistered = added where restuid = ${restaurant.restuid} and phone <> '770'`.execute(core.db);
  expect(await phonesOf({ last_order_to: '2026-01-11' })).toEqual(['771', '772']);
  expect(await phonesOf({ first_order_from: '2026-01-11' })).toEqual(['773']);
  expect(await phonesOf({ devices_unregistered_from: '2026-01-10', devices_unregistered_to: '2026-01-10' })).toEqual([
    '771',
    '772',
  ]);
  core.clock.set('2026-03-01T11:00:00Z');
});

test('A-077 q finds the start of a name, email or phone without case, and nothing else', async () => {
  const restaurant = await restaurantWith([
    { email: 'zoe@example.com', first_name: 'Ada', last_name: 'Lovelace', phone: '+39 055 1234' },
    { email: 'ada.b@example.com', first_name: 'Grace', last_name: 'Hopper' },
    { email: 'x@example.com', first_name: 'Canada', last_name: '100%_\\sure' },
  ]);
  const found = async (q: string): Promise<string[]> =>
    (await list(restaurant, { q })).json.customers.map((customer: Json) => customer.email).sort();
  expect(await found('aDa')).toEqual(['ada.b@example.com', 'zoe@example.com']);
  expect(await found('LOVE')).toEqual(['zoe@example.com']);
  expect(await found('ada lov')).toEqual(['zoe@example.com']);
  expect(await found('+39 05')).toEqual(['zoe@example.com']);
  expect(await found('3905512')).toEqual(['zoe@example.com']);
  expect(await found('1234')).toEqual([]);
  expect(await found('100%_\\s')).toEqual(['x@example.com']);
  expect(await found('__')).toEqual([]);
  expect(await found('%%')).toEqual([]);
  const short = await list(restaurant, { q: 'a' });
  expect([short.status, short.json.errors[0].code]).toEqual([400, 'LENGTH']);
});

test('A-077 signedup, code and location match exactly; a filter with an unknown value gives an empty list', async () => {
  const restaurant = await restaurantWith([
    { phone: '1', signup_uid: 's' },
    { phone: '2', code: 'VIP' },
    { phone: '3' },
  ]);
  const located = await core.call('POST', '/customer/create', {
    caller: restaurant.caller,
    body: { phone: '4', subrestaurant_uid: restaurant.locationUid },
  });
  expect(located.status).toBe(200);
  const phonesOf = async (query: Query): Promise<string[]> =>
    (await list(restaurant, query)).json.customers.map((customer: Json) => customer.phone).sort();
  expect(await phonesOf({ signedup: 1 })).toEqual(['1']);
  expect(await phonesOf({ signedup: 0 })).toEqual(['2', '3', '4']);
  expect(await phonesOf({ code: 'VIP' })).toEqual(['2']);
  expect(await phonesOf({ code: 'vip' })).toEqual([]);
  expect(await phonesOf({ subrestaurant_uid: restaurant.locationUid })).toEqual(['4']);
  const none = await list(restaurant, { subrestaurant_uid: 'loc_none' });
  expect(none.json).toMatchObject({ customers: [], total_count: 0, more: false });
});

test('A-066 the loyalty log pages by number and by cursor alike, and its filters match exactly', async () => {
  const restaurant = await restaurantWith([{ email: 'l1@example.com' }, { email: 'l2@example.com' }]);
  const { caller } = restaurant;
  for (let i = 0; i < 15; i += 1) {
    const body = {
      client_email: i % 3 === 0 ? 'l2@example.com' : 'l1@example.com',
      diff_op: 'add',
      diff_points: i + 1,
    };
    expect((await core.call('POST', '/loyaltylog/create', { caller, body })).status).toBe(200);
  }
  const ask = async (query: Query): Promise<Json> =>
    (await core.call('GET', '/loyaltylog/list', { caller, query })).json;
  const byPage: string[] = [];
  for (let page = 1; page <= 4; page += 1) {
    byPage.push(...(await ask({ page, pagesize: 4 })).loyaltylogs.map((entry: Json) => entry.uid));
  }
  const byCursor: string[] = [];
  let answer = await ask({ pagesize: 4 });
  for (;;) {
    byCursor.push(...answer.loyaltylogs.map((entry: Json) => entry.uid));
    if (!answer.more) break;
    answer = await ask({ pagesize: 4, cursor: answer.next_cursor });
  }
  expect(byCursor).toEqual(byPage);
  expect(new Set(byCursor).size).toBe(15);
  expect((await ask({ client_email: 'L2@example.com' })).total_count).toBe(5);
  expect((await ask({ type: 'manual', date_from: '2026-03-01', date_to: '2026-03-01' })).total_count).toBe(15);
  expect((await ask({ date_to: '2026-02-28' })).total_count).toBe(0);
  expect((await ask({ type: 'order' })).total_count).toBe(0);
  expect((await ask({ order_uid: 'ord_none' })).loyaltylogs).toEqual([]);
  expect((await ask({ type: 'gift' })).errors).toMatchObject([{ pointer: 'type', code: 'ENUM' }]);
});

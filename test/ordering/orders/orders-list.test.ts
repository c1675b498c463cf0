import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateRestaurant } from '#src/ordering/restaurants/restaurant-store.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

type Query = Record<string, string | number>;

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

const list = (shop: Shop, query: Query = {}): Promise<Answer> => shop.call('GET', '/orders/list', { query });

const uidsOf = (answer: Answer): string[] => answer.json.orders.map(({ uid }: Json) => uid);

/** Uids along next_cursor; `between` runs before each further page. */
const walk = async (
  shop: Shop,
  query: Query,
  between = async (_page: number): Promise<void> => {},
): Promise<string[]> => {
  const seen: string[] = [];
  let answer = await list(shop, query);
  for (let page = 1; ; page += 1) {
    expect([answer.status, answer.json.page]).toEqual([200, page]);
    seen.push(...uidsOf(answer));
    if (!answer.json.more) return seen;
    await between(page);
    answer = await list(shop, { ...query, cursor: answer.json.next_cursor });
  }
};

test('A-066 100 orders of one second come each exactly once and in the same sequence by page and by cursor', async () => {
  const shop = await openShop(core);
  const placed = await Promise.all(times(100, () => shop.placed()));
  const newestFirst = placed
    .map(({ uid }) => uid)
    .sort()
    .reverse();
  const byPage: string[] = [];
  for (const page of times(15, (i) => i + 1)) byPage.push(...uidsOf(await list(shop, { page, pagesize: 7 })));
  expect(byPage).toEqual(newestFirst);
  expect(await walk(shop, { pagesize: 7 })).toEqual(newestFirst);
  const whole = await list(shop);
  expect(uidsOf(whole)).toEqual(newestFirst);
  expect(whole.json).toMatchObject({ page: 1, pagesize: 100, total_count: 100, more: false, next_cursor: null });
  expect((await list(shop, { page: 16, pagesize: 7 })).json).toMatchObject({
    orders: [],
    more: false,
    total_count: 100,
  });
});

test('A-067 orders that are created, move or lose their customer between cursor pages do not affect other orders', async () => {
  const shop = await openShop(core);
  const before: Json[] = [];
  for (const index of times(20, (i) => i)) {
    core.clock.advance(1000);
    before.push(await shop.placed({ client: { first_name: 'Ada', email: `${index}@example.com` } }));
  }
  const newestFirst = before.map(({ uid }) => uid).reverse();
  const seen = await walk(shop, { pagesize: 4 }, async (page) => {
    await shop.placed();
    const moved = before[20 - page * 4] ?? before[0];
    await shop.done('cancel', moved);
    await shop.call('POST', '/customer/remove', { body: { email: `${page}@example.com` } });
  });
  expect(seen).toEqual(newestFirst);
});

test('A-068 a cursor with other filters or of another restaurant is CURSOR_INVALID, and its count stays', async () => {
  const [shop, other] = [await openShop(core), await openShop(core)];
  await Promise.all(times(3, () => shop.placed()));
  const { next_cursor: cursor } = (await list(shop, { pagesize: 1, status: 'new' })).json;
  for (const answer of [
    await list(shop, { cursor }),
    await list(shop, { cursor, status: 'new,closed' }),
    await list(shop, { cursor, status: 'new', updated_from: '2026-03-01T00:00:00Z' }),
    await list(other, { cursor, status: 'new' }),
  ]) {
    expect(refusalOf(answer)).toEqual([400, 'VALIDATION_ERROR', [['cursor', 'CURSOR_INVALID']]]);
  }
  await shop.placed();
  expect((await list(shop, { cursor, status: 'new' })).json).toMatchObject({ page: 2, total_count: 3, more: false });
  expect(refusalOf(await list(shop, { cursor, status: 'new', page: 2 }))[2]).toEqual([['cursor', 'MIXED_PAGING']]);
});

test('A-094 status, closed, client_uid, dmethod, location and external_id match exactly, newest first', async () => {
  const shop = await openShop(core);
  const make = async (change: Json, ...moves: string[]): Promise<string> => {
    core.clock.advance(1000);
    const order = await shop.placed(change);
    for (const move of moves) await shop.done(move, order);
    return order.uid;
  };
  const grace = { client: { first_name: 'Grace', email: 'grace@example.com' } };
  const delivery = { date: core.clock.now().toISOString(), address: { street: 'Via Roma', city: 'Firenze' } };
  const fresh = await make({ external_id: 'Till-1' });
  const confirmed = await make({ ...grace, external_id: 'till-1' }, 'confirm');
  const closed = await make({ ...grace, dmethod: '1', pickup: null, delivery }, 'confirm', 'close');
  const cancelled = await make({ dmethod: '0t', pickup: null, table: '4' }, 'cancel');
  const found = async (query: Query): Promise<string[]> => {
    const answer = await list(shop, query);
    expect(answer.json.total_count).toBe(answer.json.orders.length);
    return uidsOf(answer);
  };
  expect(await found({})).toEqual([cancelled, closed, confirmed, fresh]);
  expect(await found({ status: 'new' })).toEqual([fresh]);
  expect(await found({ status: 'closed,new' })).toEqual([closed, fresh]);
  expect(await found({ status: 'timed_out' })).toEqual([]);
  expect(await found({ closed: 1 })).toEqual([closed]);
  expect(await found({ closed: 0, status: 'closed,confirmed' })).toEqual([confirmed]);
  const { uid: clientUid } = await shop.customer('grace@example.com');
  expect(await found({ client_uid: clientUid })).toEqual([closed, confirmed]);
  expect(await found({ client_uid: clientUid, status: 'confirmed' })).toEqual([confirmed]);
  expect(await found({ client_uid: 'cus_invented' })).toEqual([]);
  expect(await found({ dmethod: '0' })).toEqual([confirmed, fresh]);
  expect(await found({ dmethod: '0t' })).toEqual([cancelled]);
  expect(await found({ subrestaurant_uid: shop.locationUid, dmethod: '1' })).toEqual([closed]);
  expect(await found({ subrestaurant_uid: 'loc_invented' })).toEqual([]);
  expect(await found({ external_id: 'till-1' })).toEqual([confirmed]);
  expect(refusalOf(await list(shop, { status: 'new,gone', closed: 2, date_from: '2026-02-30' }))).toEqual([
    400,
    'VALIDATION_ERROR',
    [
      ['/status/1', 'ENUM'],
      ['closed', 'ENUM'],
      ['date_from', 'FORMAT'],
    ],
  ]);
});

test('A-094 dates are inclusive days of the API time zone; updated_from is an instant', async () => {
  const shop = await openShop(core);
  await updateRestaurant(core.db, shop.restuid, { apiTimeZone: 'America/New_York' });
  // Midnights of New York are at 05:00 UTC in winter.
  const instants = ['2026-01-10T04:59:59Z', '2026-01-10T05:00:00Z', '2026-01-11T04:59:59Z', '2026-01-11T05:00:00Z'];
  const orders: Json[] = [];
  for (const instant of instants) {
    core.clock.set(instant);
    orders.push(await shop.placed());
  }
  const found = async (query: Query): Promise<number[]> => {
    const uids = uidsOf(await list(shop, query));
    return uids.map((uid) => orders.findIndex((order) => order.uid === uid));
  };
  expect(await found({ date_from: '2026-01-10', date_to: '2026-01-10' })).toEqual([2, 1]);
  expect(await found({ date_from: '2026-01-11' })).toEqual([3]);
  expect(await found({ date_to: '2026-01-09' })).toEqual([0]);
  const shown = (await list(shop, { date_to: '2026-01-09' })).json.orders[0];
  expect([shown.date, shown.date_iso]).toEqual(['2026-01-09 23:59:59', '2026-01-10T05:59:59+01:00']);
  core.clock.set('2026-03-01T11:00:00Z');
  expect(await found({ updated_from: '2026-01-11T06:00:00+01:00' })).toEqual([3]);
  expect(await found({ updated_from: '2026-01-11T06:00:01+01:00' })).toEqual([]);
});

test('A-094 updated_from finds an order again when its status changes', async () => {
  const shop = await openShop(core);
  core.clock.set('2026-03-01T11:00:00Z');
  const [first, second] = [await shop.placed(), await shop.placed()];
  core.clock.set('2026-03-01T11:00:05Z');
  const since = { updated_from: '2026-03-01T11:00:05Z' };
  expect(uidsOf(await list(shop, since))).toEqual([]);
  await shop.done('confirm', first);
  expect(uidsOf(await list(shop, since))).toEqual([first.uid]);
  await shop.done('cancel', second);
  expect(uidsOf(await list(shop, since))).toEqual([first.uid, second.uid].sort().reverse());
  core.clock.set('2026-03-01T11:00:00Z');
});

test('A-029 a list shows the orders of its own restaurant, each as orders/get shows it', async () => {
  const [mine, theirs] = [await openShop(core), await openShop(core)];
  const own = await mine.placed();
  const foreign = await theirs.placed();
  const answer = await list(mine);
  expect(answer.json.orders).toEqual([await mine.read(own.uid)]);
  expect(answer.text).not.toContain(foreign.uid);
  const client = (await theirs.read(foreign.uid)).client.uid;
  expect((await list(mine, { client_uid: client })).json.orders).toEqual([]);
});

test('orders/get requires uid or external_id', async () => {
  const shop = await openShop(core);
  const needed = ['uid', 'external_id'].map((name) => [name, 'REQUIRED']);
  expect(refusalOf(await shop.call('GET', '/orders/get'))).toEqual([400, 'MISSING_PARAMETER', needed]);
});

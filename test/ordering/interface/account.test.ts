import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Location } from '#src/ordering/restaurants/restaurant.ts';
import { searchRestaurants } from '#src/ordering/restaurants/restaurant-search-store.ts';
import { findLocation, nextOrderNumber, saveLocation } from '#src/ordering/restaurants/restaurant-store.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';

let core: TestOrdering;
let first: Location;

beforeAll(async () => {
  core = await startOrdering();
  const { restuid, locationUid } = core.restaurant;
  const location = await findLocation(core.db, restuid, locationUid);
  if (location === undefined) throw new Error('a new restaurant has no location');
  first = { ...location, position: 5 };
  await saveLocation(core.db, first);
  const deliverypoints = [{ uid: 'dp_1', name: 'Station', full_address: 'Piazza 1, Firenze', fee: 150 }];
  const dmethods = [{ code: '0', name: 'Takeaway' }];
  await saveLocation(core.db, { ...first, uid: 'loc_b', code: 'B', position: 2, deliverypoints, dmethods });
  await saveLocation(core.db, { ...first, uid: 'loc_a', city: 'Pisa', position: 2 });
  await saveLocation(core.db, { ...first, uid: 'loc_hidden', hidden: true, position: 1 });
});
afterAll(() => core.close());

const list = async (query: Record<string, string> = {}): Promise<Json[]> =>
  (await core.call('GET', '/account/subrestaurants', { query })).json.subrestaurants;

test('locations come in panel order, ties by uid, hidden ones only when asked for', async () => {
  const uidsOf = (locations: Json[]): string[] => locations.map((location) => location.uid);
  expect(uidsOf(await list())).toEqual(['loc_a', 'loc_b', first.uid]);
  expect(uidsOf(await list({ visible: '1' }))).toEqual(['loc_a', 'loc_b', first.uid]);
  expect(uidsOf(await list({ visible: '0' }))).toEqual(['loc_hidden', 'loc_a', 'loc_b', first.uid]);
});

test('A-012 a location has every member, money as numbers and null where there is nothing', async () => {
  const [pisa, b] = await list();
  expect(pisa).toMatchObject({ city: 'Pisa', at: null, code: null, phone: null, deliverypoints: [] });
  expect(b).toEqual({
    uid: 'loc_b',
    name: 'Trattoria da Ada',
    at: null,
    code: 'B',
    address: null,
    city: null,
    province: null,
    zip: null,
    country: null,
    phone: null,
    email: null,
    dmethods: [{ code: '0', name: 'Takeaway' }],
    deliverypoints: [{ uid: 'dp_1', name: 'Station', full_address: 'Piazza 1, Firenze', fee: 1.5 }],
    time_zone: 'Europe/Rome',
  });
});

test('a new restaurant has one location that offers pickup, delivery and the table', async () => {
  const other = await core.addRestaurant();
  const answer = await core.call('GET', '/account/subrestaurants', { caller: other.caller });
  expect(answer.json.subrestaurants).toHaveLength(1);
  expect(answer.json.subrestaurants[0].dmethods.map((method: Json) => method.code)).toEqual(['0', '1', '0t']);
});

test('a flag takes 0 and 1 and nothing else', async () => {
  for (const visible of ['2', 'true', 'x']) {
    const answer = await core.call('GET', '/account/subrestaurants', { query: { visible } });
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: 'visible', code: 'ENUM' }]]);
  }
});

test('a restaurant with a wrong zone or currency is refused with every problem named', async () => {
  const wrong = { name: ' ', timeZone: '+01:00', currency: 'BHD' };
  await expect(core.addRestaurant(wrong)).rejects.toThrow(/name.*time zone.*minor digits/);
  await expect(core.addRestaurant({ currency: 'EURO' })).rejects.toThrow('ISO 4217');
  await expect(core.addRestaurant({ currency: 'IQD' })).rejects.toThrow('minor digits');
  await expect(core.addRestaurant({ timeZone: 'Europe/Nowhere' })).rejects.toThrow('IANA');
});

test('every operation of a removed restaurant answers 401', async () => {
  const caller = { ...core.restaurant.caller, tenants: ['rst_gone'] };
  for (const path of ['/customerstats/customers', '/loyaltylog/list', '/account/subrestaurants']) {
    const answer = await core.call('GET', path, { caller });
    expect([path, answer.status, answer.json.error]).toEqual([path, 401, 'RESTAURANT_NOT_FOUND']);
  }
});

test('order numbers have no gap: a number that is rolled back is given out again, also in parallel', async () => {
  const { restuid } = core.restaurant;
  const take = (fails: boolean): Promise<number> =>
    inTransaction(core.db, async (tx) => {
      const number = await nextOrderNumber(tx, restuid);
      if (fails) throw new Error('rolled back');
      return number;
    });
  const results = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => take(i % 4 === 3)));
  const numbers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  expect(numbers.sort((left, right) => left - right)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
});

test('a restaurant is found by its name with a capital letter that JavaScript and PostgreSQL lower differently', async () => {
  const { restuid } = await core.addRestaurant({ name: 'İZMİR Köfte' });
  for (const search of ['İZMİR', 'izmir köf'])
    expect(await searchRestaurants(core.db, { search, before: undefined, limit: 5 })).toMatchObject([{ uid: restuid }]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

const now = (): string => core.clock.now().toISOString();

const deliver = (shop: Shop, address: Json, change: Json = {}): Promise<Answer> =>
  shop.create({ dmethod: '1', pickup: null, delivery: { date: now(), address }, ...change });

const refused = (code: string, pointer = '/delivery/address'): [number, string, [string, string][]] => [
  422,
  code,
  [[pointer, code]],
];

// Florence, the cathedral: the venue of these tests.
const venue = { lat: 43.7731, lng: 11.256 };

test('A-083 the first zone that holds the address gives the fee: circle, polygon or postal code', async () => {
  const shop = await openShop(core);
  await shop.changeLocation({
    ...venue,
    zones: [
      { name: 'Centre', fee: 100, orderMin: 0, radiusKms: 1 },
      // A "U" open to the north, so that a point between its arms is outside.
      {
        name: 'Hills',
        fee: 350,
        orderMin: 0,
        polygon: [
          [43.9, 11.3],
          [43.8, 11.3],
          [43.8, 11.6],
          [43.9, 11.6],
          [43.9, 11.5],
          [43.85, 11.5],
          [43.85, 11.4],
          [43.9, 11.4],
        ],
      },
      { name: 'Town', fee: 250, orderMin: 0, zips: ['50122', '50123'] },
    ],
  });
  const town = { street: 'Via Roma', city: 'Firenze', zip: '50122' };
  const cases: [Json, number | undefined][] = [
    [{ lat: 43.782, lng: 11.256 }, 1], // 0.99 km north
    [{ lat: 43.7822, lng: 11.256 }, undefined], // 1.01 km
    [{ ...town, lat: 43.7822, lng: 11.256 }, 2.5],
    [{ lat: 43.82, lng: 11.35 }, 3.5],
    [{ lat: 43.88, lng: 11.55 }, 3.5],
    [{ lat: 43.88, lng: 11.45 }, undefined],
    [{ lat: 43.79, lng: 11.35 }, undefined],
    [town, 2.5],
    [{ ...town, zip: '50100' }, undefined],
    [{ street: 'Via Roma', city: 'Firenze' }, undefined],
  ];
  for (const [address, fee] of cases) {
    const answer = await deliver(shop, address);
    if (fee === undefined) expect(refusalOf(answer)).toEqual(refused('INVALID_ADDRESS'));
    else expect([answer.status, answer.json.order.delivery_fee]).toEqual([200, fee]);
  }
  const far = await deliver(shop, { ...town, lat: 43.88, lng: 11.55 });
  const order = await shop.read(far.json.order.uid);
  expect([order.fee, order.total, order.delivery.address]).toMatchObject([
    3.5,
    12,
    { ...town, kms: 26.41, floor: null },
  ]);
});

test('A-083 neither street and city nor coordinates is no address; without zones everywhere is reached for nothing', async () => {
  const shop = await openShop(core);
  for (const address of [
    { place_id: 'ChIJ' },
    { place_id: 'ChIJ', street: 'Via Roma' },
    { city: 'Firenze', zip: '50122' },
    { lat: 43.7 },
  ]) {
    expect(refusalOf(await deliver(shop, address))).toEqual(refused('INVALID_ADDRESS'));
  }
  for (const address of [
    { place_id: 'ChIJ', street: 'Rue X', city: 'Paris' },
    { lat: -33.9, lng: '151.2' },
  ]) {
    expect((await deliver(shop, address)).json.order.delivery_fee).toBe(0);
  }
  expect(refusalOf(await deliver(shop, { lat: 91, lng: 1.1234567 }))[2]).toEqual([
    ['/delivery/address/lat', 'RANGE'],
    ['/delivery/address/lng', 'FORMAT'],
  ]);
});

test('a pickup point gives its name and fee; an unknown one is INVALID_ADDRESS', async () => {
  const shop = await openShop(core);
  await shop.changeLocation({
    dmethods: [{ code: '20', name: 'Pickup point' }],
    deliverypoints: [{ uid: 'dlp_1', name: 'Station', full_address: 'Piazza 1, Firenze', fee: 150 }],
  });
  const to = (uid: string): Promise<Answer> =>
    shop.create({ dmethod: '20', pickup: null, delivery: { date: now(), deliverypoint: { uid } } });
  expect(refusalOf(await to('dlp_2'))).toEqual(refused('INVALID_ADDRESS', '/delivery/deliverypoint/uid'));
  const { order } = (await to('dlp_1')).json;
  expect([order.delivery_fee, order.total, order.pickup_date]).toEqual([1.5, 10, null]);
  expect((await shop.read(order.uid)).delivery).toEqual({
    date: '2026-03-01 12:00:00',
    date_iso: '2026-03-01T12:00:00+01:00',
    address: null,
    deliverypoint: { name: 'Station', full_address: 'Piazza 1, Firenze', fee: 1.5 },
  });
});

test('A-086 a method that the location does not offer is NOT_ENABLED', async () => {
  const shop = await openShop(core);
  for (const dmethod of ['20', '0e-fair', 'dcf-drone']) {
    const delivery = { date: now(), deliverypoint: { uid: 'dlp_1' } };
    const [status, error, details] = refusalOf(await shop.create({ dmethod, delivery, pickup: null }));
    if (dmethod !== '20')
      expect([status, error, details]).toEqual([400, 'VALIDATION_ERROR', [['dmethod', 'NOT_ENABLED']]]);
    else expect([status, details[0]]).toEqual([400, ['dmethod', 'NOT_ENABLED']]);
  }
  await shop.changeLocation({ dmethods: [{ code: '0e-fair', name: 'Fair' }] });
  expect((await shop.placed({ dmethod: '0e-fair', pickup: null })).pickup_date).toBeNull();
  expect(refusalOf(await shop.create())[2]).toEqual([['dmethod', 'NOT_ENABLED']]);
  expect(refusalOf(await shop.create({ dmethod: 'drone' }))[2]).toEqual([['dmethod', 'FORMAT']]);
});

test('A-086 lines below the minimum of the zone are ORDER_MIN; the minimum itself is enough', async () => {
  const shop = await openShop(core, {
    zones: [
      { name: 'Near', fee: 0, orderMin: 1000, zips: ['50122'] },
      { name: 'Far', fee: 300, orderMin: 1501, zips: ['50125'] },
    ],
  });
  const details = (quantity: number) => ({ details: [shop.line('P5', { quantity })] });
  const to = (zip: string) => ({ street: 'Via Roma', city: 'Firenze', zip });
  // 6.25 each when delivered.
  const low = [400, 'VALIDATION_ERROR', [['details', 'ORDER_MIN']]];
  expect(refusalOf(await deliver(shop, to('50122'), details(1)))).toEqual(low);
  expect((await deliver(shop, to('50122'), details(2))).status).toBe(200);
  expect(refusalOf(await deliver(shop, to('50125'), details(2)))).toEqual(low);
  expect((await deliver(shop, to('50125'), details(3))).json.order.total).toBe(21.75);
});

test('A-086 outside the opening hours, in the zone of the location, is CLOSED; the closing minute is outside', async () => {
  const shop = await openShop(core, { timeZone: 'Europe/Rome' });
  // 1 March 2026 is a Sunday; Saturdays last until two in the night.
  await shop.changeLocation({ hours: { '0': [['11:30', '15:00']], '6': [['19:00', '02:00']] } });
  const cases: [string, boolean][] = [
    ['2026-03-01T12:00:00+01:00', true],
    ['2026-03-01T11:56:00+01:00', true],
    ['2026-03-01T14:59:59+01:00', true],
    ['2026-03-01T15:00:00+01:00', false],
    ['2026-03-01T13:59:00Z', true],
    ['2026-03-01T14:01:00Z', false],
    ['2026-03-02T12:00:00+01:00', false],
    ['2026-03-07T18:59:00+01:00', false],
    ['2026-03-07T19:00:00+01:00', true],
    ['2026-03-08T01:59:00+01:00', true],
    ['2026-03-08T02:00:00+01:00', false],
    // Summer time by then: the clock of the venue counts, not the offset of today.
    ['2026-04-05T14:30:00+02:00', true],
    ['2026-04-05T14:30:00+01:00', false],
  ];
  for (const [date, open] of cases) {
    const answer = await shop.create({ pickup: { date } });
    if (open) expect([date, answer.status]).toEqual([date, 200]);
    else expect([date, ...refusalOf(answer)]).toEqual([date, 400, 'VALIDATION_ERROR', [['/pickup/date', 'CLOSED']]]);
  }
  const table = { dmethod: '0t', table: '7', pickup: null };
  expect((await shop.create(table)).status).toBe(200);
  core.clock.set('2026-03-01T16:00:00Z');
  expect(refusalOf(await shop.create(table))[2]).toEqual([['dmethod', 'CLOSED']]);
  core.clock.set('2026-03-01T11:00:00Z');
});

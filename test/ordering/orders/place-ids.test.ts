import { afterAll, beforeAll, expect, test } from 'vitest';
import { orderingSettings } from '#src/ordering/config.ts';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import type { Body } from '../../support/orders/menu-sender.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';
import { type Behaviour, startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

let geocoder: WebhookReceiver;
let core: TestOrdering;
let shop: Shop;

const key = 'geocoder-key';

beforeAll(async () => {
  geocoder = await startReceiver();
  const { origin } = new URL(geocoder.url);
  core = await startOrdering({}, [], {
    address_resolver_url: `${origin}/places/{place_id}?key=${key}`,
  });
  shop = await openShop(core);
  // Florence, the cathedral.
  await shop.changeLocation({
    ...{ lat: 43.7731, lng: 11.256 },
    zones: [{ name: 'Centre', fee: 100, orderMin: 0, radiusKms: 1 }],
  });
});
afterAll(async () => {
  await core.close();
  await geocoder.close();
});

const json =
  (body: unknown, status = 200): Behaviour =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const deliver = (address: Body, more: Body = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  shop.create(
    { dmethod: '1', pickup: null, delivery: { date: core.clock.now().toISOString(), address }, ...more },
    { headers },
  );

const invalid = [422, 'INVALID_ADDRESS', [['/delivery/address', 'INVALID_ADDRESS']]];

const addressOf = async (answer: Answer): Promise<Json> => {
  expect(answer.text).toContain('"success":true');
  return (await shop.read(answer.json.order.uid)).delivery.address;
};

/** What the geocoder was asked since. */
const asked = (from: number): string[] => geocoder.received.slice(from).map(({ path }) => path);

const near = {
  street: 'Via Roma',
  number: '12',
  city: 'Firenze',
  zip: '50122',
  country: 'IT',
  lat: 43.774,
  lng: 11.2561,
};

test('a place id alone becomes an address: it is priced by its zone and stands in the order', async () => {
  geocoder.behave(json({ ...near, lat: 43.77400049, more: 'ignored' }));
  const from = geocoder.received.length;
  const answer = await deliver({ place_id: 'ChIJ/../x?&', floor: '3' });
  expect(asked(from)).toEqual([`/places/ChIJ%2F..%2Fx%3F%26?key=${key}`]);
  expect(answer.json.order.delivery_fee).toBe(1);
  const empty = { province: null, quarter: null, doorbell: null };
  expect(await addressOf(answer)).toEqual({ ...near, ...empty, floor: '3', place_id: 'ChIJ/../x?&', kms: 0.1 });
});

test('sent members win over those of the place id, and a complete address needs no geocoder', async () => {
  geocoder.behave(json({ ...near, province: 'FI', quarter: 'Duomo' }));
  const given = { place_id: 'ChIJ', street: 'Piazza del Duomo', lat: 43.7732, lng: 11.2561 };
  expect(await addressOf(await deliver(given))).toMatchObject({ ...near, ...given, number: '12', province: 'FI' });
  const from = geocoder.received.length;
  const whole = { ...near, place_id: 'ChIJ', province: 'FI', quarter: 'Duomo' };
  expect(await addressOf(await deliver(whole))).toMatchObject(whole);
  // Nor does what goes nowhere.
  await shop.placed({ delivery: { date: core.clock.now().toISOString(), address: { place_id: 'ChIJ' } } });
  expect(asked(from)).toEqual([]);
});

test('the answer of the Geocoding API is understood', async () => {
  const part = (long: string, short: string, ...types: string[]): Json => ({
    long_name: long,
    short_name: short,
    types,
  });
  geocoder.behave(
    json({
      status: 'OK',
      results: [
        {
          address_components: [
            part('12', '12', 'street_number'),
            part('Via Roma', 'Via Roma', 'route'),
            part('Duomo', 'Duomo', 'neighborhood', 'political'),
            part('Firenze', 'Firenze', 'locality', 'political'),
            part('Città Metropolitana di Firenze', 'FI', 'administrative_area_level_2', 'political'),
            part('Italia', 'IT', 'country', 'political'),
            part('50122', '50122', 'postal_code'),
          ],
          geometry: { location: { lat: near.lat, lng: near.lng } },
        },
      ],
    }),
  );
  expect(await addressOf(await deliver({ place_id: 'ChIJ' }))).toMatchObject({
    ...near,
    province: 'FI',
    quarter: 'Duomo',
  });
  geocoder.behave(json({ status: 'INVALID_REQUEST', results: [] }));
  expect(refusalOf(await deliver({ place_id: 'ChIJ' }))).toEqual(invalid);
});

test('A-083 a place id that means nothing, or a place outside every zone, is INVALID_ADDRESS', async () => {
  for (const behaviour of [
    json({}, 404),
    json({}, 400),
    json({}),
    json({ street: 'Via Roma' }),
    json({ ...near, lat: 44 }),
  ]) {
    geocoder.behave(behaviour);
    expect(refusalOf(await deliver({ place_id: 'ChIJ' }))).toEqual(invalid);
  }
  // It would leave the path that the operator named.
  const from = geocoder.received.length;
  for (const id of ['.', '..']) expect(refusalOf(await deliver({ place_id: id }))).toEqual(invalid);
  expect(asked(from)).toEqual([]);
  geocoder.behave(json({}, 404));
  expect((await deliver({ place_id: 'ChIJ', lat: 43.774, lng: 11.256 })).json.order.delivery_fee).toBe(1);
});

test('parts of the geocoder answer that do not fit an address are left out, and the order succeeds', async () => {
  const strange = { street: 'x'.repeat(201), city: 'a\0b', zip: 50122, country: 'Italia', number: '  ', lng: 11.256 };
  geocoder.behave(json({ ...strange, lat: 43.774, province: ' FI ' }));
  const left = { street: null, city: null, zip: null, country: null, number: null, province: 'FI', lat: 43.774 };
  expect(await addressOf(await deliver({ place_id: 'ChIJ' }))).toMatchObject(left);
});

test('while the geocoder is away an order answers 503 and its key stays free; afterwards it is accepted', async () => {
  const failures: Behaviour[] = [
    json({}, 500),
    json({ status: 'OVER_QUERY_LIMIT', results: [] }),
    json('a text'),
    (response) => void response.end('<html>'),
    (response) => void response.end(JSON.stringify({ ...near, more: 'x'.repeat(300_000) })),
    (response) => void response.writeHead(302, { location: `${geocoder.url}/elsewhere` }).end(),
    (response) => void response.destroy(),
    // Silence: given up after 2 s.
    () => undefined,
  ];
  const headers = { 'idempotency-key': 'place-1' };
  for (const failure of failures) {
    geocoder.behave(failure);
    const answer = await deliver({ place_id: 'ChIJ' }, {}, headers);
    expect([answer.status, answer.json.error, answer.headers.get('retry-after')]).toEqual([503, 'OVERLOADED', '5']);
  }
  geocoder.behave(json({}, 500));
  // Other faults are reported as well.
  const other = await deliver({ place_id: 'ChIJ' }, { details: [{ product: { uid: 'prd_x' }, quantity: 1 }] });
  expect(refusalOf(other)).toEqual([422, 'PRODUCT_NOT_FOUND', [['/details/0/product/uid', 'PRODUCT_NOT_FOUND']]]);
  // Who says where to go by himself needs no geocoder.
  expect((await deliver({ place_id: 'ChIJ', lat: 43.774, lng: 11.256 })).status).toBe(200);
  geocoder.behave(json(near));
  const taken = await deliver({ place_id: 'ChIJ' }, {}, headers);
  expect([taken.status, taken.headers.get('idempotent-replayed')]).toEqual([200, null]);
  // A replay does not ask the geocoder.
  geocoder.behave(json({}, 500));
  const from = geocoder.received.length;
  expect((await deliver({ place_id: 'ChIJ' }, {}, headers)).text).toBe(taken.text);
  expect(asked(from)).toEqual([]);
});

test('the hash of an external id covers the sent members, not the answer of the geocoder', async () => {
  geocoder.behave(json(near));
  const first = await deliver({ place_id: 'ChIJ' }, { external_id: 'place-1' });
  for (const behaviour of [json({ ...near, number: '14' }), json({}, 500)]) {
    geocoder.behave(behaviour);
    const again = await deliver({ place_id: 'ChIJ' }, { external_id: 'place-1' });
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true']);
  }
});

test('the setting names one host: the place id stands in path or query, and is required', () => {
  const taken = (url: string): boolean => orderingSettings.safeParse({ address_resolver_url: url }).success;
  expect(['https://geo.example/{place_id}', 'http://10.0.0.9:8080/?id={place_id}&key=k'].map(taken)).toEqual([
    true,
    true,
  ]);
  const refused = [
    'https://geo.example/',
    'https://{place_id}/',
    'https://{place_id}.example/{place_id}',
    'https://geo.example/#{place_id}',
    'ftp://geo.example/{place_id}',
    '{place_id}',
  ];
  expect(refused.filter(taken)).toEqual([]);
});

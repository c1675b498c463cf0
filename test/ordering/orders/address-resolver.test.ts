/**
 * The answers of a geocoder, one by one, and what is logged of them. `place-ids.test.ts` has its failures on a socket:
 * silence, a connection that breaks, an answer that does not end.
 */
import nock from 'nock';
import { pino } from 'pino';
import { afterAll, afterEach, expect, test } from 'vitest';
import { createAddressResolver } from '#src/ordering/orders/address/address-resolver.ts';

const origin = 'https://geo.example';
const never = new AbortController().signal;

const logged: string[] = [];
const log = pino({}, { write: (line: string) => void logged.push(line) });
const resolveAddress = createAddressResolver({ readUrl: () => `${origin}/places/{place_id}?key=secret-key`, log });

afterEach(() => {
  logged.length = 0;
  nock.cleanAll();
});
afterAll(() => nock.restore());

const expectAsked = () => nock(origin).get('/places/ChIJ').query({ key: 'secret-key' });

test('an address that was found is returned, and the request accepts JSON', async () => {
  expectAsked().matchHeader('accept', 'application/json').reply(200, { street: 'Via Roma', lat: 43.774, lng: 11.256 });
  expect(await resolveAddress('ChIJ', never)).toMatchObject({
    kind: 'found',
    place: { street: 'Via Roma', lat: 43.774, lng: 11.256 },
  });
  expect(logged).toEqual([]);
});

test.each([400, 404, 410, 422])('status %i says that the place id is unknown', async (status) => {
  expectAsked().reply(status, {});
  expect(await resolveAddress('ChIJ', never)).toEqual({ kind: 'unknown' });
  expect(logged).toEqual([]);
});

test.each([401, 403, 429, 500, 503])(
  'status %i says nothing of the place id, and the log names the status',
  async (status) => {
    expectAsked().reply(status, {});
    expect(await resolveAddress('ChIJ', never)).toEqual({ kind: 'unreachable' });
    expect(logged.join()).toContain(`status ${status}`);
  },
);

test('a redirect is not followed: the request would carry the key to a host that is not configured', async () => {
  const elsewhere = nock('https://elsewhere.example').get('/').query(true).reply(200, { street: 'Via Roma' });
  expectAsked().reply(302, undefined, { location: 'https://elsewhere.example/?key=secret-key' });
  expect(await resolveAddress('ChIJ', never)).toEqual({ kind: 'unreachable' });
  expect(elsewhere.isDone()).toBe(false);
});

test('the log has neither the key of the geocoder nor the place', async () => {
  for (const failure of ['{"street":"Via Roma', '[]', '"a text"']) {
    expectAsked().reply(200, failure);
    expect(await resolveAddress('ChIJ', never)).toEqual({ kind: 'unreachable' });
  }
  expectAsked().replyWithError(Object.assign(new Error('connect to secret-key'), { code: 'ECONNREFUSED' }));
  expect(await resolveAddress('ChIJ', never)).toEqual({ kind: 'unreachable' });
  expect(logged.length).toBe(4);
  expect(logged.join()).not.toMatch(/secret-key|ChIJ|Via Roma/);
});

test('64 requests at most are open; the next is refused without asking', async () => {
  const open = nock(origin).get('/places/ChIJ').query(true).times(64).reply(200, { street: 'Via Roma' });
  const asked = Array.from({ length: 65 }, () => resolveAddress('ChIJ', never));
  expect(await asked[64]).toEqual({ kind: 'unreachable' });
  const found = (await Promise.all(asked.slice(0, 64))).map(({ kind }) => kind);
  expect(new Set(found)).toEqual(new Set(['found']));
  expect(open.isDone()).toBe(true);
});

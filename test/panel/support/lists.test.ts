/** Lists and forms of support without a script and without a browser: plain requests, as the pages promise. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { denialReasons } from '#src/gateway/model/traced-fault.ts';
import { createRestaurant } from '#src/ordering/index.ts';
import { textsOf } from '#src/panel/texts/texts.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let cookie: string;

beforeAll(async () => {
  harness = await startPanelHarness();
  cookie = await harness.cookieOf(await harness.user('support'));
});

afterAll(() => harness?.close());

const get = async (path: string): Promise<{ status: number; text: string }> => {
  const answer = await fetch(harness.url + path, { headers: { cookie }, redirect: 'manual' });
  return { status: answer.status, text: await answer.text() };
};

const csrfOf = async (): Promise<string> => /name="csrf" value="([^"]+)"/.exec((await get('/panel')).text)?.[1] ?? '';

const post = async (path: string, fields: readonly (readonly [string, string])[]) => {
  const answer = await fetch(harness.url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: harness.url, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([
      ['csrf', await csrfOf()],
      ...fields.map(([name, value]): [string, string] => [name, value]),
    ]),
  });
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
};

/** First column of the table, page by page, and how many pages there were. */
const walk = async (path: string): Promise<{ names: string[]; pages: number }> => {
  const names: string[] = [];
  let pages = 0;
  for (let next: string | undefined = path; next !== undefined; pages += 1) {
    const { status, text } = await get(next);
    expect(status).toBe(200);
    names.push(...[...text.matchAll(/<th scope="row"><a href="[^"]+">([^<]+)<\/a>/g)].map((match) => match[1] ?? ''));
    next = /rel="next" href="([^"]+after=[^"]+)">/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    expect(pages).toBeLessThan(10);
  }
  return { names, pages };
};

test('lists of restaurants and clients show everything once, newest first, a page at a time, also under a search', async () => {
  const made = Array.from({ length: 30 }, (_, i) => `Bar Nummer ${String(i).padStart(2, '0')}`);
  for (const name of made) {
    const { status } = await post('/panel/support/restaurants/new', [
      ['name', name],
      ['currency', 'EUR'],
      ['time_zone', 'Europe/Vienna'],
    ]);
    expect(status).toBe(303);
  }
  expect(await walk('/panel/support/restaurants?q=bar')).toEqual({ names: made.toReversed(), pages: 2 });
  expect((await walk('/panel/support/restaurants')).names.toSorted()).toEqual(
    [...made, 'Osteria Uno', 'Trattoria Due'].toSorted(),
  );
  expect((await walk(`/panel/support/restaurants?q=${harness.restaurants[1]}`)).names).toEqual(['Trattoria Due']);
  const [restuid = ''] = harness.restaurants;
  const clients = made.map((name) => `App of ${name}`);
  for (const name of clients) {
    const { status, text } = await post('/panel/clients/new', [
      ['name', name],
      ['restaurant', restuid],
      ['which', 'some'],
      ['scope', 'read:orders'],
    ]);
    expect(status).toBe(200);
    expect(text).toMatch(/ops_\w+/);
  }
  expect(await walk('/panel/clients')).toEqual({ names: clients.toReversed(), pages: 2 });
  expect(await walk('/panel/clients?q=numm+app')).toEqual({ names: clients.toReversed(), pages: 2 });
  expect(await walk(`/panel/clients?restaurant=${restuid}`)).toEqual({ names: clients.toReversed(), pages: 2 });
  expect((await walk(`/panel/clients?restaurant=${harness.restaurants[1]}`)).names).toEqual([]);
});

test('F-56 a search uses the whole typed text or is refused', async () => {
  for (const typed of ["'", '%', '_', "x':*|y", '&', '\\', '"<b>', '🍕', 'a'.repeat(255), "d'angelo", ')(', '--']) {
    for (const path of ['/panel/support/restaurants', '/panel/clients']) {
      const { status, text } = await get(`${path}?q=${encodeURIComponent(typed)}`);
      expect(status, typed).toBe(200);
      expect(text).not.toContain('<b>');
    }
  }
  // What a search could take only in part is refused: the list would show what does not fit.
  for (const typed of ['x\0y', 'a'.repeat(256)])
    expect((await get(`/panel/clients?q=${encodeURIComponent(typed)}`)).status, typed).toBe(400);
  expect((await get('/panel/clients?after=garbage')).status).toBe(400);
  expect((await get('/panel/clients?restaurant=rst_none')).status).toBe(404);
  expect((await get('/panel/clients/opc_none')).status).toBe(404);
  expect((await get('/panel/support/restaurants/rst_none')).status).toBe(404);
});

test('without a script restaurants are found and chosen by sending the form, and nothing is made until it is complete', async () => {
  const [first = '', second = ''] = harness.restaurants;
  const found = await post('/panel/clients/new', [
    ['name', 'Careful'],
    ['restaurant', first],
    ['search', 'tratt'],
    ['find', 'yes'],
    ['which', 'some'],
    ['scope', 'read:menu'],
  ]);
  expect(found.status).toBe(200);
  expect(found.text).toContain(`value="${first}" checked`);
  expect(found.text).toMatch(new RegExp(`value="${second}">`));
  expect(found.text).toMatch(/value="read:menu" checked/);
  expect(found.text).toContain('value="Careful"');
  for (const fields of [
    [['name', ''] as const, ['restaurant', first] as const, ['which', 'all'] as const],
    [['name', 'x'] as const, ['which', 'all'] as const],
    [['name', 'x'] as const, ['restaurant', first] as const, ['which', 'some'] as const],
  ])
    expect((await post('/panel/clients/new', fields)).status).toBe(422);
  const unknown = [['name', 'Careful'] as const, ['restaurant', 'rst_none'] as const, ['which', 'all'] as const];
  expect((await post('/panel/clients/new', unknown)).status).toBe(404);
  const invented = [['name', 'Careful'] as const, ['restaurant', first] as const, ['scope', 'rule:world'] as const];
  expect((await post('/panel/clients/new', invented)).status).toBe(400);
  const many = Array.from({ length: 101 }, (_, i) => ['restaurant', `rst_${i}`] as const);
  expect((await post('/panel/clients/new', [['name', 'Careful'], ...many])).status).toBe(400);
  expect((await walk('/panel/clients?q=careful')).names).toEqual([]);
  for (const currency of ['KWD', 'IQD']) {
    const refused = await post('/panel/support/restaurants/new', [
      ['name', 'Nowhere'],
      ['currency', currency],
      ['time_zone', 'Mars/Base'],
    ]);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('value="Nowhere"');
    expect(refused.text).toContain('Choose a currency from the list.');
  }
});

test('the core takes every currency and time zone that the form of a new restaurant offers, and the form refuses each other value at its field', async () => {
  const { text } = await get('/panel/support/restaurants/new');
  const offered = (name: string): string[] => {
    const [, list = ''] = new RegExp(`<select name="${name}"[^>]*>(.*?)</select>`, 's').exec(text) ?? [];
    return [...list.matchAll(/<option(?: value="([^"]+)")?[^>]*>([^<]+)/g)].map(
      ([, value, shown]) => value ?? shown ?? '',
    );
  };
  const [currencies, zones] = [offered('currency'), offered('time_zone')];
  expect([currencies.length > 100, zones.length > 100]).toEqual([true, true]);
  await harness.database.db
    .transaction()
    .execute(async (tx) => {
      for (const [at, timeZone] of zones.entries())
        await createRestaurant(
          tx,
          { name: 'N', timeZone, currency: currencies[at % currencies.length] ?? '' },
          new Date(),
        );
      throw new Error('undone');
    })
    .catch((error: Error) => expect(error.message).toBe('undone'));
  const refused = async (name: string, currency: string, zone: string): Promise<string[]> => {
    const fields = [
      ['name', name],
      ['currency', currency],
      ['time_zone', zone],
    ] as const;
    const answer = await post('/panel/support/restaurants/new', fields);
    return [...answer.text.matchAll(/class="field-error" id="(\w+)-note"/g)].map(([, field = '']) => field);
  };
  expect(await refused('N'.repeat(256), 'EUR', 'UTC')).toEqual(['name']);
  expect(await refused('N', 'IQD', 'UTC')).toEqual(['currency']);
  expect(await refused('N', 'EUR', 'Mars/Base')).toEqual(['time_zone']);
});

test('every reason that a refusal can have is explained, in every language', () => {
  for (const texts of Object.values(textsOf))
    expect(Object.keys(texts.integrator.reasons).toSorted()).toEqual([...denialReasons].toSorted());
});

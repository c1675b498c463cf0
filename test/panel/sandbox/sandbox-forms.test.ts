/** Sandboxes in the panel: their badge, and forms that refuse to mix them with real restaurants. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let cookie: string;

beforeAll(async () => {
  harness = await startPanelHarness();
  cookie = await harness.cookieOf(await harness.user('support'));
});

afterAll(() => harness?.close());

const get = async (path: string): Promise<string> =>
  (await fetch(harness.url + path, { headers: { cookie }, redirect: 'manual' })).text();

const post = async (path: string, fields: readonly (readonly [string, string])[]) => {
  const csrf = /name="csrf" value="([^"]+)"/.exec(await get('/panel'))?.[1] ?? '';
  const answer = await fetch(harness.url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: harness.url, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([['csrf', csrf], ...fields.map(([name, value]): [string, string] => [name, value])]),
  });
  return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() };
};

const badge = '<span class="badge warn">Sandbox</span>';
const mixed = 'A client is for sandboxes or for real restaurants.';

test('A-301 a sandbox made in the panel has a badge, and no form gives a client both kinds of restaurants', async () => {
  const [real = ''] = harness.restaurants;
  const made = await post('/panel/support/restaurants/new', [
    ['name', 'Trial'],
    ['currency', 'EUR'],
    ['time_zone', 'Europe/Rome'],
    ['sandbox', 'on'],
  ]);
  const restuid = made.location.split('/').at(-1) ?? '';
  expect([made.status, restuid]).toEqual([303, expect.stringMatching(/^rst_test_/)]);
  expect(await get(made.location)).toContain(badge);
  expect((await get('/panel/support/restaurants')).split(badge)).toHaveLength(2);
  const fields = [['name', 'Till'] as const, ['restaurant', restuid] as const, ['which', 'all'] as const];
  const both = await post('/panel/clients/new', [...fields, ['restaurant', real]]);
  expect([both.status, both.text]).toEqual([422, expect.stringContaining(mixed)]);
  const client = await post('/panel/clients/new', fields);
  const clientId = /opc_\w+/.exec(client.text)?.[0] ?? '';
  expect(clientId).toMatch(/^opc_test_/);
  const granted = await post(`/panel/clients/${clientId}/grant`, [
    ['restaurant', real],
    ['grants', 'yes'],
  ]);
  expect(granted.text).toContain(mixed);
  expect(await get(`/panel/clients/${clientId}`)).not.toContain(`<code>${real}</code></td>`);
});

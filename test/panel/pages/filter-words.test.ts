/** Words of filters in addresses: one vocabulary with the API, and none that is not known is passed over. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPages } from '#src/panel/pages.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let cookie: string;
let key: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  harness = await startPanelHarness();
  const [restuid = ''] = harness.restaurants;
  cookie = await harness.cookieOf(await harness.user('admin'));
  key = (await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Till')).api_key ?? '';
  const client = await harness.command('client', 'create', '--name', 'Ada', '--restaurant', restuid);
  const csrf = /name="csrf" value="([^"]+)"/.exec((await ask('/account')).text)?.[1] ?? '';
  const endpoint = await fetch(`${harness.url}/panel/restaurants/${restuid}/webhooks`, {
    method: 'POST',
    headers: { cookie, origin: harness.url },
    body: new URLSearchParams({ csrf, url: 'http://127.0.0.1:59999/hooks', kinds: 'orders' }),
  });
  Object.assign(ids, {
    ...{ restaurant: restuid, client: client.client_id, endpoint: /whe_\w+/.exec(await endpoint.text())?.[0] },
  });
});

afterAll(() => harness?.close());

const filled = (path: string): string => path.replaceAll(/:([a-z]+)/g, (_whole, name: string) => ids[name] ?? 'none');

const ask = async (path: string) => {
  const answer = await fetch(`${harness.url}/panel${path}`, { headers: { cookie } });
  return { status: answer.status, text: await answer.text(), url: answer.url };
};

test('F-56 the states of deliveries in the address of the panel are those of the API, and each of them filters', async () => {
  const log = `/restaurants/${ids.restaurant}/deliveries`;
  const api = async (state: string): Promise<number> =>
    (await fetch(`${harness.url}/api/webhook/deliveries?state=${state}`, { headers: { 'x-api-key': key } })).status;
  for (const state of ['pending', 'waiting', 'succeeded', 'exhausted', 'cancelled']) {
    expect(await api(state), state).toBe(200);
    const shown = await ask(`${log}?state=${state}`);
    expect(shown.status, state).toBe(200);
    expect(shown.text, state).toContain(`<option value="${state}" selected>`);
    expect(shown.text, state).toContain('No delivery matches this filter.');
  }
  for (const state of ['open', 'retrying', 'failed', 'PENDING']) {
    expect(await api(state), state).toBe(400);
    expect((await ask(`${log}?state=${state}`)).status, state).toBe(400);
  }
});

/** Words that stand in links only, not in a form. */
const inLinks = [
  ['/restaurants/:restaurant/webhooks/:endpoint', 'span'],
  ['/restaurants/:restaurant/webhooks/:endpoint/login', 'type'],
  ['/restaurants/:restaurant/deliveries', 'tried'],
  ['/restaurants/:restaurant/keys', 'ended'],
  ['/security/live', 'kind'],
  ['/security/charts', 'days'],
  ['/security/charts', 'by'],
  ['/security/policy', 'days'],
  ['/security/audit/export', 'format'],
  ['/clients/:client/shrink', 'days'],
] as const;

test('F-56 a word that a filter does not know is refused with the word, on every page', async () => {
  expect(ids.endpoint).toBeDefined();
  const found: (readonly [string, string])[] = [];
  for (const { method, path } of allPages) {
    if (method !== 'GET' || path === '/events') continue;
    for (const [form = ''] of (await ask(filled(path))).text.matchAll(/<form method="get"[\s\S]*?<\/form>/g))
      for (const [, name = ''] of form.matchAll(/<select name="([^"]+)"/g)) found.push([path, name]);
  }
  expect(found.length).toBeGreaterThan(4);
  // Endpoints are names of things, not words: one that is not there has no deliveries.
  for (const [path, name] of [...found.filter(([, field]) => field !== 'endpoint'), ...inLinks]) {
    const { status, text } = await ask(`${filled(path)}?${name}=none-of-them`);
    expect([400, 422], `${path}?${name}`).toContain(status);
    expect(text, `${path}?${name}`).toContain('none-of-them');
    expect((await ask(`${filled(path)}?${name}=`)).status, `${path}?${name}=`).toBe(200);
  }
  for (const list of ['/clients', '/support/restaurants'])
    for (const query of [`q=${'x'.repeat(256)}`, 'q=a+b+c+d+e+f+g+h+i', `after=${'x'.repeat(256)}`])
      expect((await ask(`${list}?${query}`)).status, `${list}?${query}`).toBe(400);
  expect((await ask(`/clients?q=a+b+c+d+e+f+g+h`)).status).toBe(200);
  for (const name of ['event', 'id', 'endpoint'])
    expect((await ask(`/restaurants/${ids.restaurant}/deliveries?${name}=${'x'.repeat(65)}`)).status, name).toBe(400);
});

test('a cursor that the list of accounts never gives is refused, because its page would not be the next one', async () => {
  for (const cursor of ['%00', 'ada%00@example.com', 'x'.repeat(256)])
    expect((await ask(`/users?after=${cursor}`)).status, cursor).toBe(400);
  expect((await ask('/users?after=ada@example.com')).status).toBe(200);
});

test('a day that the calendar does not have is refused by every filter of times, also for a download', async () => {
  for (const [path, status] of [
    ['/security/audit?since=2026-02-31', 422],
    ['/security/audit?until=2026-06-31T10:00Z', 422],
    ['/security/audit?since=2026-04-31T23:00-05:00', 422],
    ['/security/audit/export?format=csv&since=2026-02-31', 422],
    ['/clients/:client/requests?since=2026-02-31T10:00', 400],
    ['/clients/:client/requests?until=2026-02-29T10:00', 400],
  ] as const) {
    const { status: answered, text } = await ask(filled(path));
    expect(answered, path).toBe(status);
    expect(text, path).toMatch(/2026-0[246]-(31|29)/);
  }
  for (const path of ['/security/audit?since=2024-02-29', '/security/audit?since=2026-03-01T23:30-05:00'])
    expect((await ask(path)).status, path).toBe(200);
});

test('A-682 a name of more than eight words in a filter finds only what has all of them', async () => {
  const name = 'Trattoria del Ponte Vecchio sul Mare di Genova Nervi';
  const { restuid } = await harness.command('restaurant', 'create', '--name', name);
  const audit = (asked: string) => ask(`/security/audit?restaurant=${encodeURIComponent(asked)}`);
  const other = await audit(name.replace('Nervi', 'Boccadasse'));
  expect(other.status).toBe(422);
  expect(other.text).toContain('No restaurant has the name or id');
  const requests = `/clients/${ids.client}/requests?restuid=`;
  expect((await ask(requests + encodeURIComponent(name.replace('Nervi', 'Pegli')))).text).toContain(
    'No restaurant has',
  );
  for (const asked of [name, name.toUpperCase(), name.slice(0, -2), name.slice(0, -6)]) {
    const found = await audit(asked);
    expect(found.status, asked).toBe(200);
    expect(found.url, asked).toContain(`restaurant=${restuid}`);
  }
});

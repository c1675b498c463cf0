/** Who may open what, over the list of all pages: whatever is added to it is tested here without a word. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPages, allTopics } from '#src/panel/pages.ts';
import { type PanelHarness, type Role, startPanelHarness } from '../harness/panel-harness.ts';

const roles: readonly Role[] = ['owner', 'support', 'security', 'admin', 'contact'];

let harness: PanelHarness;
const cookies = new Map<Role, string>();
/** Clients; the contact has the first. */
let clients: string[];

beforeAll(async () => {
  harness = await startPanelHarness();
  const make = ['client', 'create', '--restaurant', harness.restaurants[0] ?? '', '--name'];
  clients = [];
  for (const name of ['Own', 'Foreign']) clients.push((await harness.command(...make, name)).client_id ?? '');
  for (const role of roles) {
    const of = role === 'contact' ? clients.slice(0, 1) : undefined;
    cookies.set(role, await harness.cookieOf(await harness.user(role, of)));
  }
});

afterAll(() => harness?.close());

type Asked = { method: string; path: string; cookie?: string; headers?: Record<string, string> };

const ask = async ({ method, path, cookie, headers }: Asked) => {
  const answer = await fetch(`${harness.url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(cookie === undefined ? undefined : { cookie }),
      ...(method === 'POST' ? { origin: harness.url, 'content-type': 'application/x-www-form-urlencoded' } : undefined),
      ...headers,
    },
    ...(method === 'POST' ? { body: 'any=thing' } : undefined),
  });
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
};

/** Parameters filled in; `restaurant` and `client` as given. */
const filled = (path: string, restaurant: string, client = 'none'): string =>
  `/panel${path.replaceAll(/:([a-z_A-Z]+)/g, (_whole, name: string) => (name === 'restaurant' ? restaurant : name === 'client' ? client : 'none'))}`;

const withoutIds = (text: string): string => text.replaceAll(/req_\w+/g, 'req').replaceAll(/value="[^"]*"/g, '');

test('each page and each call redirects a visitor without a session to the sign-in', async () => {
  for (const page of allPages) {
    const answer = await ask({ method: page.method, path: filled(page.path, harness.restaurants[0] ?? '') });
    expect(answer, `${page.method} ${page.path}`).toMatchObject({ status: 303, text: '' });
    expect(answer.location, `${page.method} ${page.path}`).toMatch(/^\/panel\/sign-in/);
  }
  expect(allPages.length).toBeGreaterThan(1);
});

test('each page and each call is refused for each role that must not have it', async () => {
  for (const page of allPages) {
    for (const role of roles.filter((other) => !page.roles.includes(other))) {
      const path = filled(page.path, harness.restaurants[0] ?? '');
      const answer = await ask({ method: page.method, path, cookie: cookies.get(role) ?? '' });
      expect(answer.status, `${role}: ${page.method} ${page.path}`).toBe(403);
      expect(answer.text, `${role}: ${page.method} ${page.path}`).toContain('Your role does not allow this');
    }
  }
});

test('each call is refused without the token of the session, and with one of another session', async () => {
  const other = /name="csrf" value="([^"]+)"/.exec(
    (await ask({ method: 'GET', path: '/panel', cookie: cookies.get('support') ?? '' })).text,
  )?.[1];
  expect(other).toMatch(/^[\w-]{43}$/);
  for (const page of allPages.filter(({ method }) => method === 'POST')) {
    const role = page.roles.find((one) => one === 'admin') ?? page.roles[0] ?? 'admin';
    const path = filled(page.path, harness.restaurants[0] ?? '', clients[0]);
    for (const headers of [{}, { 'x-csrf-token': other ?? '' }, { 'x-csrf-token': '' }]) {
      const answer = await ask({ method: 'POST', path, cookie: cookies.get(role) ?? '', headers });
      expect(answer, `${role}: POST ${page.path}`).toMatchObject({ status: 403 });
      expect(answer.text).toContain('Please try again');
    }
  }
});

test('a form of another site is refused before anything else is looked at', async () => {
  for (const headers of [
    { origin: 'https://elsewhere.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const answer = await ask({ method: 'POST', path: '/panel/sign-in', headers });
    expect(answer.status, JSON.stringify(headers)).toBe(403);
  }
});

test('each topic is refused for each role that must not watch it, and for owners of other restaurants', async () => {
  const hide = (text: string): string => withoutIds(text).replaceAll(/\{[^}]*\}/g, '');
  const watch = (role: Role, name: string, restaurant: string) =>
    ask({
      method: 'GET',
      path: `/panel/events?topic=${name}~&restaurant=${restaurant}`,
      cookie: cookies.get(role) ?? '',
    });
  const [own = '', others = ''] = harness.restaurants;
  for (const { name, roles: may, about } of allTopics) {
    for (const role of roles.filter((other) => !may.includes(other))) {
      const [refused, absent] = [await watch(role, name, own), await watch(role, 'none', own)];
      expect(refused.status, `${role}: ${name}`).toBe(404);
      expect(hide(refused.text)).toBe(hide(absent.text));
    }
    if (about === 'restaurant' && may.includes('owner'))
      for (const restaurant of [others, 'rst_none', ''])
        expect((await watch('owner', name, restaurant)).status, `owner: ${name} of ${restaurant}`).toBe(404);
  }
  expect(allTopics.length).toBeGreaterThan(0);
});

test('an owner is answered about a restaurant of others as about one that does not exist', async () => {
  const [, others = ''] = harness.restaurants;
  for (const page of allPages.filter(
    ({ path, roles: may }) => path.includes('/:restaurant') && may.includes('owner'),
  )) {
    const cookie = cookies.get('owner') ?? '';
    const [foreign, absent] = [
      await ask({ method: page.method, path: filled(page.path, others), cookie }),
      await ask({ method: page.method, path: filled(page.path, 'rst_none'), cookie }),
    ];
    expect(foreign.status, `${page.method} ${page.path}`).toBe(404);
    expect(withoutIds(foreign.text).replaceAll(others, 'rst_none')).toBe(withoutIds(absent.text));
  }
});

test('a contact is answered about a client of others as about one that does not exist, and changes it in no way', async () => {
  const cookie = cookies.get('contact') ?? '';
  const [own = '', foreign = ''] = clients;
  const form = /name="csrf" value="([^"]+)"/.exec((await ask({ method: 'GET', path: '/panel', cookie })).text)?.[1];
  const headers = { 'x-csrf-token': form ?? '' };
  const events = async () =>
    (await harness.database.pool.query("select count(*) from gateway.audit_events where actor like 'panel:%'")).rows[0]
      .count;
  const before = await events();
  const pages = allPages.filter(({ path, roles: may }) => path.includes('/:client') && may.includes('contact'));
  expect(pages.map(({ method }) => method)).toContain('POST');
  for (const { method, path } of pages) {
    const [others, absent] = [
      await ask({ method, path: filled(path, '', foreign), cookie, headers }),
      await ask({ method, path: filled(path, '', 'opc_none'), cookie, headers }),
    ];
    expect(others.status, `${method} ${path}`).toBe(404);
    expect(withoutIds(others.text).replaceAll(foreign, 'opc_none')).toBe(withoutIds(absent.text));
  }
  expect(await events()).toBe(before);
  expect((await ask({ method: 'GET', path: `/panel/portal/${own}`, cookie })).status).toBe(200);
  expect((await ask({ method: 'GET', path: `/panel/portal?client=${foreign}`, cookie })).status).toBe(404);
});

test('a contact opens nothing but the pages about the own client, the own account and the links for integrators', () => {
  const open = allPages.filter(({ roles: may }) => may.includes('contact')).map(({ path }) => path.split('/')[1]);
  expect([...new Set(open)].sort()).toEqual([undefined, 'account', 'events', 'integrators', 'portal'].sort());
});

/** The panel in front of the gateway's listener, in the real program. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '#src/panel/texts/en/en.ts';
import { it } from '#src/panel/texts/it/it.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../../support/program.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;

beforeAll(async () => {
  harness = await startPanelHarness();
});

afterAll(() => harness?.close());

const ask = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${harness.url}${path}`, { redirect: 'manual', headers });

test('the panel takes /panel and what is below it, and nothing else', async () => {
  for (const path of ['/panel', '/panel?x=1', '/panel/account'])
    expect((await ask(path)).headers.get('location'), path).toMatch(/^\/panel\/sign-in/);
  for (const path of ['/panels', '/panel-x', '/PANEL', '/api/panel']) {
    const answer = await ask(path);
    expect(answer.status, path).toBe(404);
    expect(answer.headers.get('content-type'), path).toContain('json');
  }
  expect((await ask('/panel/account/?x=1')).headers.get('location')).toBe('/panel/account?x=1');
});

test('every answer carries the policy, and pages are kept nowhere', async () => {
  const { cookie } = { cookie: await harness.cookieOf(await harness.user('support')) };
  for (const [path, status] of [
    ['/panel/sign-in', 200],
    ['/panel', 200],
    ['/panel/none', 404],
    ['/panel/users', 403],
  ] as const) {
    const answer = await ask(path, { cookie });
    // A signed-in user is redirected from the sign-in page.
    expect(answer.status, path).toBe(path === '/panel/sign-in' ? 303 : status);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  }
});

test('assets are kept for ever under names that change with them, and come compressed', async () => {
  const page = await (await ask('/panel/sign-in')).text();
  const paths = [...page.matchAll(/(?:href|src)="(\/panel\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '');
  expect(paths.length).toBeGreaterThan(4);
  for (const path of paths) {
    const answer = await ask(path, { 'accept-encoding': 'br' });
    expect(answer.status, path).toBe(200);
    expect(answer.headers.get('cache-control')).toContain('immutable');
    expect(answer.headers.get('content-encoding')).toBe('br');
    expect(path).toMatch(/\.[0-9a-f]{16}\.(css|js|svg)$/);
  }
  expect((await ask((paths[0] ?? '').replace(/[0-9a-f]{16}/, '0'.repeat(16)))).status).toBe(303);
});

test('a form that is too large, of another type or too strange is refused with a page', async () => {
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(`${harness.url}/panel/sign-in`, {
      method: 'POST',
      headers: { origin: harness.url, 'content-type': type },
      body,
    });
  expect((await post(`email=${'x'.repeat(70_000)}`)).status).toBe(413);
  expect((await post('{}', 'application/json')).status).toBe(415);
  expect((await post('email=%00')).status).toBe(400);
  expect((await post('a=&'.repeat(1_001))).status).toBe(413);
  expect((await post('email=%ff&password=x')).status).toBe(422);
});

test('sign-ins are found in the audit of the gateway, with the address', async () => {
  const user = await harness.user('security');
  await harness.cookieOf(user);
  const { events } = (await harness.command('audit', 'search', '--action', 'user.signed_in')) as unknown as {
    events: Record<string, unknown>[];
  };
  expect(events[0]).toMatchObject({ 'user.name': `panel:${user.userId}`, 'source.ip': '127.0.0.1' });
});

test('every text exists in every language', () => {
  const shapeOf = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]))
      : typeof value;
  expect(shapeOf(it)).toEqual(shapeOf(en));
});

test('switched off, the panel is not there', async () => {
  const data = makeDataDir();
  const program: RunningProgram = await startProgram({
    ...harness.settings,
    ORDERPASS_DATA_DIR: data.path,
    ORDERPASS_PANEL: 'off',
  });
  expect((await fetch(`${program.url}/panel`, { redirect: 'manual' })).status).toBe(404);
  await program.stop();
  data.remove();
});

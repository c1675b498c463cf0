/** Addresses that people type by hand redirect to a page; programs get the usual answers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../support/program.ts';

let database: TestDatabase;
let program: RunningProgram;
const data = makeDataDir();

beforeAll(async () => {
  database = await createTestDatabase();
  program = await startProgram({
    ORDERPASS_DATA_DIR: data.path,
    ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATABASE_URL: database.url,
  });
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
  data.remove();
});

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

const ask = (path: string, init: RequestInit = {}) => fetch(program.url + path, { redirect: 'manual', ...init });

test('F-55 the root address and a trailing slash redirect a browser to the documents', async () => {
  for (const [path, lead] of [
    ['/', '/docs'],
    ['/docs/', '/docs'],
    ['/docs/errors/', '/docs/errors'],
    ['/docs/operate/settings/', '/docs/operate/settings'],
    ['/docs/webhooks/', '/docs/webhooks'],
    ['/docs/changelog/', '/docs/changelog'],
    ['/panel/', '/panel'],
  ] as const) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(path, { method, headers: browser });
      expect(answer.headers.get('location'), `${method} ${path}`).toBe(lead);
      expect([302, 303, 308]).toContain(answer.status);
    }
    const followed = await fetch(program.url + path, { headers: browser });
    expect(followed.status, path).toBe(200);
    expect(followed.headers.get('content-type')).toContain('text/html');
  }
  expect(await (await ask('/docs')).text()).toContain('href="/panel"');
});

test('F-55 programs, other methods and unknown addresses get INVALID_ACTION', async () => {
  for (const [path, init] of [
    ['/', {}],
    ['/', { headers: { accept: 'application/json' } }],
    ['/', { method: 'POST', headers: browser }],
    ['/docs/', { method: 'POST', headers: browser }],
    ['//', { headers: browser }],
    ['/docs//', { headers: browser }],
    ['/docs/none/', { headers: browser }],
    ['//evil.example/', { headers: browser }],
  ] as const) {
    const answer = await ask(path, init);
    expect(answer.status, `${path} ${JSON.stringify(init)}`).toBe(404);
    expect(await answer.text()).toContain('"INVALID_ACTION"');
  }
});

test('A-245 a route for / answers browsers, and one for everything leaves the gateway its own paths', async () => {
  const site = createServer((req, res) => res.setHeader('content-type', 'text/html').end(`site ${req.url}`));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void site.close());
  const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  mkdirSync(data.path, { recursive: true, mode: 0o700 });
  const file = join(data.path, 'routes.json');
  const route = { access: 'public', upstream: 'site' };
  writeFileSync(
    file,
    JSON.stringify({
      upstreams: { site: { addresses: [address] } },
      routes: [
        { ...route, id: 'root', path: '/' },
        { ...route, id: 'below', path: '/*' },
      ],
    }),
  );
  const own = await startProgram({
    ORDERPASS_DATA_DIR: data.path,
    ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATABASE_URL: database.url,
    ORDERPASS_ROUTES_FILE: file,
  });
  onTestFinished(async () => void (await own.stop()));
  const answerTo = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(own.url + path, { redirect: 'manual', headers: browser });
    return [answer.status, await answer.text()];
  };
  for (const path of [
    '/',
    '/?a=b',
    '/index.html',
    '/healthz/x',
    '/docsx',
    '/llms.txt/x',
    '/llms',
    '/api/oauthx',
    '/panels',
    '/auth/login',
  ])
    expect(await answerTo(path)).toEqual([200, `site ${path}`]);
  expect(await answerTo('/docs')).toEqual([200, expect.stringContaining('Orderpass')]);
  expect(await answerTo('/healthz')).toEqual([200, '{"status":"ok"}']);
  for (const path of ['/llms.txt', '/llms-full.txt'])
    expect(await answerTo(path)).toEqual([200, expect.stringContaining('Orderpass')]);
  for (const path of ['/docs/none', '/.well-known', '/.well-known/none', '/api/oauth', '/api/oauth/none'])
    expect(await answerTo(path)).toEqual([404, expect.stringContaining('INVALID_ACTION')]);
  for (const path of ['/panel', '/panel/none']) expect((await answerTo(path))[1]).not.toContain('site');
});

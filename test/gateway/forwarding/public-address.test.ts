/** What a service learns of the address of its caller and of the host that the caller asked, and how it answers with them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import {
  type Headers,
  openDoor,
  origin,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;
let preserving: PublicDoor;

const members = { access: 'public', body: 'any', upstream: 'ordering' };
const moreRoutes = [
  { ...members, id: 'shop', path: '/shop/*', hosts: ['shop.example', '*.shops.example'], stripPrefix: '/shop' },
  { ...members, id: 'all', path: '/all/*', stripPrefix: '/all' },
];

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, { moreRoutes });
  const table = { upstreams: { ordering: { preserveHost: true } } };
  preserving = await openDoor(upstream.url, { moreRoutes, table });
});

afterAll(async () => {
  await door?.close();
  await preserving?.close();
  await upstream?.close();
});

/** What the service got, and the Location that the caller gets when the service answers with `location`. */
const ask = async (to: PublicDoor, target: string, host: string, location = '/x') => {
  upstream.answer = (_req, res) => void res.writeHead(201, { location }).end();
  const reply = await sendRequest(to.url, 'GET', target, { headers: { host } });
  expect(reply.status).toBe(201);
  return { seen: upstream.seen.at(-1)?.headers ?? {}, location: reply.headers.location };
};

test('A-246 on a route of hosts the service learns the host of the request, and its own address becomes that host', async () => {
  for (const host of ['shop.example', 'SHOP.example:8443', 'one.shops.example', 'a-b.one.shops.example']) {
    const { seen, location } = await ask(door, '/shop/items', host, `${upstream.url}/items/7?a=b`);
    expect([seen['x-forwarded-host'], location]).toEqual([host, `https://${host}/shop/items/7?a=b`]);
  }
  // These may be sent as a host, and no name of a host has them.
  for (const host of ["a'b.shops.example", 'a;b.shops.example', '%41.shops.example', '$(x).shops.example'])
    expect((await ask(door, '/shop/items', host)).seen['x-forwarded-host']).toBe('api.example');
});

test('A-246 on other routes they are those of the operator, whatever host the caller names', async () => {
  for (const host of ['shop.example', 'evil.example']) {
    const { seen, location } = await ask(door, '/all/items', host, `${upstream.url}/items/7`);
    expect([seen['x-forwarded-host'], location]).toEqual(['api.example', `${origin}/all/items/7`]);
    expect((await ask(door, '/all/items', host, `http://${host}/items/7`)).location).toBe(`http://${host}/items/7`);
  }
});

test('A-246 a service that gets the host of the caller may name it in its answers', async () => {
  const { seen, location } = await ask(preserving, '/shop/items', 'shop.example', 'https://shop.example/items/7');
  expect([seen.host, location]).toEqual(['shop.example', 'https://shop.example/shop/items/7']);
  expect((await ask(preserving, '/shop/items', 'shop.example', `${origin}/items/7`)).location).toBe(
    `${origin}/items/7`,
  );
  // A service behind plain HTTP often names its own scheme.
  for (const own of [origin, origin.replace('https', 'http')])
    expect((await ask(preserving, '/all/items', 'api.example', `${own}/items/7`)).location).toBe(
      `${origin}/all/items/7`,
    );
  const elsewhere = 'http://shop.example:8080/items/7';
  expect((await ask(preserving, '/shop/items', 'shop.example', elsewhere)).location).toBe(elsewhere);
  expect((await ask(preserving, '/shop/items', 'shop.example', 'http://shop.example/items/7')).location).toBe(
    'https://shop.example/shop/items/7',
  );
});

test('A-246 a host that no address can have leaves the public address, and the answer arrives all the same', async () => {
  for (const host of ['shop.example:70000', 'one.shops.example:65536']) {
    // The head of this answer is sent alone, before its body.
    upstream.answer = (_req, res) => {
      res.writeHead(200, { location: 'https://shop.example/items/7' }).flushHeaders();
      setTimeout(() => res.end('late'), 600);
    };
    expect((await sendRequest(preserving.url, 'GET', '/shop/items', { headers: { host } })).text).toBe('late');
    for (const to of [preserving, door]) {
      expect((await ask(to, '/shop/items', host, 'https://shop.example/items/7')).seen.host).toBeDefined();
      const { seen, location } = await ask(to, '/shop/items', host, `${upstream.url}/items/7`);
      expect([seen['x-forwarded-host'], location]).toEqual(['api.example', `${origin}/shop/items/7`]);
    }
  }
});

test('A-246 each of two lines with an address of the service becomes the public one', async () => {
  const lines = ['items/7', 'items/8'].flatMap((path) => ['content-location', `${upstream.url}/${path}`]);
  upstream.answer = (_req, res) => void res.writeHead(200, lines).end();
  const { headers } = await sendRequest(door.url, 'GET', '/all/items');
  expect(headers['content-location']).toBe(`${origin}/all/items/7, ${origin}/all/items/8`);
});

test('A-246 X-Forwarded-For begins with the client, also behind proxies of the operator, and holds nothing that it forged', async () => {
  const chainAt = async (hops: number, headers: Headers): Promise<unknown> => {
    const behind = await openDoor(upstream.url, { moreRoutes, settings: { trusted_proxy_hops: hops } });
    try {
      await sendRequest(behind.url, 'GET', '/all/items', { headers });
      return upstream.seen.at(-1)?.headers['x-forwarded-for'];
    } finally {
      await behind.close();
    }
  };
  const forged = { 'x-forwarded-for': '6.6.6.6, 198.51.100.7,10.0.0.1' };
  expect(await chainAt(0, forged)).toBe('127.0.0.1');
  expect(await chainAt(1, forged)).toBe('10.0.0.1, 127.0.0.1');
  expect(await chainAt(2, forged)).toBe('198.51.100.7, 10.0.0.1, 127.0.0.1');
  expect(await chainAt(2, { 'x-forwarded-for': '198.51.100.7' })).toBe('198.51.100.7, 127.0.0.1');
  expect(await chainAt(2, {})).toBe('127.0.0.1');
});

test('A-246 a WebSocket has the same fields', async () => {
  const upgrading = { ...members, id: 'live', path: '/live', hosts: ['live.example'], upgrade: true };
  const live = await openDoor(upstream.url, { moreRoutes: [upgrading], settings: { trusted_proxy_hops: 1 } });
  upstream.answer = (_req, res) => void res.writeHead(426).end();
  const headers = { host: 'live.example', 'x-forwarded-for': '6.6.6.6, 198.51.100.7' };
  const socket = new WebSocket(`${live.url.replace('http', 'ws')}/live`, { headers });
  await new Promise((resolve) => socket.once('error', resolve));
  expect(upstream.seen.at(-1)?.headers).toMatchObject({
    'x-forwarded-host': 'live.example',
    'x-forwarded-for': '198.51.100.7, 127.0.0.1',
  });
  await live.close();
});

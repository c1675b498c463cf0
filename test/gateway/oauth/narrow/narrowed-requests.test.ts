/** What a narrowed token may do is checked at every request (interface 30.1). */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createReference } from '#src/app/reference/reference.ts';
import { settingsSchema } from '#src/app/settings/config.ts';
import { until } from '../../../support/until.ts';
import { origin, type Reply, sendRequest } from '../../harness/public-door.ts';
import { connect } from '../../mcp/mcp-door.ts';
import { detail, type NarrowDoor, openNarrowDoor } from './narrow-door.ts';

let door: NarrowDoor;

beforeAll(async () => {
  door = await openNarrowDoor({ mcp: 'on' }, createReference(settingsSchema.parse({}), origin, undefined));
});

afterAll(() => door?.close());

/** Answered by the gateway, and nothing was forwarded. */
const expectLimited = async (asked: () => Promise<Reply>, text: string): Promise<void> => {
  const before = door.upstream.seen.length;
  const { status, headers, json } = await asked();
  expect([status, json.code, json.missing_scopes]).toEqual([403, 'UNAUTHORIZED', undefined]);
  expect(json.error_description).toBe(`This token is limited to ${text}`);
  expect(String(headers['www-authenticate'])).not.toMatch(/scope="/);
  expect(door.upstream.seen).toHaveLength(before);
};

test('A-395 operations and actions: only what one object allows, also HEAD, and operations of the gateway itself', async () => {
  const token = await door.tokenOf([
    detail({ operations: ['orders.list', 'reports.day', 'whoami'], actions: ['read'] }),
    detail({ operations: ['menu.products'] }),
  ]);
  const text =
    'the operations orders.list, reports.day, whoami and the actions read; or to the operations menu.products';
  for (const [method, target] of [
    ['GET', '/api/orders/list'],
    ['HEAD', '/api/orders/list'],
    ['GET', '/reports/rst_1'],
    ['GET', '/api/menu/products'],
    ['GET', '/api/whoami'],
  ] as const)
    expect([target, (await door.call(token, method, target)).status]).toEqual([target, 200]);
  for (const [method, target] of [
    ['GET', '/api/orders/get'],
    ['POST', '/reports/rst_1'],
    ['POST', '/api/order/create'],
    ['GET', '/api/whoami/usage'],
  ] as const)
    await expectLimited(() => door.call(token, method, target), text);
  expect((await door.call(token, 'HEAD', '/api/orders/get')).status).toBe(403);
});

test('A-395 the holder of a narrowed token reads why it was refused', async () => {
  const token = await door.tokenOf([detail({ operations: ['orders.list', 'whoami.denial'] })]);
  const refused = await door.call(token, 'GET', '/api/orders/get');
  const id = refused.json.request_id;
  await until(async () => (await door.call(token, 'GET', `/api/whoami/denials/${id}`)).status === 200);
  const { json } = await door.call(token, 'GET', `/api/whoami/denials/${id}`);
  expect(json.denial).toMatchObject({ reason: 'token_limited', code: 'UNAUTHORIZED', status: 403 });
});

test('A-437 a token of one restaurant reads denials about that one alone, also of its parent and right after the refusal', async () => {
  const plain = await door.tokenOf();
  const answer = door.upstream.answer;
  door.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(400, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ success: false, error: 'VALIDATION_ERROR', message: 'no', errors: [], request_id: 'r' }));
  };
  const first = [detail({ restaurants: ['rst_1'] })];
  const [one, both, second] = [
    await door.tokenOf(first),
    await door.tokenOf([detail({ restaurants: ['rst_1', 'rst_2'] })]),
    await door.tokenOf([detail({ restaurants: ['rst_2'] })]),
  ];
  const { json: exchanged } = await door.exchange(plain, { authorization_details: JSON.stringify(first) });
  const refuse = async (token: string, target: string): Promise<string> => {
    const { status, headers } = await door.call(token, 'GET', target);
    expect([target, Math.floor(status / 100)]).toEqual([target, 4]);
    return String(headers['x-request-id']);
  };
  const read = async (token: string, id: string): Promise<[number, unknown]> => {
    const { status, json } = await door.call(token, 'GET', `/api/whoami/denials/${id}`);
    return [status, status === 200 ? json.denial.tenants : json.message];
  };
  const unknown = await read(one, 'req_unknown');
  expect(unknown[0]).toBe(404);
  try {
    const ofFirst = [
      await refuse(plain, '/reports/rst_1'),
      await refuse(both, '/reports/rst_1'),
      await refuse(one, '/api/orders/list'),
      await refuse(one, '/reports/rst_2'),
      await refuse(one, '/api/whoami/usage'),
    ];
    const ofOthers = [
      await refuse(plain, '/reports/rst_2'),
      await refuse(both, '/reports/rst_2'),
      await refuse(both, '/api/orders/list'),
      await refuse(plain, '/api/orders/list'),
      await refuse(second, '/api/orders/list'),
    ];
    const check = async (): Promise<void> => {
      for (const token of [one, String(exchanged.access_token)]) {
        expect(await Promise.all(ofFirst.map((id) => read(token, id)))).toEqual(ofFirst.map(() => [200, undefined]));
        expect(await Promise.all(ofOthers.map((id) => read(token, id)))).toEqual(ofOthers.map(() => unknown));
      }
      for (const id of [...ofFirst, ...ofOthers]) expect((await read(plain, id))[0]).toBe(200);
      for (const id of ofOthers.slice(0, 3)) expect((await read(both, id))[0]).toBe(200);
    };
    await check();
    const last = sql`select from gateway.denials where request_id = ${ofOthers.at(-1)}`;
    await until(async () => (await last.execute(door.door.database.db)).rows.length === 1);
    await check();
  } finally {
    door.upstream.answer = answer;
  }
});

test('A-395 restaurants: a service learns those of the object for the operation alone', async () => {
  const token = await door.tokenOf([
    detail({ restaurants: ['rst_1'], actions: ['read'] }),
    detail({ restaurants: ['rst_2'], operations: ['reports.day'], actions: ['write'] }),
    detail({ restaurants: ['rst_2'], operations: ['orders.list'] }),
  ]);
  const seen = async (method: string, target: string): Promise<string[]> => {
    expect((await door.call(token, method, target)).status).toBe(200);
    return door.tenantsSeen();
  };
  expect(await seen('GET', '/api/orders/get')).toEqual(['rst_1']);
  expect(await seen('POST', '/reports/rst_2')).toEqual(['rst_2']);
  expect(await seen('GET', '/reports/rst_1')).toEqual(['rst_1']);
  expect(await seen('GET', '/api/orders/list')).toEqual(['rst_1', 'rst_2']);
  for (const [method, target] of [
    ['GET', '/reports/rst_2'],
    ['POST', '/reports/rst_1'],
    ['GET', '/reports/rst_3'],
    ['GET', '/reports/%72st_2'],
  ] as const) {
    const { status, json } = await door.call(token, method, target);
    expect([target, status, json.code]).toEqual([target, 403, 'UNAUTHORIZED']);
  }
  const plain = await door.tokenOf();
  await door.call(plain, 'GET', '/api/orders/get');
  expect(door.tenantsSeen()).toEqual(['rst_1', 'rst_2']);
});

test('A-395 a refusal of the service for another restaurant says what the token is limited to', async () => {
  const answer = door.upstream.answer;
  door.upstream.answer = (req, res) => {
    req.resume();
    const message = 'This restaurant is not granted to the client';
    res.writeHead(403, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ success: false, error: 'UNAUTHORIZED', message, request_id: 'req_1' }));
  };
  try {
    const token = await door.tokenOf([detail({ restaurants: ['rst_1'] })]);
    const { json } = await door.call(token, 'GET', '/api/orders/list?restuid=rst_2');
    expect(json.error_description).toBe(
      'This restaurant is not granted to the client. This token is limited to the restaurants rst_1',
    );
    const plain = await door.call(await door.tokenOf(), 'GET', '/api/orders/list?restuid=rst_9');
    expect(plain.json.error_description).toBe('This restaurant is not granted to the client');
  } finally {
    door.upstream.answer = answer;
  }
});

test('A-395 a request goes to the cell of a restaurant that the token has, without one being named', async () => {
  const token = await door.tokenOf([detail({ restaurants: ['rst_2'] })]);
  expect((await door.call(token, 'GET', '/shops')).status).toBe(200);
  expect(door.tenantsSeen()).toEqual(['rst_2']);
  expect((await door.call(await door.tokenOf(), 'GET', '/shops')).status).toBe(400);
  expect((await door.call(token, 'GET', '/shops?shop=rst_1')).status).toBe(403);
});

test('A-395 /auth/check decides as the gateway would', async () => {
  const token = await door.tokenOf([detail({ operations: ['orders.list'], restaurants: ['rst_2'] })]);
  const check = (target: string): Promise<Reply> =>
    sendRequest(door.door.url, 'GET', '/auth/check', {
      headers: { authorization: `Bearer ${token}`, 'x-original-method': 'GET', 'x-original-uri': target },
    });
  const allowed = await check('/api/orders/list');
  expect([allowed.status, allowed.headers['x-orderpass-tenants']]).toEqual([200, 'rst_2']);
  await expectLimited(() => check('/api/orders/get'), 'the operations orders.list and the restaurants rst_2');
});

test('A-395 a WebSocket opens for an operation of the token only', async () => {
  const open = (token: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const url = `${door.door.url.replace('http', 'ws')}/live`;
      const socket = new WebSocket(url, [], { headers: { authorization: `Bearer ${token}` } });
      socket.once('open', () => {
        socket.terminate();
        resolve(101);
      });
      socket.once('unexpected-response', (_request, response) => {
        response.resume();
        resolve(response.statusCode);
      });
      socket.once('error', reject);
    });
  expect(await open(await door.tokenOf([detail({ operations: ['live'] })]))).toBe(101);
  expect(await open(await door.tokenOf([detail({ operations: ['orders.list'] })]))).toBe(403);
});

test('A-395 /mcp lists the tools of the token, and calls no others', async () => {
  const token = await door.tokenOf([
    detail({ operations: ['orders.list', 'orders.get', 'order.close'], actions: ['read'] }),
  ]);
  const answer = door.upstream.answer;
  door.upstream.answer = (req, res) => {
    req.resume();
    const page = { page: 1, pagesize: 100, total_count: 0, more: false, next_cursor: null };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ success: true, orders: [], ...page }));
  };
  const client = await connect(door.door.url, { authorization: `Bearer ${token}` });
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(['orders_get', 'orders_list']);
    const done = await client.callTool({ name: 'orders_list', arguments: {} });
    expect(done.isError ?? false).toBe(false);
    const before = door.upstream.seen.length;
    const refused = await client.callTool({ name: 'menu_products', arguments: {} });
    expect([refused.isError, JSON.stringify(refused.content)]).toEqual([
      true,
      expect.stringContaining('is limited to'),
    ]);
    expect(door.upstream.seen).toHaveLength(before);
  } finally {
    door.upstream.answer = answer;
    await client.close();
  }
});

test('A-395 restaurants that the client loses are lost to its narrowed tokens, and a token of none is refused', async () => {
  const made = await door.credentials.createClient({ name: 'loses', tenants: ['rst_1', 'rst_3'] });
  const own = { client_id: made.clientId, client_secret: made.secret };
  const token = async (restaurants: string[]): Promise<string> => {
    const authorization_details = JSON.stringify([detail({ restaurants })]);
    const reply = await door.post('token', { grant_type: 'client_credentials', ...own, authorization_details });
    return String(reply.json.access_token);
  };
  const [both, third] = [await token(['rst_1', 'rst_3']), await token(['rst_3'])];
  expect((await door.call(both, 'GET', '/api/orders/list')).status).toBe(200);
  expect(door.tenantsSeen()).toEqual(['rst_1', 'rst_3']);
  await door.credentials.withdrawTenant(made.clientId, 'rst_3');
  await until(async () => {
    await door.call(both, 'GET', '/api/orders/list');
    return door.tenantsSeen().join() === 'rst_1';
  });
  await expectLimited(() => door.call(third, 'GET', '/api/orders/list'), 'the restaurants rst_3');
});

test('A-395 a narrowed token without a restaurant is refused by its own limits, also where its client lost another restaurant for good', async () => {
  const tenants = ['rst_1', 'rst_2', 'rst_4'];
  await door.credentials.createTenant('rst_4');
  const made = await door.credentials.createClient({ name: 'loses two', tenants });
  const own = { client_id: made.clientId, client_secret: made.secret };
  const authorization_details = JSON.stringify([detail({ restaurants: ['rst_2'] })]);
  const { json } = await door.post('token', { grant_type: 'client_credentials', ...own, authorization_details });
  await door.credentials.removeTenant('rst_4');
  await door.credentials.withdrawTenant(made.clientId, 'rst_2');
  const call = () => door.call(String(json.access_token), 'GET', '/api/orders/list');
  await until(async () => (await call()).status !== 200);
  await expectLimited(call, 'the restaurants rst_2');
});

test('A-395 A-054 a refused HEAD is asked again with GET only where the token has the same restaurants for GET', async () => {
  const both = ['rst_1', 'rst_2'];
  const answer = door.upstream.answer;
  door.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(403, { 'content-type': 'text/plain' }).end('no');
  };
  try {
    for (const [details, methods] of [
      [[detail({ actions: ['HEAD'], restaurants: both })], ['HEAD']],
      [
        [detail({ actions: ['HEAD'], restaurants: both }), detail({ actions: ['GET'], restaurants: ['rst_1'] })],
        ['HEAD'],
      ],
      [[detail({ actions: ['HEAD', 'GET'], restaurants: both })], ['HEAD', 'GET']],
      [undefined, ['HEAD', 'GET']],
    ] as const) {
      const token = await door.tokenOf(details);
      door.upstream.seen.length = 0;
      expect((await door.call(token, 'HEAD', '/both')).status).toBe(403);
      expect(door.upstream.seen.map(({ method }) => method)).toEqual(methods);
    }
  } finally {
    door.upstream.answer = answer;
  }
});

test('A-401 whoami shows the limits of a narrowed token, its restaurants, and null for any other credential', async () => {
  const details = [detail({ restaurants: ['rst_2'], operations: ['whoami'] })];
  const token = await door.tokenOf(details);
  const narrowed = await door.call(token, 'GET', '/api/whoami');
  expect(narrowed.json.credential).toMatchObject({
    narrowed: { authorization_details: details, resource: null, ancestors: [] },
    restaurants: [{ uid: 'rst_2' }],
    restaurants_count: 1,
    refused_elsewhere: null,
  });
  const plain = await door.call(await door.tokenOf(), 'GET', '/api/whoami');
  expect(plain.json.credential).toMatchObject({ narrowed: null, restaurants_count: 2 });
});

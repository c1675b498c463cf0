/** Errors of a service of the operator whose table says `errors: "pass"`. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  type Headers,
  openDoor,
  type PublicDoor,
  plainChallenge,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;
let legacy: PublicDoor;

const shop = { id: 'shop', method: ['GET', 'POST'], path: '/shop/*', scopes: [], body: 'any', upstream: 'ordering' };
const open = { id: 'open', method: 'GET', path: '/open/*', access: 'public', body: 'any', upstream: 'ordering' };

beforeAll(async () => {
  upstream = await startUpstream();
  const table = { upstreams: { ordering: { errors: 'pass' } } };
  door = await openDoor(upstream.url, { table, moreRoutes: [shop, open] });
  legacy = await openDoor(upstream.url, { table, moreRoutes: [shop], settings: { legacy_status: 'on' } });
});

afterAll(async () => {
  await door?.close();
  await legacy?.close();
  await upstream?.close();
});

beforeEach(() => {
  upstream.seen.length = 0;
});

const taken = Buffer.from('{"error":{"code":"sku_taken","current":{"sku":"7"}}}');

const answerWith = (status: number, body = taken, headers: Record<string, string> = {}): void => {
  upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(status, { 'content-type': 'application/json', etag: '"7"', ...headers }).end(body);
  };
};

const get = (headers: Headers, path = '/shop/items', method = 'GET') =>
  sendRequest(door.url, method, path, { headers });

const problem = { accept: 'application/problem+json' };

test('A-244 an error that refuses no caller leaves as the service wrote it, for every caller', async () => {
  for (const status of [400, 402, 404, 405, 406, 409, 410, 412, 413, 418, 422, 429, 451, 499, 500, 501, 503, 599]) {
    answerWith(status, taken, { 'set-cookie': 'sid=1', 'x-powered-by': 'x' });
    const callers = [door.asKey, door.asClient, { ...door.asKey, ...problem }];
    if (status !== 400) callers.push(door.asBearer);
    for (const caller of callers) {
      const reply = await get(caller);
      expect([reply.status, reply.text]).toEqual([status, taken.toString()]);
      expect(reply.headers).toMatchObject({ 'content-type': 'application/json', etag: '"7"', 'set-cookie': ['sid=1'] });
      expect(reply.headers['x-powered-by']).toBeUndefined();
      expect(reply.headers['x-request-id']).toMatch(/^req_/);
    }
    const old = await sendRequest(legacy.url, 'GET', '/shop/items', { headers: legacy.asKey });
    expect([old.status, old.text]).toEqual([status, taken.toString()]);
  }
});

test('A-244 400, 401 and 403 have the body of the gateway for a token, 401 and 403 for others with a credential', async () => {
  for (const [status, error] of [
    [400, 'invalid_request'],
    [401, 'invalid_token'],
    [403, 'insufficient_scope'],
  ] as const) {
    answerWith(status, Buffer.from('{"message":"Not here"}'), { 'www-authenticate': 'Basic realm="inner"' });
    const bearer = await get(door.asBearer);
    expect([bearer.status, bearer.json.error, bearer.json.error_description]).toEqual([status, error, 'Not here']);
    expect(bearer.headers['www-authenticate']).toContain(`Bearer realm="orderpass", error="${error}"`);
    if (status === 400) continue;
    for (const path of ['/shop/items', '/open/items']) {
      const key = await get(door.asKey, path);
      expect([key.status, key.json.success, key.json.message]).toEqual([status, false, 'Not here']);
      expect(key.headers['www-authenticate']).toBe(status === 401 ? plainChallenge : undefined);
    }
    const visitor = await get({}, '/open/items');
    expect([visitor.status, visitor.text]).toEqual([status, '{"message":"Not here"}']);
    expect(visitor.headers['www-authenticate']).toBeUndefined();
  }
});

test('A-244 coded, empty and long bodies pass, and HEAD asks the service once', async () => {
  const coded = gzipSync(taken);
  answerWith(409, coded, { 'content-encoding': 'gzip' });
  const answer = await fetch(`${door.url}/shop/items`, { headers: door.asKey });
  expect([answer.status, answer.headers.get('content-encoding')]).toEqual([409, 'gzip']);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(taken);
  answerWith(404, Buffer.alloc(0));
  expect((await get(door.asKey)).text).toBe('');
  const long = Buffer.alloc(20_000_000, 'long ');
  answerWith(500, long, { 'content-type': 'text/plain' });
  const reply = await fetch(`${door.url}/shop/items`, { headers: door.asBearer });
  expect(Buffer.from(await reply.arrayBuffer()).equals(long)).toBe(true);
  upstream.seen.length = 0;
  answerWith(404);
  const head = await get(door.asKey, '/shop/items', 'HEAD');
  expect([head.status, head.text, head.headers.etag]).toEqual([404, '', '"7"']);
  expect(upstream.seen.map(({ method }) => method)).toEqual(['HEAD']);
});

test('A-244 the holder of a credential finds the error of the service among its refusals, and the audit counts it', async () => {
  answerWith(429);
  const { headers } = await get(door.asKey);
  const id = String(headers['x-request-id']);
  const denial = async () => (await get(door.asKey, `/api/whoami/denials/${id}`)).json.denial;
  await until(async () => (await denial()) !== undefined);
  expect(await denial()).toMatchObject({ request_id: id, status: 429, reason: 'upstream' });
  const { db } = door.database;
  const audited = () =>
    db
      .selectFrom('gateway.audit_events' as never)
      .selectAll()
      .execute() as Promise<{ request_ids: string[] }[]>;
  await until(async () => (await audited()).some(({ request_ids }) => request_ids.includes(id)));
});

test('A-772 an error whose connection breaks before its body is not noted for its caller, where the request is repeated', async () => {
  let requests = 0;
  const fine = Buffer.from('{"fine":true}');
  upstream.answer = (req, res) => {
    req.resume();
    requests += 1;
    if (requests > 1) {
      res.writeHead(200, { 'content-type': 'application/json' }).end(fine);
      return;
    }
    res.writeHead(429, { 'content-type': 'application/json', 'content-length': taken.length }).flushHeaders();
    res.socket?.destroySoon();
  };
  const { status, text, headers } = await get(door.asClient);
  expect([status, text, requests]).toEqual([200, fine.toString(), 2]);
  const id = String(headers['x-request-id']);
  // What is noted later is shown later.
  answerWith(429);
  const later = String((await get(door.asClient)).headers['x-request-id']);
  const denial = async (of: string) => (await get(door.asClient, `/api/whoami/denials/${of}`)).json.denial;
  await until(async () => (await denial(later)) !== undefined);
  expect(await denial(id)).toBeUndefined();
  const actions = async () => {
    const { rows } = await door.database.pool.query<{ action: string }>(
      'select action from gateway.audit_events where $1 = any (request_ids)',
      [id],
    );
    return rows.map(({ action }) => action);
  };
  await until(async () => (await actions()).includes('request.allowed'));
  expect(await actions()).toEqual(['request.allowed']);
});

/** The public port is open before the gateway is ready, and refuses requests in the dialect of their caller. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Headers, sendRaw, sendRequest } from '../gateway/harness/public-door.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let holder: pg.Client;
let port: number;
let url: string;
let starting: Promise<RunningProgram>;

const answers = async (): Promise<boolean> => {
  try {
    await sendRequest(url, 'GET', '/healthz');
    return true;
  } catch {
    return false;
  }
};

beforeAll(async () => {
  database = await createTestDatabase();
  // The signing keys are read after the port is open; who holds their table holds the start.
  holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('begin');
  await holder.query('lock table gateway.signing_keys in access exclusive mode');
  port = await freePort();
  url = `http://127.0.0.1:${port}`;
  starting = startProgram({
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    PORT: String(port),
  });
  starting.catch(() => undefined);
  await until(answers);
});

afterAll(async () => {
  await holder.end();
  await (await starting).stop();
  await database.drop();
});

const expectStarting = (reply: Awaited<ReturnType<typeof sendRequest>>, type: RegExp): void => {
  expect(reply.status).toBe(503);
  expect(reply.headers).toMatchObject({
    'retry-after': expect.stringMatching(/^[1-9]\d?$/),
    'x-request-id': 'mine',
    'x-api-version': '1.0.0',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-type': expect.stringMatching(type),
    'content-length': String(reply.body.length),
  });
  expect(reply.json.request_id).toBe('mine');
};

test('F-63 while it starts, the port answers 503 in the dialect of the caller, then the gateway takes over', async () => {
  const get = (path: string, headers: Headers = {}, method = 'GET') =>
    sendRequest(url, method, path, { headers: { 'x-request-id': 'mine', ...headers } });
  for (const headers of [{}, { 'x-api-key': 'opk_x' }, { authorization: 'Bearer abc' }] as Headers[]) {
    for (const path of ['/api/orders/list', '/healthz', '/panel', '/docs', '/nowhere']) {
      const reply = await get(path, headers);
      expectStarting(reply, /^application\/json/);
      expect([reply.json.success, reply.json.error]).toEqual([false, 'OVERLOADED']);
    }
  }
  const problem = await get('/api/orders/list', { accept: 'application/problem+json' });
  expectStarting(problem, /^application\/problem\+json$/);
  expect([problem.json.code, problem.json.status]).toEqual(['OVERLOADED', 503]);
  for (const name of ['token', 'revoke', 'introspect']) {
    const reply = await get(`/api/oauth/${name}`, {}, 'POST');
    expectStarting(reply, /^application\/json/);
    expect([reply.json.error, reply.json.code]).toEqual(['temporarily_unavailable', 'OVERLOADED']);
  }
  // Node says nothing by itself here either.
  const own: [string, number][] = [
    ['GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nExpect: foo\r\nConnection: close\r\n\r\n', 417],
    ['CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 503],
    ['GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n', 400],
  ];
  for (const [text, status] of own) {
    const answer = await sendRaw(port, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nx-request-id: req_/i);
  }
  await holder.query('rollback');
  const program = await starting;
  expect(program.url).toBe(url);
  expect((await get('/healthz')).status).toBe(200);
  // The words of the gateway itself.
  expect((await get('/api/orders/list', { authorization: 'Bearer abc' })).json.error).toBe('invalid_token');
});

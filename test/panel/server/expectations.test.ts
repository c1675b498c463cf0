/** Requests with Expect to what is answered before the routes, in the real program in front of a service with all other paths. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startUpstream, type TestUpstream } from '../../gateway/harness/public-door.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../../support/program.ts';

const data = makeDataDir();
let upstream: TestUpstream;
let program: RunningProgram;

beforeAll(async () => {
  upstream = await startUpstream();
  const routes = join(dirname(data.path), 'routes.json');
  const all = { id: 'all', path: '/*', method: ['GET', 'POST'], access: 'public', upstream: 'shop', body: 'any' };
  writeFileSync(
    routes,
    JSON.stringify({ scopes: [], upstreams: { shop: { addresses: [upstream.url], identity: 'none' } }, routes: [all] }),
  );
  program = await startProgram({ ORDERPASS_DATA_DIR: data.path, ORDERPASS_ROUTES_FILE: routes });
});

afterAll(async () => {
  await program?.stop();
  await upstream?.close();
  data.remove();
});

beforeEach(() => {
  upstream.seen.length = 0;
});

type Answer = { status: number | undefined; location: string | undefined; text: string; continued: number };

/** A client with `Expect: 100-continue` sends the body only after 100 Continue. */
const post = async (path: string, body: string, headers: OutgoingHttpHeaders): Promise<Answer> => {
  const type = 'application/x-www-form-urlencoded';
  const sent = request(`${program.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': type, 'content-length': Buffer.byteLength(body), origin: program.url, ...headers },
    agent: false,
  });
  let continued = 0;
  sent.on('continue', () => {
    continued += 1;
    sent.end(body);
  });
  if (headers.expect === undefined) sent.end(body);
  else sent.flushHeaders();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks = await response.setEncoding('utf8').toArray();
  sent.destroy();
  return { status: response.statusCode, location: response.headers.location, text: chunks.join(''), continued };
};

const waits = { expect: '100-continue' };

const posted: [path: string, body: string, status: number][] = [
  ['/panel', 'a=1', 303],
  ['/panel/login', 'a=1', 303],
  ['/panel/sign-in', 'email=a%40example.com&password=wrong', 422],
  ['/panel/sign-in?next=1', `email=${'x'.repeat(70_000)}`, 413],
  ['/demo/receiver', '{}', 401],
  ['/demo/receiver/deliveries', '{}', 405],
];

test.each(posted)(
  'A-635 a POST to %s is answered in the same way with Expect: 100-continue',
  async (path, body, status) => {
    const plain = await post(path, body, {});
    const waiting = await post(path, body, waits);
    expect([plain.status, plain.continued]).toEqual([status, 0]);
    expect([waiting.status, waiting.location, waiting.continued]).toEqual([status, plain.location, 1]);
    expect(upstream.seen).toEqual([]);
  },
);

test('A-635 a head that is too long is refused before the body is asked for', async () => {
  for (const path of ['/panel/sign-in', '/demo/receiver']) {
    const { status, continued } = await post(path, 'a=1', { ...waits, 'x-long': 'x'.repeat(17_000) });
    expect([path, status, continued, upstream.seen]).toEqual([path, 431, 0, []]);
  }
});

test('A-635 another site is refused by the panel with Expect too', async () => {
  const { status } = await post('/panel/sign-in', 'email=a', { ...waits, origin: 'https://other.example' });
  expect([status, upstream.seen]).toEqual([403, []]);
});

test.each(['/panel', '/panel/sign-in', '/demo/receiver'])(
  'A-635 another expectation is refused at %s as everywhere',
  async (path) => {
    const { status, text, continued } = await post(path, 'a=1', { expect: 'something' });
    expect([status, continued, JSON.parse(text).errors]).toEqual([
      417,
      0,
      [{ pointer: 'Expect', code: 'ENUM', message: 'only 100-continue is understood' }],
    ]);
    expect(upstream.seen).toEqual([]);
  },
);

test('A-635 the service gets such requests to paths beside them', async () => {
  for (const path of ['/panels', '/demo']) {
    const { status, continued } = await post(path, 'a=1', waits);
    expect([path, status, continued]).toEqual([path, 200, 1]);
  }
  expect(upstream.seen.map(({ target }) => target)).toEqual(['/panels', '/demo']);
});

/** A service behind a public route that refuses a caller by itself (interface 15). */
import { afterAll, beforeAll, expect, test } from 'vitest';
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

const own = { method: ['GET', 'HEAD', 'POST'], body: 'any', upstream: 'ordering' };

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, {
    moreRoutes: [
      { ...own, id: 'open', path: '/open', access: 'public' },
      { ...own, id: 'either', path: '/either', access: 'optional' },
    ],
  });
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

const refuseWith = (status: number, type: string, body: string): void => {
  upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(status, { 'content-type': type, 'www-authenticate': 'Basic realm="inner"' }).end(body);
  };
};

const ask = (path: string, headers: Headers = {}, method = 'GET') => sendRequest(door.url, method, path, { headers });

const problem = { accept: 'application/problem+json' };
const sentence = 'The service behind this address asks for a sign-in of its own';

test('A-450 a 401 of a public service to a caller without a credential does not ask for a token of Orderpass', async () => {
  refuseWith(401, 'text/html', '<h1>Sign in</h1>');
  for (const method of ['GET', 'POST']) {
    const answer = await ask('/open', {}, method);
    expect([answer.status, answer.json.error, answer.json.message]).toEqual([401, 'INVALID_AUTH', sentence]);
    expect(answer.headers['www-authenticate']).toBeUndefined();
  }
  const detailed = await ask('/open', problem);
  expect([detailed.status, detailed.json.detail]).toEqual([401, sentence]);
  expect(detailed.headers['www-authenticate']).toBeUndefined();
  const head = await ask('/open', {}, 'HEAD');
  expect([head.status, head.headers['www-authenticate']]).toEqual([401, undefined]);
  refuseWith(401, 'application/json', '{"message":"Your session has ended"}');
  const explained = await ask('/open');
  expect([explained.status, explained.json.message]).toEqual([401, 'Your session has ended']);
  expect(explained.headers['www-authenticate']).toBeUndefined();
});

test('A-450 where a credential changes the answer, a 401 asks for it: an optional route, and a caller with one', async () => {
  refuseWith(401, 'text/html', '<h1>Sign in</h1>');
  const optional = await ask('/either');
  expect([optional.status, optional.headers['www-authenticate']]).toEqual([401, plainChallenge]);
  for (const path of ['/open', '/either']) {
    const key = await ask(path, door.asKey);
    expect([key.status, key.headers['www-authenticate']]).toEqual([401, plainChallenge]);
    const bearer = await ask(path, door.asBearer);
    expect([bearer.status, bearer.json.error]).toEqual([401, 'invalid_token']);
  }
  // The gateway refuses this one itself.
  const wrong = await ask('/open', { authorization: 'Basic YTpi' });
  expect([wrong.status, wrong.headers['www-authenticate']]).toEqual([401, plainChallenge]);
});

test('A-450 a 403 of a public service is as everywhere', async () => {
  refuseWith(403, 'text/html', '<h1>No</h1>');
  const answer = await ask('/open');
  expect([answer.status, answer.json.error, answer.json.message]).toEqual([
    403,
    'UNAUTHORIZED',
    'This request is not allowed',
  ]);
});

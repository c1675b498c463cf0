import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  metadata,
  openDoor,
  origin,
  type PublicDoor,
  plainChallenge,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

const problem = { accept: 'application/problem+json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };

const challengeOf = (error: string, description: string, scope = ''): string =>
  `Bearer realm="orderpass", error="${error}", error_description="${description}", ${scope}resource_metadata="${metadata}"`;

test('F-47 A-052 400, 401 and 403 of the gateway to a Bearer caller are OAuth errors with the full challenge', async () => {
  const cases: [string, Record<string, string>, number, string, string][] = [
    ['/api/orders/list', { ...door.asBearer, 'x-api-version': '9' }, 400, 'invalid_request', 'VALIDATION_ERROR'],
    ['/api/orders/list', { ...door.asBearer, ...door.asKey }, 400, 'invalid_request', 'VALIDATION_ERROR'],
    ['/api/orders/list', door.asExpired, 401, 'invalid_token', 'INVALID_AUTH'],
    ['/api/orders/list', await door.bearerWith(['read:menu']), 403, 'insufficient_scope', 'INSUFFICIENT_SCOPE'],
  ];
  for (const [target, headers, status, error, code] of cases) {
    for (const accept of ['*/*', 'application/problem+json']) {
      const answer = await sendRequest(door.url, 'GET', target, { headers: { ...headers, accept } });
      expect([answer.status, answer.json.error]).toEqual([status, error]);
      const more = status === 400 ? ['errors'] : status === 403 ? ['missing_scopes'] : [];
      const members = ['error', 'error_description', 'error_uri', 'code', ...more, 'request_id'];
      expect(Object.keys(answer.json)).toEqual(members);
      expect(answer.json.code).toBe(code);
      if (status === 400) expect(Object.keys(answer.json.errors[0])).toEqual(['pointer', 'code', 'message']);
      if (status === 403) expect(answer.json.missing_scopes).toEqual(['read:orders']);
      expect(answer.json.error_uri).toBe(`${origin}/docs/errors#${code}`);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.headers['cache-control']).toBe('no-store');
      const scope = status === 403 ? 'scope="read:orders", ' : '';
      expect(answer.headers['www-authenticate']).toBe(challengeOf(error, answer.json.error_description, scope));
    }
  }
});

test('A-054 HEAD gives the same status and headers as GET, with no body', async () => {
  const same = { 'x-request-id': 'same' };
  for (const headers of [{ ...door.asExpired, ...same }, { ...same }, { ...same, ...problem }]) {
    const get = await sendRequest(door.url, 'GET', '/api/orders/list', { headers });
    const head = await sendRequest(door.url, 'HEAD', '/api/orders/list', { headers });
    expect([get.status, head.status, head.text]).toEqual([401, 401, '']);
    expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' });
    expect(head.headers['content-length']).toBe(String(get.body.length));
  }
});

test('A-016 an access token in the query, a form body or a JSON body is refused as OAuth invalid_request', async () => {
  const big = JSON.stringify({ filler: 'x'.repeat(60_000), nested: { access_token: 1 }, access_token: 'abc' });
  const cases: [string, string, Record<string, string>, string | undefined][] = [
    ['GET', '/api/orders/list?access_token=abc', {}, undefined],
    ['GET', '/api/orders/list?access%5Ftoken=abc', {}, undefined],
    ['GET', '/api/orders/list?access_token=abc', door.asKey, undefined],
    ['POST', '/api/order/create', form, 'access_token=abc&x=1'],
    ['POST', '/api/order/create', { ...form, ...door.asKey }, 'x=1&access%5ftoken=abc'],
    ['POST', '/api/order/create', json, '{"access_token":"abc"}'],
    ['POST', '/api/order/create', json, '{"a":[{"b":"}"}],"access\\u005ftoken":"abc"}'],
    ['POST', '/api/order/create', json, big],
  ];
  for (const [method, target, headers, body] of cases) {
    const answer = await sendRequest(door.url, method, target, body === undefined ? { headers } : { headers, body });
    expect([target, body?.slice(0, 40), answer.status, answer.json.error]).toEqual([
      target,
      body?.slice(0, 40),
      400,
      'invalid_request',
    ]);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_request"');
  }
});

test('A-016 the same name in another place is no credential', async () => {
  const bodies = [
    '{"a":{"access_token":"abc"}}',
    '{"a":"access_token"}',
    '["access_token","abc"]',
    '{"access_token',
    '',
  ];
  for (const body of bodies) {
    const answer = await sendRequest(door.url, 'POST', '/api/order/create', { headers: json, body });
    expect([body, answer.status, answer.json.error]).toEqual([body, 401, 'INVALID_AUTH']);
  }
  const asForm = await sendRequest(door.url, 'POST', '/api/order/create', { headers: form, body: 'access_token=&a=1' });
  expect([asForm.status, asForm.json.error]).toEqual([401, 'INVALID_AUTH']);
});

test('A-013 A-063 without a credential the answer is 401 with a challenge that names no error', async () => {
  const envelope = await sendRequest(door.url, 'GET', '/api/orders/list');
  expect(envelope.status).toBe(401);
  expect(envelope.headers['www-authenticate']).toBe(plainChallenge);
  expect(envelope.json).toMatchObject({ success: false, error: 'INVALID_AUTH' });
  const asked = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: problem });
  expect(asked.headers['www-authenticate']).toBe(plainChallenge);
  expect(asked.json).toMatchObject({ status: 401, code: 'INVALID_AUTH' });
  const wrongKey = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: { 'x-api-key': 'opk_wrong' } });
  expect([wrongKey.status, wrongKey.json.error]).toEqual([401, 'INVALID_KEY']);
  expect(wrongKey.headers['www-authenticate']).toBe(plainChallenge);
});

test('A-058 only an Accept that names the problem type itself changes the dialect', async () => {
  const cases: [string, boolean][] = [
    ['application/problem+json', true],
    ['application/json;q=0.9, application/problem+json;q=0.1', true],
    ['Application/Problem+JSON; charset=utf-8', true],
    ['*/*', false],
    ['application/*', false],
    ['application/problem+json;q=0', false],
    ['application/problem+json; q=0.0', false],
    ['application/problem+xml', false],
    ['', false],
  ];
  for (const [accept, wanted] of cases) {
    const headers = { ...door.asKey, accept };
    const answer = await sendRequest(door.url, 'POST', '/api/order/create', { headers });
    const { request_id } = answer.json;
    expect([accept, answer.headers['content-type']]).toEqual([
      accept,
      wanted ? 'application/problem+json' : 'application/json; charset=utf-8',
    ]);
    if (!wanted) continue;
    expect(answer.json).toEqual({
      type: `${origin}/docs/errors#INSUFFICIENT_SCOPE`,
      title: 'Scope missing',
      status: 403,
      detail: 'This operation needs the scope write:orders',
      instance: `urn:orderpass:request:${request_id}`,
      code: 'INSUFFICIENT_SCOPE',
      missing_scopes: ['write:orders'],
      request_id: answer.headers['x-request-id'],
    });
  }
});

test('A-057 a Bearer caller gets other statuses as envelope, or as problem when asked for', async () => {
  const cases: [string, string, Record<string, string>, string | undefined, number, string][] = [
    ['GET', '/api/nothing', {}, undefined, 404, 'INVALID_ACTION'],
    ['PUT', '/api/orders/list', {}, undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['POST', '/api/order/create', { 'content-type': 'text/plain' }, 'x', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['POST', '/api/order/create', { ...json, 'content-encoding': 'gzip' }, '{}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['POST', '/api/order/create', form, 'x=1', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['POST', '/api/order/create', json, ' '.repeat(1024 * 1024 + 1), 413, 'PAYLOAD_TOO_LARGE'],
    ['GET', `/api/orders/list?x=${'x'.repeat(9000)}`, {}, undefined, 414, 'URI_TOO_LONG'],
    ['GET', '/api/orders/list', { 'x-long': 'x'.repeat(17_000) }, undefined, 431, 'HEADERS_TOO_LARGE'],
  ];
  for (const [method, target, more, body, status, code] of cases) {
    const send = (extra: Record<string, string>) =>
      sendRequest(door.url, method, target, {
        headers: { ...door.asBearer, ...more, ...extra },
        ...(body === undefined ? undefined : { body }),
      });
    const envelope = await send({});
    expect([code, envelope.status, envelope.json.success, envelope.json.error]).toEqual([code, status, false, code]);
    expect(envelope.headers['www-authenticate']).toBeUndefined();
    const asked = await send(problem);
    expect([asked.status, asked.headers['content-type'], asked.json.code]).toEqual([
      status,
      'application/problem+json',
      code,
    ]);
  }
});

test('an empty body counts as no body, whatever its type', async () => {
  for (const headers of [form, { 'content-type': 'text/plain' }, { ...form, 'transfer-encoding': 'chunked' }]) {
    const answer = await sendRequest(door.url, 'POST', '/api/customer/create', {
      headers: { ...door.asBearer, ...headers },
      body: '',
    });
    expect([headers['content-type'], answer.status]).toEqual([headers['content-type'], 200]);
    expect(upstream.seen.at(-1)?.headers['content-type']).toBeUndefined();
  }
});

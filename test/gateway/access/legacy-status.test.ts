import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  openDoor,
  type PublicDoor,
  plainChallenge,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let legacy: PublicDoor;
let honest: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  legacy = await openDoor(upstream.url, { settings: { legacy_status: 'on' } });
  honest = await openDoor(upstream.url);
});

afterAll(async () => {
  await legacy?.close();
  await honest?.close();
  await upstream?.close();
});

const read = '/api/orders/list';
const problem = { accept: 'application/problem+json' };

const answerWith = (status: number, body: string | Buffer, headers: Record<string, string> = {}): void => {
  upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
};

const envelope = (error: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({ success: false, error, message: 'no', ...more, request_id: 'req_up' });

/** Code, own status, old status: interface 6.1. */
const table: [string, number, number][] = [
  ['INVALID_AUTH', 401, 401],
  ['INVALID_KEY', 401, 401],
  ['RESTAURANT_NOT_FOUND', 401, 401],
  ['API_DISABLED', 403, 403],
  ['INSUFFICIENT_SCOPE', 403, 403],
  ['UNAUTHORIZED', 403, 403],
  ['MISSING_PARAMETER', 400, 200],
  ['VALIDATION_ERROR', 400, 200],
  ['INVALID_TOKEN', 400, 200],
  ['INVALID_ACTION', 404, 200],
  ['NOT_FOUND', 404, 200],
  ['CUSTOMER_NOT_FOUND', 404, 200],
  ['CATEGORY_NOT_FOUND', 404, 200],
  ['PRODUCT_NOT_FOUND', 404, 200],
  ['METHOD_NOT_ALLOWED', 405, 405],
  ['REQUEST_TIMEOUT', 408, 408],
  ['TIMEOUT', 409, 200],
  ['CONFLICT', 409, 409],
  ['PAYLOAD_TOO_LARGE', 413, 413],
  ['URI_TOO_LONG', 414, 414],
  ['UNSUPPORTED_MEDIA_TYPE', 415, 415],
  ['HEADERS_TOO_LARGE', 431, 431],
  ['PRODUCT_NOT_FOUND', 422, 200],
  ['PRODUCT_NOT_AVAILABLE', 422, 200],
  ['OPTION_NOT_FOUND', 422, 200],
  ['OPTION_VALUE_NOT_FOUND', 422, 200],
  ['INVALID_ADDRESS', 422, 200],
  ['COUPON_ERROR', 422, 200],
  ['SUBRESTAURANT_NOT_FOUND', 422, 200],
  ['IMPORT_ERROR', 422, 200],
  ['CANNOT_APPLY', 422, 200],
  ['IDEMPOTENCY_KEY_REUSED', 422, 422],
  ['INSUFFICIENT_POINTS', 422, 422],
  ['RATE_LIMIT_EXCEEDED', 429, 200],
  ['INTERNAL_ERROR', 500, 200],
  ['UPSTREAM_UNREACHABLE', 502, 502],
  ['OVERLOADED', 503, 503],
  ['UPSTREAM_TIMEOUT', 504, 504],
];

test.each(table)('A-060 %s, by default %i, is answered with %i and the same envelope', async (code, own, old) => {
  const body = envelope(code, code === 'RATE_LIMIT_EXCEEDED' ? { retry_after: 7 } : {});
  answerWith(own, body, code === 'RATE_LIMIT_EXCEEDED' ? { 'retry-after': '7' } : {});
  for (const headers of [legacy.asKey, legacy.asClient]) {
    const answer = await sendRequest(legacy.url, 'GET', read, { headers });
    expect([answer.status, answer.text]).toEqual([old, body]);
    expect(answer.headers['retry-after']).toBe(
      code === 'RATE_LIMIT_EXCEEDED' ? '7' : code === 'OVERLOADED' ? '1' : undefined,
    );
  }
  const head = await sendRequest(legacy.url, 'HEAD', read, { headers: legacy.asKey });
  expect([head.status, head.text]).toEqual([old, '']);
  const asked = await sendRequest(legacy.url, 'GET', read, { headers: { ...legacy.asKey, ...problem } });
  expect([asked.status, asked.json.code]).toEqual([own, code]);
  expect((await sendRequest(legacy.url, 'GET', read, { headers: legacy.asBearer })).status).toBe(own);
  expect((await sendRequest(honest.url, 'GET', read, { headers: honest.asKey })).status).toBe(own);
});

test('A-060 refusals of the gateway itself: unknown path and a bad version 200, no credential 401, scope 403', async () => {
  const cases: [string, string, Record<string, string>, number, string][] = [
    ['GET', '/api/unknown', legacy.asKey, 200, 'INVALID_ACTION'],
    ['GET', '/api/unknown', {}, 200, 'INVALID_ACTION'],
    ['GET', read, { ...legacy.asKey, 'x-api-version': '2' }, 200, 'VALIDATION_ERROR'],
    ['GET', read, { ...legacy.asKey, 'x-client-id': 'a' }, 200, 'VALIDATION_ERROR'],
    ['PUT', read, legacy.asKey, 405, 'METHOD_NOT_ALLOWED'],
    ['GET', read, {}, 401, 'INVALID_AUTH'],
    ['GET', read, { 'x-api-key': 'wrong' }, 401, 'INVALID_KEY'],
    ['POST', '/api/order/create', legacy.asKey, 403, 'INSUFFICIENT_SCOPE'],
  ];
  for (const [method, target, headers, status, code] of cases) {
    const answer = await sendRequest(legacy.url, method, target, { headers });
    expect([method, target, answer.status, answer.json.success, answer.json.error]).toEqual([
      method,
      target,
      status,
      false,
      code,
    ]);
    if (status === 401) expect(answer.headers['www-authenticate']).toBe(plainChallenge);
  }
  const honestly: [Record<string, string>, number][] = [
    [legacy.asBearer, 404],
    [legacy.asExpired, 404],
    [{ ...legacy.asKey, ...problem }, 404],
  ];
  for (const [headers, status] of honestly) {
    expect((await sendRequest(legacy.url, 'GET', '/api/unknown', { headers })).status).toBe(status);
  }
  const ambiguous = await sendRequest(legacy.url, 'GET', read, { headers: { ...legacy.asKey, ...legacy.asBearer } });
  expect([ambiguous.status, ambiguous.json.error]).toEqual([400, 'invalid_request']);
});

test('A-060 a refusal without an envelope gets one with its code, and the old status', async () => {
  const cases: [number, string, string, number][] = [
    [400, 'text/plain', 'VALIDATION_ERROR', 200],
    [404, 'text/html', 'NOT_FOUND', 200],
    [500, 'text/html', 'INTERNAL_ERROR', 200],
    [401, 'text/plain', 'INVALID_AUTH', 401],
    [403, 'text/plain', 'UNAUTHORIZED', 403],
    [409, 'text/plain', 'CONFLICT', 409],
    [503, 'text/plain', 'OVERLOADED', 503],
  ];
  for (const [status, type, code, old] of cases) {
    answerWith(status, gzipSync('<b>no</b>'), { 'content-type': type, 'content-encoding': 'gzip' });
    const answer = await sendRequest(legacy.url, 'GET', read, { headers: legacy.asKey });
    expect([answer.status, answer.json.success, answer.json.error]).toEqual([old, false, code]);
  }
});

test('A-060 a status that decides about access is never hidden behind a code that could be', async () => {
  for (const status of [401, 403]) {
    answerWith(status, envelope('VALIDATION_ERROR'));
    expect((await sendRequest(legacy.url, 'GET', read, { headers: legacy.asKey })).status).toBe(status);
  }
});

test('A-060 a refusal too long to be read gets the old status of the code at its front', async () => {
  const items = Array.from({ length: 5_000 }, (_, index) => ({
    pointer: `/products/${index}`,
    code: 'DUPLICATE',
    message: 'x',
  }));
  for (const [code, own, old] of [
    ['IMPORT_ERROR', 422, 200],
    ['CONFLICT', 409, 409],
  ] as const) {
    const body = envelope(code, { errors: items });
    answerWith(own, body);
    const answer = await sendRequest(legacy.url, 'GET', read, { headers: legacy.asKey });
    expect([answer.status, answer.text === body]).toEqual([old, true]);
    expect((await sendRequest(legacy.url, 'GET', read, { headers: legacy.asBearer })).status).toBe(own);
  }
});

test('A-060 success and the paths of other protocols are what they are', async () => {
  answerWith(201, '{"success":true}');
  expect((await sendRequest(legacy.url, 'GET', read, { headers: legacy.asKey })).status).toBe(201);
  expect((await sendRequest(legacy.url, 'GET', '/api/oauth/unknown')).status).toBe(404);
  expect((await sendRequest(legacy.url, 'GET', '/.well-known/unknown')).status).toBe(404);
  const token = await sendRequest(legacy.url, 'POST', '/api/oauth/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials&client_id=a&client_secret=b',
  });
  expect(token.status).toBe(401);
});

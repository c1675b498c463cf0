/** Refusals of a service whose `missing_scopes` has no scope at all, in each dialect, at /mcp and among the denials. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type Headers, plainChallenge, sendRequest } from '../harness/public-door.ts';
import { callOf, type McpDoor, openMcpDoor, post } from '../mcp/mcp-door.ts';

let door: McpDoor;

beforeAll(async () => {
  door = await openMcpDoor();
});

afterAll(() => door?.closeAll());

const problem = { accept: 'application/problem+json' };
const path = '/api/orders/list';
const get = (headers: Headers, target = path) => sendRequest(door.url, 'GET', target, { headers });

/** None of them has a scope token of RFC 6749. */
const unusable: [string, unknown][] = [
  ['a quotation mark that would end the parameter', ['x", error="invalid_token']],
  ['characters that no header has', ['日本']],
  ['a line break', ['x\r\nx-injected: 1']],
  ['U+0000', ['\u0000']],
  ['half a surrogate pair', ['\ud800']],
  ['two words', ['read:orders write:orders']],
  ['no text', [7, null, { scope: 'x' }, ['x']]],
  ['a text', 'x", error="invalid_token'],
];

/** An envelope of this interface, as the service writes it. */
const answerEnvelope = (missing: unknown, status = 403): string => {
  const text = JSON.stringify({
    success: false,
    error: 'INSUFFICIENT_SCOPE',
    message: 'Not for you',
    missing_scopes: missing,
    order: { uid: 'ord_1' },
    request_id: 'up_1',
  });
  door.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };
  return text;
};

test.each(unusable)('A-630 missing_scopes without one scope demands none of a caller: %s', async (_name, missing) => {
  const text = answerEnvelope(missing);
  const bearer = await get(door.asBearer);
  expect([bearer.status, bearer.json.error, bearer.json.code, bearer.json.missing_scopes]).toEqual([
    403,
    'insufficient_scope',
    'INSUFFICIENT_SCOPE',
    undefined,
  ]);
  const resource = plainChallenge.slice(plainChallenge.indexOf('resource_metadata='));
  expect(bearer.headers['www-authenticate']).toBe(
    `Bearer realm="orderpass", error="insufficient_scope", error_description="Not for you", ${resource}`,
  );
  expect(bearer.headers['x-injected']).toBeUndefined();
  const asProblem = await get({ ...door.asKey, ...problem });
  expect([asProblem.status, asProblem.json.missing_scopes, asProblem.json.order]).toEqual([
    403,
    undefined,
    { uid: 'ord_1' },
  ]);
  // An envelope stays as it is: a replayed answer is equal to the first one.
  const asEnvelope = await get(door.asKey);
  expect([asEnvelope.status, asEnvelope.text, asEnvelope.headers['www-authenticate']]).toEqual([403, text, undefined]);
  const called = await post(door.url, door.asKey, callOf('orders_list'));
  expect([called.status, called.headers['www-authenticate'], called.json.result.isError]).toEqual([
    200,
    undefined,
    true,
  ]);
});

test('A-630 one scope among others that are none is the one that is demanded, at /mcp too', async () => {
  answerEnvelope(['x", error="invalid_token', '\u0000', 'read:orders']);
  for (const reply of [await get(door.asBearer), await post(door.url, door.asKey, callOf('orders_list'))]) {
    expect([reply.status, reply.json.missing_scopes]).toEqual([403, ['read:orders']]);
    expect(reply.headers['www-authenticate']).toContain(', scope="read:orders", resource_metadata=');
    expect(reply.headers['www-authenticate']).not.toContain('invalid_token');
  }
});

test('A-630 such a refusal is found among the denials, and those of other callers beside it are too', async () => {
  const other = await door.clientWith(['read:menu', 'read:account']);
  answerEnvelope(['\u0000', '\ud800', 'read:orders\u0000']);
  const caller = await door.clientWith(['read:orders', 'read:account']);
  // They are written together.
  const refused = await Promise.all([other, caller, other, caller, other].map((headers) => get(headers)));
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
  const ids = refused.map(({ headers }) => String(headers['x-request-id']));
  await until(async () => {
    const { rows } = await sql`select from gateway.denials where request_id = any(${ids}::text[])`.execute(
      door.database.db,
    );
    return rows.length === ids.length;
  });
  for (const [index, id] of ids.entries()) {
    const { status, json } = await get(index % 2 === 0 ? other : caller, `/api/whoami/denials/${id}`);
    expect([status, json.denial?.reason, json.denial?.missing_scopes]).toEqual([
      200,
      'scope_missing',
      index % 2 === 0 ? ['read:orders'] : [],
    ]);
  }
});

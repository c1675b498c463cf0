/** Faults on request (interface 25.2). */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let asKey: Headers;
let asClient: Headers;
let asBearer: Headers;

beforeAll(async () => {
  harness = await openHarness();
  const { credentials } = harness;
  await credentials.createTenant('rst_test_1');
  asKey = { 'x-api-key': (await credentials.createApiKey({ tenant: 'rst_test_1', name: 'Till' })).value };
  const client = await harness.createClient(['rst_test_1']);
  asClient = clientHeaders(client);
  asBearer = bearer(await tokenOf(harness.url, client));
});

afterAll(() => harness.close());

const simulate = (fault: string, headers: Headers, more: Headers = {}): Promise<Reply> =>
  sendRequest(harness.url, 'GET', read, { headers: { ...headers, ...more, 'x-orderpass-simulate': fault } });

const received = (): number => harness.upstream.seen.length;

test('A-302 each fault is answered as the real one, in the dialect of its caller, and does not reach the service', async () => {
  const before = received();
  const limited = await simulate('rate_limited', asClient);
  expect([limited.status, limited.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  expect(Number(limited.headers['retry-after'])).toBe(limited.json.retry_after);
  expect(limited.headers['ratelimit-policy']).toMatch(/^"minute";q=\d+;w=60, "burst";q=\d+;w=1$/);
  // The rest of the second is rounded up, and a busy process may begin the next one.
  expect(limited.headers.ratelimit).toMatch(/"burst";r=0;t=[12]$/);
  for (const fault of ['overloaded', 'maintenance']) {
    const { status, json, headers } = await simulate(fault, asKey);
    expect([status, json.error, Number(headers['retry-after']) > 0]).toEqual([503, 'OVERLOADED', true]);
  }
  expect((await simulate('unreachable', asKey)).json.error).toBe('UPSTREAM_UNREACHABLE');
  expect((await simulate('internal_error', asBearer)).status).toBe(500);
  const codes = [asKey, asClient, asBearer].map(async (headers) => {
    const { status, json } = await simulate('unauthorized', headers);
    return [status, json.error, json.code];
  });
  expect(await Promise.all(codes)).toEqual([
    [401, 'INVALID_KEY', undefined],
    [401, 'INVALID_AUTH', undefined],
    [401, 'invalid_token', 'INVALID_AUTH'],
  ]);
  const problem = await simulate('overloaded', asKey, { accept: 'application/problem+json' });
  expect([problem.headers['content-type'], problem.json.code]).toEqual(['application/problem+json', 'OVERLOADED']);
  expect(received()).toBe(before);
});

test('A-302 a timeout waits and is 504; slow waits and is answered by the service', async () => {
  const started = performance.now();
  const [late, slow] = await Promise.all([simulate('timeout', asKey), simulate('slow', asKey)]);
  expect([late.status, late.json.error, slow.status]).toEqual([504, 'UPSTREAM_TIMEOUT', 200]);
  expect(performance.now() - started).toBeGreaterThan(4_900);
  expect(harness.upstream.seen.at(-1)?.headers['x-orderpass-simulate']).toBeUndefined();
});

test('A-303 with a credential of a real restaurant the header is refused, and so is an unknown or repeated fault', async () => {
  const before = received();
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant]);
  const key = await harness.credentials.createApiKey({ tenant, name: 'Till' });
  for (const headers of [{ 'x-api-key': key.value }, clientHeaders(client)]) {
    const { status, json } = await simulate('slow', headers);
    expect([status, json.error, json.errors[0].pointer, json.errors[0].code]).toEqual([
      400,
      'VALIDATION_ERROR',
      'X-Orderpass-Simulate',
      'SANDBOX_ONLY',
    ]);
  }
  const token = await simulate('overloaded', bearer(await tokenOf(harness.url, client)));
  expect([token.status, token.json.error, token.json.errors[0].code]).toEqual([400, 'invalid_request', 'SANDBOX_ONLY']);
  for (const fault of ['fire', 'toString', 'overloaded, overloaded', '']) {
    const { status, json } = await simulate(fault, asKey);
    expect([fault, status, json.errors[0].code]).toEqual([fault, 400, 'ENUM']);
  }
  expect(received()).toBe(before);
});

test('A-302 simulated faults are in the audit as simulated, and denials have that reason', async () => {
  const { headers } = await simulate('unauthorized', asKey);
  const requestId = String(headers['x-request-id']);
  const { rows } = await sql<{ action: string; outcome: string; reason: string }>`
    select action, outcome, reason from gateway.audit_events where ${requestId} = any (request_ids)`.execute(
    harness.database.db,
  );
  expect(rows).toEqual([{ action: 'request.simulated', outcome: 'success', reason: 'unauthorized' }]);
  await until(async () => {
    const target = `/api/whoami/denials/${requestId}`;
    const { json } = await sendRequest(harness.url, 'GET', target, { headers: asKey });
    return json.denial?.reason === 'simulated';
  });
});

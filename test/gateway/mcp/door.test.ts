import { once } from 'node:events';
import { connect as dial } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '#src/platform/telemetry/metrics.ts';
import { makeProof, newProofKey } from '../../support/proofs.ts';
import { until } from '../../support/until.ts';
import { openDoor, origin, plainChallenge, sendRequest } from '../harness/public-door.ts';
import { callOf, jsonType, listMessage, type McpDoor, openMcpDoor, post, textOf } from './mcp-door.ts';

let door: McpDoor;

beforeAll(async () => {
  door = await openMcpDoor({ settings: { mcp_origins: ['https://tools.example'] } });
});

afterAll(() => door?.closeAll());

beforeEach(() => {
  door.upstream.seen.length = 0;
});

const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;

test('A-312 a message without a credential is 401, and its challenge leads to the metadata of /mcp', async () => {
  const reply = await post(door.url, {}, listMessage);
  expect([reply.status, reply.json.error]).toEqual([401, 'INVALID_AUTH']);
  expect(reply.headers['www-authenticate']).toBe(`Bearer realm="orderpass", resource_metadata="${metadata}"`);
  const found = await sendRequest(door.url, 'GET', '/.well-known/oauth-protected-resource/mcp');
  expect(found.json).toEqual({
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
    bearer_methods_supported: ['header'],
    authorization_details_types_supported: ['orderpass_access'],
  });
  const server = await sendRequest(door.url, 'GET', '/.well-known/oauth-authorization-server');
  expect(server.json.token_endpoint).toBe(`${origin}/api/oauth/token`);
  const authorize = String(server.json.authorization_endpoint).slice(origin.length);
  const refused = await sendRequest(door.url, 'GET', `${authorize}?response_type=code&client_id=x`);
  expect([refused.status, refused.json.error]).toEqual([400, 'unauthorized_client']);
  const wrong = await post(door.url, door.asExpired, callOf('orders_list'));
  expect(wrong.status).toBe(401);
  expect(wrong.headers['www-authenticate']).toMatch(/error="invalid_token".*oauth-protected-resource\/mcp"$/);
  const twice = await post(door.url, { ...door.asKey, ...door.asClient }, listMessage);
  expect([twice.status, twice.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(door.upstream.seen).toEqual([]);
});

test('A-705 a client that leaves before the end of its message is no failure of the store', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics({ process: false });
  const watched = await openMcpDoor({ log, metrics });
  onTestFinished(() => watched.closeAll());
  const client = dial(watched.port, '127.0.0.1').on('error', () => undefined);
  client.write(
    `POST /mcp HTTP/1.1\r\nHost: api.example\r\nX-Request-Id: left\r\nX-Api-Key: ${watched.asKey['x-api-key']}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`,
  );
  await once(client, 'data');
  client.write('{"a"');
  client.resetAndDestroy();
  await until(() => lines.some(({ request_id, msg }) => request_id === 'left' && msg === 'request'));
  const counts = /^orderpass_refusals_total\{code="(\w+)"\} [1-9]/gm;
  const codes = async () => [...(await metrics.render()).text.matchAll(counts)].map(([, code]) => code);
  await until(async () => (await codes()).length > 0);
  expect(await codes()).toEqual(['REQUEST_TIMEOUT']);
  expect(lines.filter(({ msg }) => msg !== 'request')).toEqual([]);
});

test('A-312 the token endpoint gives tokens for the resource /mcp, and elsewhere nothing changes', async () => {
  const tokenFor = (resource: string) =>
    sendRequest(door.url, 'POST', '/api/oauth/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: door.asClient['x-client-id'] ?? '',
        client_secret: door.asClient['x-client-secret'] ?? '',
        resource,
      }).toString(),
    });
  const { json } = await tokenFor(`${origin}/mcp`);
  const listed = await post(door.url, { authorization: `Bearer ${json.access_token}` }, listMessage);
  expect(listed.json.result.tools.length).toBeGreaterThan(30);
  expect((await tokenFor(`${origin}/mcp/x`)).json.error).toBe('invalid_target');
  const api = await sendRequest(door.url, 'GET', '/api/orders/list');
  expect(api.headers['www-authenticate']).toBe(plainChallenge);
});

test('A-311 a call without the scope of its operation is 403 with the missing scope, for each kind of credential', async () => {
  const cases = [await door.bearerWith(['read:menu']), await door.clientWith(['read:menu'])];
  for (const headers of cases) {
    const reply = await post(door.url, headers, callOf('orders_list'));
    expect(reply.status).toBe(403);
    expect(reply.headers['www-authenticate']).toContain('error="insufficient_scope"');
    expect(reply.headers['www-authenticate']).toContain(`scope="read:orders", resource_metadata="${metadata}"`);
    expect(reply.json).toMatchObject({ error: 'insufficient_scope', missing_scopes: ['read:orders'] });
    const why = await sendRequest(door.url, 'GET', `/api/whoami/denials/${reply.headers['x-request-id']}`, { headers });
    expect(why.json.denial).toMatchObject({ path: '/api/orders/list', code: 'INSUFFICIENT_SCOPE' });
  }
  const ofKey = await post(door.url, door.asKey, callOf('order_create'));
  expect(ofKey.headers['www-authenticate']).toContain('scope="write:orders"');
  expect(door.upstream.seen).toEqual([]);
});

test('A-751 a tool call has the credential of its message also where an empty field of the same name stands before it', async () => {
  for (const credential of [door.asKey, door.asClient, door.asBearer]) {
    const fields = Object.entries({ host: new URL(door.url).host, ...jsonType, ...credential });
    const headers = [...Object.keys(credential).map((name) => [name, '']), ...fields].flat();
    const send = (message: unknown) =>
      sendRequest(door.url, 'POST', '/mcp', { headers, body: JSON.stringify(message) });
    expect((await send(listMessage)).status).toBe(200);
    const called = await send(callOf('whoami'));
    expect([Object.keys(credential), called.status]).toEqual([Object.keys(credential), 200]);
    expect(called.json.result.isError).toBe(false);
  }
});

test('A-313 a key that is revoked in the middle of a connection is refused at the next call', async () => {
  const other = await openMcpDoor();
  try {
    const before = await post(other.url, other.asKey, callOf('whoami'));
    expect(before.json.result.isError).toBe(false);
    await other.revokeKey();
    await expect.poll(async () => (await post(other.url, other.asKey, callOf('whoami'))).status).toBe(401);
    const refused = await post(other.url, other.asKey, callOf('whoami'));
    expect(refused.headers['www-authenticate']).toContain(metadata);
  } finally {
    await other.closeAll();
  }
});

test('A-316 other origins and other hosts are refused before the credential is read', async () => {
  const hostOf = new URL(door.url).host;
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await post(door.url, { ...door.asClient, ...headers }, listMessage)).status;
  expect(await statusOf({ origin: 'https://evil.example' })).toBe(403);
  expect(await statusOf({ origin: 'null' })).toBe(403);
  expect(await statusOf({ origin: 'https://tools.example.evil.example' })).toBe(403);
  expect(await statusOf({ origin: 'http://tools.example' })).toBe(403);
  expect(await statusOf({ host: 'evil.example' })).toBe(403);
  expect(await statusOf({ host: 'localhost.evil.example' })).toBe(403);
  for (const allowed of [origin, 'https://tools.example', 'http://localhost:6274', 'http://127.0.0.1:1'])
    expect(await statusOf({ origin: allowed })).toBe(200);
  for (const allowed of ['api.example', 'tools.example:443', 'localhost:1', '[::1]:1', hostOf])
    expect(await statusOf({ host: allowed })).toBe(200);
  const refused = await post(door.url, { origin: 'https://evil.example' }, listMessage);
  expect([refused.status, refused.json.error.code]).toEqual([403, -32_000]);
  expect(refused.headers['www-authenticate']).toBeUndefined();
});

test('A-317 a batch, broken JSON, a member twice and a body beyond 1 MiB are refused', async () => {
  const codeOf = async (body: unknown): Promise<[number, number]> => {
    const { status, json } = await post(door.url, door.asClient, body);
    return [status, json.error.code];
  };
  expect(await codeOf([listMessage])).toEqual([400, -32_600]);
  expect(await codeOf('')).toEqual([400, -32_600]);
  expect(await codeOf('"text"')).toEqual([400, -32_600]);
  expect(await codeOf('{"jsonrpc":')).toEqual([400, -32_700]);
  expect(await codeOf('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')).toEqual([400, -32_600]);
  expect((await codeOf({ no: 'message' }))[0]).toBe(400);
  const long = await post(door.url, door.asClient, { ...listMessage, params: { x: 'y'.repeat(1024 * 1024) } });
  expect([long.status, long.json.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  const form = await sendRequest(door.url, 'POST', '/mcp', {
    headers: { ...door.asClient, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'a=b',
  });
  expect(form.status).toBe(415);
  expect(door.upstream.seen).toEqual([]);
});

test('A-318 only POST is served; revisions that the server does not know are refused', async () => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const reply = await sendRequest(door.url, method, '/mcp', { headers: { ...jsonType, ...door.asClient } });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
  }
  const options = await sendRequest(door.url, 'OPTIONS', '/mcp');
  expect([options.status, options.headers.allow]).toEqual([204, 'POST']);
  const revision = (version: string) =>
    post(door.url, { ...door.asClient, 'mcp-protocol-version': version }, listMessage);
  expect((await revision('2025-06-18')).status).toBe(200);
  expect((await revision('1999-01-01')).status).toBe(400);
  const accept = await post(door.url, { ...door.asClient, accept: 'text/html' }, listMessage);
  expect(accept.status).toBe(406);
  const started = await post(door.url, door.asClient, { jsonrpc: '2.0', method: 'notifications/initialized' });
  expect([started.status, started.text]).toEqual([202, '']);
  const listen = await post(
    door.url,
    { ...door.asClient, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  );
  expect(listen.json.error).toBeDefined();
});

test('A-314 each message costs one unit: a tool call those of its operation, every other message one', async () => {
  const limited = await openMcpDoor({ settings: { rate_minute_units: 20, rate_burst_units: 1_000 } });
  try {
    const leftOf = async (message: unknown, headers = limited.asKey): Promise<number> => {
      const reply = await post(limited.url, headers, message);
      return Number(/"minute";r=(\d+)/.exec(String(reply.headers.ratelimit))?.[1]);
    };
    expect(await leftOf(listMessage)).toBe(19);
    expect(await leftOf(callOf('orders_list'))).toBe(18);
    expect(await leftOf(callOf('customer_create'))).toBe(16);
    // No request of the API came of it, so it costs what any other message costs.
    expect(await leftOf(callOf('customer_create', { no_such_argument: 1 }))).toBe(15);
    expect(await leftOf(callOf('no_such_tool'))).toBe(14);
    expect(await leftOf('no JSON')).toBe(13);
    expect(limited.upstream.seen).toHaveLength(2);
    for (let left = 12; left >= 0; left -= 1) expect(await leftOf(callOf('orders_list'))).toBe(left);
    const call = await post(limited.url, limited.asKey, callOf('orders_list'));
    expect([call.status, call.json.result.isError]).toEqual([200, true]);
    expect(JSON.parse(textOf(call.json.result))).toMatchObject({ error: 'RATE_LIMIT_EXCEEDED' });
    expect(JSON.parse(textOf(call.json.result)).retry_after).toBeGreaterThan(0);
    const list = await post(limited.url, limited.asKey, listMessage);
    expect([list.status, list.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(Number(list.headers['retry-after'])).toBeGreaterThan(0);
  } finally {
    await limited.closeAll();
  }
});

test('A-319 without the setting the path does not exist, and a route may have it', async () => {
  const off = await openDoor(door.upstream.url, {
    moreRoutes: [{ id: 'own.mcp', method: 'POST', path: '/mcp', scopes: [], upstream: 'ordering', body: 'any' }],
  });
  try {
    const own = await post(off.url, off.asClient, listMessage);
    expect([own.status, door.upstream.seen.at(-1)?.target]).toEqual([200, '/mcp']);
    const none = await sendRequest(off.url, 'GET', '/.well-known/oauth-protected-resource/mcp');
    expect(none.status).toBe(404);
  } finally {
    await off.close();
  }
  const plain = await openDoor(door.upstream.url);
  try {
    const { status, json } = await post(plain.url, plain.asClient, listMessage);
    expect([status, json.error]).toEqual([404, 'INVALID_ACTION']);
  } finally {
    await plain.close();
  }
});

test('A-313 a token bound to a key needs one proof for each tool call, made for /mcp, and a second use is refused', async () => {
  const bound = await openMcpDoor({ settings: { dpop: 'on' } });
  try {
    const key = newProofKey();
    const proofFor = (path: string, token?: string) =>
      makeProof(key, { method: 'POST', url: `${origin}${path}`, now: new Date(), ...(token && { token }) });
    const issued = await sendRequest(bound.url, 'POST', '/api/oauth/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded', dpop: await proofFor('/api/oauth/token') },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: bound.asClient['x-client-id'] ?? '',
        client_secret: bound.asClient['x-client-secret'] ?? '',
      }).toString(),
    });
    expect(issued.json.token_type).toBe('DPoP');
    const authorization = `DPoP ${issued.json.access_token}`;
    const dpop = await proofFor('/mcp', issued.json.access_token);
    const called = await post(bound.url, { authorization, dpop }, callOf('whoami'));
    expect([called.status, called.json.result.isError]).toEqual([200, false]);
    expect((await post(bound.url, { authorization, dpop }, callOf('whoami'))).status).toBe(401);
    const foreign = await proofFor('/api/whoami', issued.json.access_token);
    expect((await post(bound.url, { authorization, dpop: foreign }, callOf('whoami'))).status).toBe(401);
    const bearer = { authorization: `Bearer ${issued.json.access_token}` };
    expect((await post(bound.url, bearer, callOf('whoami'))).status).toBe(401);
  } finally {
    await bound.closeAll();
  }
});

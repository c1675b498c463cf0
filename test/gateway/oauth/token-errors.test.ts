import { afterAll, beforeAll, expect, test } from 'vitest';
import { newClientId, newClientSecret } from '#src/gateway/model/credential-values.ts';
import { basic, type Harness, openHarness, pick, postToken, withoutRequestId } from '../harness/gateway-harness.ts';
import { type Reply, sendRaw, sendRequest } from '../harness/public-door.ts';
import { openStoreLine } from '../harness/store-line.ts';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };
const grant = { grant_type: 'client_credentials' };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant]));
});

afterAll(() => harness.close());

const expectRefusal = (reply: Reply, status: number, error: string): void => {
  expect([reply.status, reply.json?.error]).toEqual([status, error]);
  const { errors, ...members } = reply.json;
  expect(Object.keys(members)).toEqual(['error', 'error_description', 'error_uri', 'code', 'request_id']);
  if (errors !== undefined) expect(Object.keys(errors[0])).toEqual(['pointer', 'code', 'message']);
  expect(reply.json.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(reply.json.error_uri).toBe(`${harness.url}/docs/errors#${error}`);
  expect(reply.json.request_id).toBe(reply.headers['x-request-id']);
  expect(reply.headers['cache-control']).toBe('no-store');
  expect(reply.headers['content-type']).toMatch(/^application\/json/);
};

test('A-034 grant_type missing is invalid_request; any other grant is unsupported, before the client is looked at', async () => {
  expectRefusal(await postToken(harness.url, client), 400, 'invalid_request');
  expectRefusal(await postToken(harness.url, { ...client, grant_type: '' }), 400, 'invalid_request');
  for (const grant_type of ['password', 'authorization_code', 'refresh_token', 'CLIENT_CREDENTIALS', 'implicit']) {
    expectRefusal(await postToken(harness.url, { ...client, grant_type }), 400, 'unsupported_grant_type');
    expectRefusal(await postToken(harness.url, { grant_type, scope: '"' }), 400, 'unsupported_grant_type');
    expectRefusal(await postToken(harness.url, { grant_type }, basic('x', 'y')), 400, 'unsupported_grant_type');
  }
});

test('F-32 A-035 no client authentication, half of one or another scheme is invalid_client, with a challenge for a header', async () => {
  const { client_id, client_secret } = client;
  const forms = [{}, { client_id }, { client_secret }, { client_id, client_secret: '' }];
  const headers = [
    basic(client_id, ''),
    basic('', client_secret),
    ...['Bearer abc', 'Bearer', 'Digest username="x"', 'DPoP abc', 'basicx abc'].map((authorization) => ({
      authorization,
    })),
  ];
  for (const endpoint of ['token', 'revoke', 'introspect']) {
    const path = `/api/oauth/${endpoint}`;
    for (const form of forms) {
      const reply = await postToken(harness.url, { ...grant, token: 'x', ...form }, {}, path);
      expectRefusal(reply, 401, 'invalid_client');
      expect(reply.headers['www-authenticate']).toBeUndefined();
    }
    for (const header of headers) {
      const reply = await postToken(harness.url, { ...grant, token: 'x' }, header, path);
      expectRefusal(reply, 401, 'invalid_client');
      expect(reply.headers['www-authenticate']).toBe('Basic realm="orderpass"');
    }
    // What cannot be read at all stays a malformed request.
    for (const authorization of ['Basic not-base64!', 'Basic', `Basic ${Buffer.from('nocolon').toString('base64')}`])
      expectRefusal(
        await postToken(harness.url, { ...grant, token: 'x' }, { authorization }, path),
        400,
        'invalid_request',
      );
  }
});

test('F-32 requests without client authentication use up no failures of the client that they name', async () => {
  const door = await harness.openDoor({ settings: { rate_failures_max: 3 } });
  const { client_id } = client;
  for (let count = 0; count < 8; count += 1) {
    expectRefusal(await postToken(door.url, { ...grant, client_id }), 401, 'invalid_client');
    expectRefusal(await postToken(door.url, grant), 401, 'invalid_client');
  }
  expect((await postToken(door.url, { ...grant, ...client })).status).toBe(200);
  // The budget itself holds.
  for (let count = 0; count < 3; count += 1) {
    expectRefusal(await postToken(door.url, { ...grant, client_id, client_secret: 'x' }), 401, 'invalid_client');
  }
  expect((await postToken(door.url, { ...grant, client_id, client_secret: 'x' })).status).toBe(429);
  await door.close();
});

test('F-47 errors of the OAuth endpoints name the code of the interface and the field', async () => {
  const cases: [Promise<Reply>, string, string, string | undefined, string | undefined][] = [
    [postToken(harness.url, client), 'invalid_request', 'MISSING_PARAMETER', 'grant_type', 'REQUIRED'],
    [
      postToken(harness.url, { ...client, grant_type: 'x' }),
      'unsupported_grant_type',
      'VALIDATION_ERROR',
      'grant_type',
      'ENUM',
    ],
    [
      postToken(harness.url, { ...grant, ...client, scope: 'no:such' }),
      'invalid_scope',
      'VALIDATION_ERROR',
      'scope',
      'ENUM',
    ],
    [
      postToken(harness.url, { ...grant, ...client, resource: 'https://x' }),
      'invalid_target',
      'VALIDATION_ERROR',
      'resource',
      'ENUM',
    ],
    [
      postToken(harness.url, [...Object.entries({ ...grant, ...client }), ['scope', 'a'], ['scope', 'a']]),
      'invalid_request',
      'VALIDATION_ERROR',
      'scope',
      'DUPLICATE',
    ],
    [
      postToken(harness.url, { ...grant, ...client, client_secret: 'x' }),
      'invalid_client',
      'INVALID_AUTH',
      undefined,
      undefined,
    ],
    [
      postToken(harness.url, client, {}, '/api/oauth/revoke'),
      'invalid_request',
      'MISSING_PARAMETER',
      'token',
      'REQUIRED',
    ],
    [
      postToken(harness.url, { ...client, token: 'x' }, {}, '/api/oauth/introspect'),
      'unauthorized_client',
      'UNAUTHORIZED',
      undefined,
      undefined,
    ],
    [
      sendRequest(harness.url, 'GET', '/api/oauth/token'),
      'invalid_request',
      'METHOD_NOT_ALLOWED',
      undefined,
      undefined,
    ],
  ];
  for (const [answer, error, code, pointer, detail] of cases) {
    const { json } = await answer;
    expect([json.error, json.code, json.errors?.[0]?.pointer, json.errors?.[0]?.code]).toEqual([
      error,
      code,
      pointer,
      detail,
    ]);
  }
});

test('A-036 unknown client, wrong secret and disabled client get one answer, with a Basic challenge for Basic', async () => {
  const disabled = await harness.createClient([tenant]);
  await harness.credentials.disableClient(disabled.client_id);
  const wrong = newClientSecret().value;
  const tries = [
    { client_id: newClientId(), client_secret: wrong },
    { client_id: 'unknown', client_secret: wrong },
    { client_id: 'nul\u0000', client_secret: wrong },
    { client_id: client.client_id, client_secret: wrong },
    { client_id: client.client_id, client_secret: 'x' },
    pick(disabled),
  ];
  const byForm = [];
  for (const one of tries) byForm.push(await postToken(harness.url, { ...grant, ...one }));
  for (const reply of byForm) {
    expectRefusal(reply, 401, 'invalid_client');
    expect(reply.headers['www-authenticate']).toBeUndefined();
    expect(withoutRequestId(reply)).toEqual(withoutRequestId(byForm[0] as Reply));
  }
  for (const { client_id, client_secret } of tries.filter((one) => !one.client_id.includes('\u0000'))) {
    const reply = await postToken(harness.url, grant, basic(client_id, client_secret));
    expectRefusal(reply, 401, 'invalid_client');
    expect(reply.headers['www-authenticate']).toBe('Basic realm="orderpass"');
    expect(withoutRequestId(reply)).toEqual(withoutRequestId(byForm[0] as Reply));
  }
});

test('A-037 other content types, query parameters, repeated parameters and two methods are invalid_request', async () => {
  const json = { 'content-type': 'application/json' };
  expectRefusal(await postToken(harness.url, JSON.stringify({ ...grant, ...client }), json), 400, 'invalid_request');
  expectRefusal(await sendRequest(harness.url, 'POST', '/api/oauth/token'), 400, 'invalid_request');
  const query = `/api/oauth/token?${new URLSearchParams({ ...grant, ...client })}`;
  expectRefusal(await postToken(harness.url, '', {}, query), 400, 'invalid_request');
  expectRefusal(
    await postToken(harness.url, { ...grant, ...client }, {}, '/api/oauth/token?scope='),
    400,
    'invalid_request',
  );
  for (const name of ['scope', 'client_id', 'client_secret', 'grant_type', 'resource']) {
    const pairs = Object.entries({ scope: 'read:orders', resource: harness.url, ...grant, ...client });
    const again = pairs.find(([known]) => known === name) ?? [name, 'x'];
    expectRefusal(await postToken(harness.url, [...pairs, again]), 400, 'invalid_request');
  }
  const header = basic(client.client_id, client.client_secret);
  expectRefusal(await postToken(harness.url, { ...grant, ...client }, header), 400, 'invalid_request');
  expectRefusal(
    await postToken(harness.url, { ...grant, ...client }, { 'content-encoding': 'gzip' }),
    400,
    'invalid_request',
  );
});

test('malformed Basic headers are invalid_request', async () => {
  const id = Buffer.from(client.client_id).toString('base64');
  for (const authorization of [
    'Basic',
    'Basic !!!',
    `Basic ${id}`,
    'Basic a b',
    basic('%zz', 'x').authorization ?? '',
  ]) {
    expectRefusal(await postToken(harness.url, grant, { authorization }), 400, 'invalid_request');
  }
});

test('two Authorization headers are refused whichever of them is right', async () => {
  const { authorization } = basic(client.client_id, client.client_secret);
  const body = new URLSearchParams(grant).toString();
  const answer = await sendRaw(
    Number(new URL(harness.url).port),
    [
      'POST /api/oauth/token HTTP/1.1',
      'Host: x',
      'Connection: close',
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
      `Authorization: ${authorization}`,
      'Authorization: Basic eDp5',
      '',
      body,
    ].join('\r\n'),
  );
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain('"error":"invalid_request"');
});

test('A-039 nothing left of the grant is invalid_grant; a client without the token right is unauthorized_client', async () => {
  const own = await harness.createTenant();
  const withdrawn = await harness.createClient([own]);
  await harness.credentials.withdrawTenant(withdrawn.client_id, own);
  expectRefusal(await postToken(harness.url, { ...grant, ...pick(withdrawn) }), 400, 'invalid_grant');
  const left = await harness.createClient([own]);
  await harness.credentials.removeTenant(own);
  expectRefusal(await postToken(harness.url, { ...grant, ...pick(left) }), 400, 'invalid_grant');

  const without = await harness.createClient([tenant]);
  await harness.credentials.setClientMayUseTokens(without.client_id, false);
  expectRefusal(await postToken(harness.url, { ...grant, ...pick(without) }), 400, 'unauthorized_client');
  expectRefusal(
    await postToken(harness.url, { ...grant, ...pick(without), client_secret: 'wrong' }),
    401,
    'invalid_client',
  );
});

test('A-041 Accept changes nothing; other methods get 405 with Allow in the OAuth shape', async () => {
  const accept = { accept: 'application/problem+json' };
  expectRefusal(
    await postToken(harness.url, { ...grant, ...client, client_secret: 'x' }, accept),
    401,
    'invalid_client',
  );
  expectRefusal(
    await postToken(
      harness.url,
      { ...grant, ...client, client_secret: 'x' },
      { accept: 'text/html', origin: 'https://x.example' },
    ),
    401,
    'invalid_client',
  );
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const reply = await sendRequest(harness.url, method, '/api/oauth/token');
    expectRefusal(reply, 405, 'invalid_request');
    expect(reply.headers.allow).toBe('POST');
  }
});

test('a form over 64 KiB is 413 in the OAuth shape, declared or chunked', async () => {
  const body = `${new URLSearchParams({ ...grant, ...client })}&x=${'y'.repeat(64 * 1024)}`;
  expectRefusal(await postToken(harness.url, body), 413, 'invalid_request');
  expectRefusal(await postToken(harness.url, body, { 'transfer-encoding': 'chunked' }), 413, 'invalid_request');
  const fits = `${new URLSearchParams({ ...grant, ...client })}&x=`.padEnd(64 * 1024, 'y');
  expect((await postToken(harness.url, fits)).status).toBe(200);
  expect((await postToken(harness.url, fits, { 'transfer-encoding': 'chunked' })).status).toBe(200);
});

test('a form whose head announces no body is refused at once as an empty one, and the connection goes on', async () => {
  const port = Number(new URL(harness.url).port);
  const form = 'host: x\r\ncontent-type: application/x-www-form-urlencoded';
  const answer = await sendRaw(
    port,
    `POST /api/oauth/token HTTP/1.1\r\n${form}\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
  );
  expect(answer).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request"[\s\S]*HTTP\/1\.1 200 OK[\s\S]*"status":"ok"/,
  );
});

test('a store that is away is temporarily_unavailable with Retry-After', async () => {
  const line = await openStoreLine(harness.database.url);
  const door = await harness.openDoor({ pool: line.pool });
  try {
    expect((await postToken(door.url, { ...grant, ...client })).status).toBe(200);
    await line.cut();
    await expect.poll(async () => (await postToken(door.url, { ...grant, ...client })).status).toBe(503);
    const away = await postToken(door.url, { ...grant, ...client });
    expectRefusal(away, 503, 'temporarily_unavailable');
    expect(away.headers['retry-after']).toBe('2');
  } finally {
    await door.close();
    await line.close();
  }
});

test('a fault inside is server_error and tells nothing', async () => {
  const { pool } = harness.database;
  const unseen = { client_id: newClientId(), client_secret: newClientSecret().value };
  await pool.query('alter table gateway.clients rename to clients_away');
  const fault = await postToken(harness.url, { ...grant, ...unseen });
  await pool.query('alter table gateway.clients_away rename to clients');
  expectRefusal(fault, 500, 'server_error');
  expect(fault.text).not.toMatch(/clients|relation|select|stack/i);
  expectRefusal(await postToken(harness.url, { ...grant, ...unseen }), 401, 'invalid_client');
});

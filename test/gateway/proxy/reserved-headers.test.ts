import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAssertionVerifier } from '#src/contract/assertion.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import {
  masterKey,
  openDoor,
  type PublicDoor,
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

beforeEach(() => {
  upstream.seen.length = 0;
});

const key = createSecretBox(masterKey).derive('assertion/ordering');
const verify = createAssertionVerifier({ key, audience: 'ordering', now: Date.now });

const last = () => {
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error('nothing reached the upstream');
  return seen;
};

const assertionOf = ({ headers }: ReturnType<typeof last>): string => String(headers['x-orderpass-assertion']);

test('the upstream learns who calls from a signed assertion for this method and target only', async () => {
  const cases = [
    [door.asKey, 'api_key', /^opk_/],
    [door.asClient, 'api_client', /^opc_/],
    [door.asBearer, 'bearer', /^opc_/],
  ] as const;
  for (const [headers, kind, id] of cases) {
    for (const [method, target] of [
      ['GET', '/api/orders/list?page=2'],
      ['HEAD', '/api/orders/list?page=2'],
      ['POST', '/api/customer/create?x=1'],
    ] as const) {
      await sendRequest(door.url, method, target, { headers });
      const caller = verify(assertionOf(last()), { method, target });
      expect(caller).toMatchObject({ kind, id: expect.stringMatching(id), tenants: ['rst_1'], tenants_disabled: [] });
      expect(caller?.scopes.includes('write:orders')).toBe(kind !== 'api_key');
      expect(verify(assertionOf(last()), { method, target: '/api/orders/list' })).toBeUndefined();
      expect(verify(assertionOf(last()), { method: 'PUT', target })).toBeUndefined();
    }
  }
});

test('the scopes of a token, not those of its client, are asserted', async () => {
  await sendRequest(door.url, 'GET', '/api/orders/list', { headers: await door.bearerWith(['read:orders']) });
  expect(verify(assertionOf(last()), { method: 'GET', target: '/api/orders/list' })?.scopes).toEqual(['read:orders']);
});

test('reserved headers of the client never reach the upstream, in any spelling', async () => {
  const forged = {
    'X-Orderpass-Assertion': 'forged',
    'x-orderpass-dialect': 'oauth',
    'X-ORDERPASS-ANYTHING': 'x',
    X_Orderpass_Assertion: 'forged',
    'x-orderpass_assertion': 'forged',
    'x-orderly': 'stays',
  };
  await sendRequest(door.url, 'GET', '/api/orders/list', { headers: { ...door.asKey, ...forged } });
  const names = Object.keys(last().headers).filter((name) => /^x[-_]order/.test(name));
  expect(names.sort()).toEqual(['x-orderly', 'x-orderpass-assertion']);
  expect(verify(assertionOf(last()), { method: 'GET', target: '/api/orders/list' })).toBeDefined();
});

test('a client cannot have the assertion or the request id dropped by naming it in Connection', async () => {
  const connection = 'close, x-orderpass-assertion, x-request-id, x-forwarded-for, host';
  await sendRequest(door.url, 'GET', '/api/orders/list', {
    headers: { ...door.asKey, connection, 'x-request-id': 'mine' },
  });
  expect(verify(assertionOf(last()), { method: 'GET', target: '/api/orders/list' })).toBeDefined();
  expect(last().headers['x-request-id']).toBe('mine');
  expect(last().headers['x-forwarded-for']).toBe('127.0.0.1');
});

test('credentials and cookies stop at the gateway', async () => {
  for (const as of [door.asKey, door.asClient, door.asBearer]) {
    const headers = { ...as, cookie: 'session=1', 'proxy-authorization': 'Basic x', 'proxy-anything': 'x', dpop: 'x' };
    await sendRequest(door.url, 'GET', '/api/orders/list', { headers });
    const sent = JSON.stringify(last().headers);
    for (const value of Object.values(as)) expect(sent).not.toContain(value.replace('Bearer ', ''));
    for (const name of [...Object.keys(as), 'cookie', 'proxy-authorization', 'proxy-anything', 'dpop']) {
      expect(last().headers[name]).toBeUndefined();
    }
  }
});

test('what a client claims about its way here is replaced by what the gateway knows', async () => {
  const claims = {
    forwarded: 'for=1.2.3.4',
    'x-forwarded-for': '1.2.3.4',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'ftp',
    'x-forwarded-port': '1',
    'x-real-ip': '1.2.3.4',
    via: '1.1 evil',
    host: 'evil.example',
  };
  await sendRequest(door.url, 'GET', '/api/orders/list', { headers: { ...door.asKey, ...claims } });
  const { headers } = last();
  expect(headers).toMatchObject({
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'api.example',
    'x-forwarded-proto': 'https',
    host: new URL(upstream.url).host,
  });
  for (const name of ['forwarded', 'x-forwarded-port', 'x-real-ip', 'via']) expect(headers[name]).toBeUndefined();
});

test('Idempotency-Key, Accept and unknown headers go on', async () => {
  const kept = { 'idempotency-key': 'k-1', accept: 'application/json', 'accept-language': 'it', 'x-own': 'yes' };
  await sendRequest(door.url, 'POST', '/api/customer/create', { headers: { ...door.asKey, ...kept } });
  expect(last().headers).toMatchObject(kept);
});

test('reserved and own headers of the upstream never reach the client', async () => {
  upstream.answer = (_req, res) => {
    const headers = {
      'x-orderpass-assertion': 'secret',
      'x-orderpass-dialect': 'oauth',
      'x-orderpass-internal': '1',
      'x-request-id': 'inner',
      'x-api-version': '9',
      server: 'inner/1',
      'x-powered-by': 'inner',
      'x-own': 'yes',
      'set-cookie': ['a=1', 'b=2'],
      'content-type': 'application/json',
    };
    res.writeHead(200, headers).end('{}');
  };
  const { headers } = await sendRequest(door.url, 'GET', '/api/orders/list', {
    headers: { ...door.asKey, 'x-request-id': 'mine' },
  });
  expect(Object.keys(headers).filter((name) => name.startsWith('x-orderpass'))).toEqual([]);
  expect(headers).toMatchObject({
    'x-request-id': 'mine',
    'x-api-version': '1.0.0',
    'x-own': 'yes',
    'set-cookie': ['a=1', 'b=2'],
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=31536000',
  });
  expect([headers.server, headers['x-powered-by']]).toEqual([undefined, undefined]);
});

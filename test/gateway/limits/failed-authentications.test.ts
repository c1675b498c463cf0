import { request } from 'node:http';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFailureBudget } from '#src/gateway/limits/failure-budget.ts';
import { createSourceOf } from '#src/gateway/limits/source-address.ts';
import { newApiKey } from '#src/gateway/model/credential-values.ts';
import { createMemoryKv } from '#src/platform/kv/index.ts';
import { whileLocked } from '../../support/contention.ts';
import { until } from '../../support/until.ts';
import {
  basic,
  clientHeaders,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness({ settings: { rate_failures_max: 10, trusted_proxy_hops: 1 } });
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

type Client = { client_id: string; client_secret: string };

/** Each test comes from an address of its own. */
const from = (address: string) => ({ 'x-forwarded-for': address });

const token = (client: Client, address: string): Promise<Reply> =>
  postToken(harness.url, { grant_type: 'client_credentials', ...pick(client) }, from(address));

const call = (client: Client, address: string): Promise<Reply> =>
  sendRequest(harness.url, 'GET', read, { headers: { ...clientHeaders(client), ...from(address) } });

test('A-040 the 11th failed try of one client and address is slow_down, then the right secret too; elsewhere it works', async () => {
  const client = await harness.createClient([tenant]);
  const wrong = { ...client, client_secret: 'wrong' };
  for (let i = 0; i < 10; i += 1) expect((await token(wrong, '192.0.2.1')).status).toBe(401);
  for (const tried of [wrong, client]) {
    const refused = await token(tried, '192.0.2.1');
    expect([refused.status, refused.json.error]).toEqual([429, 'slow_down']);
    expect(refused.json.retry_after).toBeGreaterThanOrEqual(1);
    expect(refused.json.retry_after).toBeLessThanOrEqual(60);
    expect(refused.headers['retry-after']).toBe(String(refused.json.retry_after));
    expect(refused.headers['cache-control']).toBe('no-store');
    expect(Object.keys(refused.json).sort()).toEqual([
      'code',
      'error',
      'error_description',
      'error_uri',
      'request_id',
      'retry_after',
    ]);
  }
  expect((await token(client, '192.0.2.2')).status).toBe(200);
  const other = await harness.createClient([tenant]);
  expect((await token(other, '192.0.2.1')).status).toBe(200);
});

test('A-040 a request that is malformed is refused as that, also while the client has used up its failures', async () => {
  const client = await harness.createClient([tenant]);
  for (let i = 0; i < 11; i += 1) await token({ ...client, client_secret: 'wrong' }, '192.0.2.9');
  const twice = { ...basic(client.client_id, client.client_secret), ...from('192.0.2.9') };
  const reply = await postToken(harness.url, { grant_type: 'client_credentials', ...pick(client) }, twice);
  expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
});

test('A-040 500 right requests in a minute from one address are all 200', async () => {
  const client = await harness.createClient([tenant]);
  for (let i = 0; i < 500; i += 25) {
    const replies = await Promise.all(Array.from({ length: 25 }, () => token(client, '192.0.2.3')));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 25 }, () => 200));
  }
});

test('A-124 after 11 wrong secrets by headers that pair gets 429, the client from another address 200', async () => {
  const client = await harness.createClient([tenant]);
  const wrong = { ...client, client_secret: 'wrong' };
  for (let i = 0; i < 10; i += 1) expect((await call(wrong, '192.0.2.4')).status).toBe(401);
  for (const tried of [wrong, client]) {
    const refused = await call(tried, '192.0.2.4');
    expect([refused.status, refused.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(refused.json.retry_after).toBeGreaterThanOrEqual(1);
    expect(refused.headers['retry-after']).toBe(String(refused.json.retry_after));
  }
  expect((await call(client, '192.0.2.5')).status).toBe(200);
  // Its tokens are not what failed.
  const headers = { authorization: `Bearer ${await tokenOf(harness.url, client)}`, ...from('192.0.2.4') };
  expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(200);
});

test('9.2 failures at the token endpoint, with form and Basic, and by headers count together', async () => {
  const client = await harness.createClient([tenant]);
  const wrong = { ...client, client_secret: 'wrong' };
  const address = '192.0.2.6';
  for (let i = 0; i < 4; i += 1) expect((await token(wrong, address)).status).toBe(401);
  for (let i = 0; i < 3; i += 1) expect((await call(wrong, address)).status).toBe(401);
  const byBasic = { ...basic(client.client_id, 'wrong'), ...from(address) };
  for (let i = 0; i < 3; i += 1) {
    expect((await postToken(harness.url, { grant_type: 'client_credentials' }, byBasic)).status).toBe(401);
  }
  expect((await token(client, address)).status).toBe(429);
  expect((await call(client, address)).status).toBe(429);
});

test('9.2 an unknown client is stopped as a known one is, and guesses sent side by side get no further', async () => {
  const invented = { client_id: 'opc_unknown', client_secret: 'x' };
  for (let i = 0; i < 10; i += 1) expect((await call(invented, '192.0.2.7')).status).toBe(401);
  expect((await call(invented, '192.0.2.7')).status).toBe(429);
  const client = await harness.createClient([tenant]);
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, i) => token({ ...client, client_secret: `guess ${i}` }, '192.0.2.8')),
  );
  expect(replies.filter(({ status }) => status === 401)).toHaveLength(10);
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(50);
});

test('9.2 malformed requests are no failed authentications', async () => {
  const client = await harness.createClient([tenant]);
  for (let i = 0; i < 12; i += 1) {
    const reply = await postToken(harness.url, { grant_type: 'password', ...pick(client) }, from('192.0.2.9'));
    expect(reply.status).toBe(400);
  }
  expect((await token(client, '192.0.2.9')).status).toBe(200);
});

test('9.2 without trusted proxies the address of the socket counts, whatever X-Forwarded-For says', async () => {
  const own = await openHarness({ settings: { rate_failures_max: 10 } });
  try {
    const client = await own.createClient([await own.createTenant()]);
    const sendRequestFrom = (localAddress: string, secret: string, claimed: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { ...clientHeaders({ ...client, client_secret: secret }), ...from(claimed) };
        const { port } = new URL(own.url);
        request({ host: '127.0.0.1', port, path: read, localAddress, headers, agent: false }, (res) => {
          res.resume().on('end', () => resolve(res.statusCode ?? 0));
        })
          .on('error', reject)
          .end();
      });
    for (let i = 0; i < 10; i += 1) expect(await sendRequestFrom('127.0.0.2', 'wrong', `192.0.2.${i}`)).toBe(401);
    expect(await sendRequestFrom('127.0.0.2', client.client_secret, '192.0.2.99')).toBe(429);
    expect(await sendRequestFrom('127.0.0.3', client.client_secret, '192.0.2.1')).toBe(200);
  } finally {
    await own.close();
  }
});

test('9.2 the failures of a pair end with their window', () => {
  let nowMs = 0;
  const budget = createFailureBudget({ kv: createMemoryKv(), failuresMax: 2, elapsedMs: () => nowMs });
  expect([budget.countFailure('a', 's'), budget.countFailure('a', 's')]).toEqual([undefined, undefined]);
  expect(budget.blockedSeconds('a', 's')).toBe(60);
  expect(budget.countFailure('a', 's')).toBe(60);
  nowMs = 59_999;
  expect(budget.blockedSeconds('a', 's')).toBe(1);
  nowMs = 60_000;
  expect(budget.blockedSeconds('a', 's')).toBeUndefined();
  expect(budget.countFailure('a', 's')).toBeUndefined();
});

test('the source of a request is the address that the outermost trusted proxy saw; IPv6 counts by its network', () => {
  const sourceOf = (hops: number, forwarded: string | undefined, remoteAddress = '10.0.0.1'): string =>
    createSourceOf(hops)({ headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress } } as never);
  expect(sourceOf(0, '192.0.2.1')).toBe('10.0.0.1');
  expect(sourceOf(1, undefined)).toBe('10.0.0.1');
  expect(sourceOf(1, 'forged, 192.0.2.1')).toBe('192.0.2.1');
  expect(sourceOf(2, 'forged, 192.0.2.1, 10.1.1.1')).toBe('192.0.2.1');
  expect(sourceOf(2, '192.0.2.1')).toBe('192.0.2.1');
  expect(sourceOf(1, 'unknown')).toBe('10.0.0.1');
  expect(sourceOf(1, '192.0.2.1:4711')).toBe('192.0.2.1');
  expect(sourceOf(1, '[2001:db8:0:7::1]:4711')).toBe('2001:db8:0:7::/64');
  expect(sourceOf(0, undefined, '2001:db8::7:ffff:ffff:ffff:ffff')).toBe('2001:db8:0:7::/64');
  expect(sourceOf(0, undefined, '2001:db8:0:7:1:2:3:4')).toBe('2001:db8:0:7::/64');
  expect(sourceOf(0, undefined, '::1')).toBe('0:0:0:0::/64');
  expect(sourceOf(0, undefined, 'fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  for (const address of ['::ffff:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:FFFF:C000:0201'])
    expect([sourceOf(0, undefined, address), sourceOf(1, `[${address}]:4711`)]).toEqual(['192.0.2.1', '192.0.2.1']);
});

test('9.2 an empty Authorization header before a wrong one counts for the client of the second, because that one is checked', async () => {
  const client = await harness.createClient([tenant]);
  const { authorization = '' } = basic(client.client_id, 'wrong');
  const type = 'application/x-www-form-urlencoded';
  const headers = Object.entries({ host: 'api.example', 'content-type': type, ...from('192.0.2.10') }).flat();
  const body = 'grant_type=client_credentials';
  for (let i = 0; i < 10; i += 1) {
    const reply = await sendRequest(harness.url, 'POST', '/api/oauth/token', {
      headers: [...headers, 'authorization', '', 'authorization', authorization],
      body,
    });
    expect([reply.status, reply.json.error]).toEqual([401, 'invalid_client']);
  }
  expect((await token(client, '192.0.2.10')).status).toBe(429);
  const other = await harness.createClient([tenant]);
  expect((await token(other, '192.0.2.10')).status).toBe(200);
});

test('A-746 invented API keys leave connections to the store for other callers', async () => {
  const [known, ended] = [await harness.createClient([tenant]), await harness.createClient([tenant])];
  expect((await token(ended, '198.51.100.2')).status).toBe(200);
  await harness.credentials.disableClient(ended.client_id);
  // Then the gateway has read every change before, and remembers a client that it looks up.
  await until(async () => (await token(ended, '198.51.100.2')).status !== 200);
  expect((await token(known, '198.51.100.1')).status).toBe(200);
  const invented = Array.from({ length: 100 }, (_, n) => ({ 'x-api-key': newApiKey().value, ...from(`192.0.2.${n}`) }));
  const others: number[] = [];
  const replies = await whileLocked(
    harness.database.db,
    sql`lock table gateway.api_keys in access exclusive mode`,
    5,
    () => Promise.all(invented.map((headers) => sendRequest(harness.url, 'GET', read, { headers }))),
    async () => {
      await sendRequest(harness.url, 'GET', '/healthz');
      // A token of another client is written to the audit before it is issued.
      others.push((await token(known, '198.51.100.1')).status);
    },
  );
  expect(others).toEqual([200]);
  for (const { status } of replies) expect([401, 503]).toContain(status);
  const unknown = await harness.createClient([tenant]);
  expect((await token(unknown, '198.51.100.1')).status).toBe(200);
});

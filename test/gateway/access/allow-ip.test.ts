import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAddressOf } from '#src/gateway/limits/source-address.ts';
import { until } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness({ settings: { trusted_proxy_hops: 1, auth_check: 'on' } });
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const inside = '198.51.100.7';
const outside = '203.0.113.9';

const from = (address: string): Headers => ({ 'x-forwarded-for': address });

const get = (headers: Headers, address: string, target = read): Promise<Reply> =>
  sendRequest(harness.url, 'GET', target, { headers: { ...headers, ...from(address) } });

const allow = (clientId: string, ...networks: string[]) => harness.credentials.setAllowIp('client', clientId, networks);

const errorOf = (reply: Reply): unknown => [reply.status, reply.json.error ?? reply.json.code];

test('A-224 the key, the headers and the tokens of a listed network work; from elsewhere they are 403 ADDRESS_NOT_ALLOWED', async () => {
  const client = await harness.createClient([tenant]);
  const token = await tokenOf(harness.url, client);
  await allow(client.client_id, '198.51.100.0/24', '2001:db8:7::/48');
  const { value, keyId } = await harness.credentials.createApiKey({
    tenant,
    name: 'till',
    allowIp: ['198.51.100.0/24'],
  });
  expect(keyId).toBeDefined();
  for (const headers of [clientHeaders(client), bearer(token), { 'x-api-key': value }]) {
    await expect.poll(async () => (await get(headers, outside)).status).toBe(403);
    const seen = harness.upstream.seen.length;
    const refused = await get(headers, outside);
    expect(refused.status).toBe(403);
    expect(refused.json.error === 'insufficient_scope' ? refused.json.code : refused.json.error).toBe(
      'ADDRESS_NOT_ALLOWED',
    );
    expect(refused.json.message ?? refused.json.error_description).toContain(outside);
    expect(refused.json.missing_scopes).toBeUndefined();
    expect(harness.upstream.seen.length).toBe(seen);
    const problem = await get({ ...headers, accept: 'application/problem+json' }, outside);
    expect([problem.status, problem.json.code]).toEqual([403, 'ADDRESS_NOT_ALLOWED']);
    expect((await get(headers, inside)).status).toBe(200);
    expect((await get(headers, outside, '/api/whoami')).status).toBe(403);
    const checked = await sendRequest(harness.url, 'GET', '/auth/check', {
      headers: { ...headers, ...from(outside), 'x-original-uri': read, 'x-original-method': 'GET' },
    });
    expect(checked.status).toBe(403);
  }
  expect((await get(clientHeaders(client), '2001:db8:7:1::5')).status).toBe(200);
  expect((await get(clientHeaders(client), '2001:db8:8::5')).status).toBe(403);
});

test('A-224 the OAuth endpoints refuse a right client from elsewhere with unauthorized_client, a wrong secret as everywhere', async () => {
  const client = await harness.createClient([tenant]);
  const token = await tokenOf(harness.url, client);
  await allow(client.client_id, inside);
  const ask = (secret: string, address: string, target?: string): Promise<Reply> =>
    postToken(
      harness.url,
      { grant_type: 'client_credentials', token, ...pick(client), client_secret: secret },
      from(address),
      target,
    );
  await expect.poll(async () => (await ask(client.client_secret, outside)).status).toBe(400);
  for (const target of ['/api/oauth/token', '/api/oauth/revoke', '/api/oauth/introspect']) {
    const refused = await ask(client.client_secret, outside, target);
    expect([refused.status, refused.json.error, refused.json.code]).toEqual([
      400,
      'unauthorized_client',
      'ADDRESS_NOT_ALLOWED',
    ]);
    expect(refused.json.error_description).toContain(outside);
    expect(errorOf(await ask('wrong', outside, target))).toEqual([401, 'invalid_client']);
  }
  expect((await ask(client.client_secret, inside)).status).toBe(200);
  expect((await get(bearer(token), inside)).status).toBe(200);
  const wrong = { ...clientHeaders(client), 'x-client-secret': 'wrong' };
  expect(errorOf(await get(wrong, outside))).toEqual([401, 'INVALID_AUTH']);
});

test('A-224 a mapped address is its IPv4 address, in requests and in lists; a change holds at once for tokens that were used before', async () => {
  const client = await harness.createClient([tenant]);
  const headers = bearer(await tokenOf(harness.url, client));
  expect((await get(headers, outside)).status).toBe(200);
  expect(await allow(client.client_id, '::ffff:198.51.100.0/120', '2001:DB8::1')).toEqual([
    '198.51.100.0/24',
    '2001:db8::1',
  ]);
  await expect.poll(async () => (await get(headers, outside)).status).toBe(403);
  for (const address of [inside, `::ffff:${inside}`, '::FFFF:c633:6407', `${inside}:4711`, '[2001:db8:0:0::1]:4711'])
    expect([address, (await get(headers, address)).status]).toEqual([address, 200]);
  for (const address of ['::ffff:203.0.113.9', '2001:db8::2', '::1'])
    expect([address, (await get(headers, address)).status]).toEqual([address, 403]);
  // The socket's own address, since the entry is none.
  expect((await get(headers, 'unknown')).json.error_description).toContain('127.0.0.1');
  await harness.credentials.setAllowIp('client', client.client_id, null);
  await expect.poll(async () => (await get(headers, outside)).status).toBe(200);
});

test('A-224 every IPv6 address is no IPv4 address, and the other way round', async () => {
  const client = await harness.createClient([tenant]);
  const headers = clientHeaders(client);
  await allow(client.client_id, '::/0');
  await expect.poll(async () => (await get(headers, outside)).status).toBe(403);
  expect((await get(headers, '2001:db8::2')).status).toBe(200);
  await allow(client.client_id, '0.0.0.0/0');
  await expect.poll(async () => (await get(headers, outside)).status).toBe(200);
  expect((await get(headers, '2001:db8::2')).status).toBe(403);
});

test('A-224 the address is the one that the outermost trusted proxy saw, and what a client adds before it does not count', () => {
  type Req = Parameters<ReturnType<typeof createAddressOf>>[0];
  const req = (remoteAddress: string, forwarded?: string): Req =>
    ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as Req;
  expect(createAddressOf(0)(req('::ffff:192.0.2.1', inside))).toBe('192.0.2.1');
  expect(createAddressOf(1)(req('10.0.0.1', `${inside}, ${outside}`))).toBe(outside);
  expect(createAddressOf(2)(req('10.0.0.1', `${inside}, ${outside}, 10.0.0.2`))).toBe(outside);
  expect(createAddressOf(1)(req('fe80::1%eth0'))).toBe('fe80::1');
});

test('A-225 a call from elsewhere is in the audit with its reason, and its holder sees it in whoami and as a denial', async () => {
  const client = await harness.createClient([tenant]);
  const headers = clientHeaders(client);
  await allow(client.client_id, inside);
  await expect.poll(async () => (await get(headers, outside)).status).toBe(403);
  const refused = await get(headers, outside);
  const id = String(refused.headers['x-request-id']);
  await postToken(harness.url, { grant_type: 'client_credentials', ...pick(client) }, from(outside));
  const { rows } = await harness.database.pool.query(
    `select action, reason, client_id, address from gateway.audit_events
     where client_id = $1 and reason = 'address_not_allowed' order by seq desc limit 2`,
    [client.client_id],
  );
  expect(rows).toEqual(
    ['token.refused', 'request.denied'].map((action) => {
      return { action, reason: 'address_not_allowed', client_id: client.client_id, address: outside };
    }),
  );
  await until(async () => (await get(headers, inside, `/api/whoami/denials/${id}`)).status === 200);
  const { denial } = (await get(headers, inside, `/api/whoami/denials/${id}`)).json;
  expect(denial).toMatchObject({
    status: 403,
    code: 'ADDRESS_NOT_ALLOWED',
    reason: 'address_not_allowed',
    detail: { address: outside },
  });
  type Credential = { allow_ip: string[]; refused_elsewhere: { calls: number; last_address: string } | null };
  const shown = async (): Promise<Credential> => (await get(headers, inside, '/api/whoami')).json.credential;
  await until(async () => (await shown()).refused_elsewhere !== null);
  const { allow_ip, refused_elsewhere } = await shown();
  expect(allow_ip).toEqual([inside]);
  expect(refused_elsewhere?.last_address).toBe(outside);
  expect(refused_elsewhere?.calls).toBeGreaterThanOrEqual(1);
});

test('A-226 a list names every wrong entry and changes nothing; so do wrong limits', async () => {
  const { client_id: id } = await harness.createClient([tenant]);
  await allow(id, inside);
  const problems = async (change: Promise<unknown>): Promise<string[]> => {
    const thrown: unknown = await change.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).toMatchObject({ code: 'VALIDATION_ERROR' });
    return (thrown as { errors: { message: string }[] }).errors.map(({ message }) => message);
  };
  const found = await problems(
    allow(
      id,
      '192.0.2.7/24',
      '192.0.2.0/33',
      '300.1.2.3',
      '2001:db8::1/32',
      '::ffff:192.0.2.0/24',
      'example.com',
      inside,
    ),
  );
  expect(found).toHaveLength(6);
  expect(found[0]).toBe('192.0.2.7/24: has bits beyond its prefix; write 192.0.2.0/24');
  expect(found[3]).toBe('2001:db8::1/32: has bits beyond its prefix; write 2001:db8::/32');
  expect(await problems(allow(id))).toHaveLength(1);
  expect(await problems(allow(id, ...Array.from({ length: 65 }, (_, i) => `10.0.0.${i}`)))).toHaveLength(1);
  expect((await harness.credentials.showClient(id)).allowIp).toEqual([inside]);
  const limits = { minute: 0, burst: 1.5, day: -1, month: Number.NaN, concurrency: 1e13 };
  expect(await problems(harness.credentials.setLimits('client', id, limits))).toHaveLength(5);
  expect((await harness.credentials.showClient(id)).limits).toEqual({});
  await expect(harness.credentials.setLimits('client', 'opc_none', { day: 1 })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('A-229 the successor of a rotated key has its limits and networks', async () => {
  const old = await harness.credentials.createApiKey({ tenant, name: 'till', allowIp: [inside], limits: { day: 50 } });
  const fresh = await harness.credentials.rotateApiKey(old.keyId, 0);
  const headers = { 'x-api-key': fresh.value };
  await until(async () => (await get(headers, inside)).status === 200);
  expect((await get(headers, outside)).status).toBe(403);
  expect((await get(headers, inside)).headers['ratelimit-policy']).toContain('"day";q=50;w=86400');
});

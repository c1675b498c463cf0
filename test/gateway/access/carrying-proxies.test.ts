/** The files of config/ for proxies that carry the traffic and ask /auth/check: each with the real proxy of Debian. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHarness, postToken, read } from '../harness/gateway-harness.ts';
import { makeAuthority } from '../harness/make-certificate.ts';
import {
  type Headers,
  metadata,
  openDoor,
  type PublicDoor,
  plainChallenge,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';
import { type CarryingProxy, proxies, startProxy } from './proxy-harness.ts';

const list = '/api/orders/list';

/** A route of every method and body, beside those of the program. */
const things = {
  id: 'things',
  method: '*',
  path: '/things/*',
  scopes: ['read:orders'],
  body: 'any',
  upstream: 'ordering',
};

describe.each(proxies)('$title', (kind) => {
  let upstream: TestUpstream;
  let door: PublicDoor;
  let proxy: CarryingProxy;

  beforeAll(async () => {
    if (!kind.present) return;
    upstream = await startUpstream();
    door = await openDoor(upstream.url, {
      settings: { auth_check: 'on', auth_check_audiences: 'ordering' },
      moreRoutes: [
        things,
        { id: 'open', path: '/open', access: 'public', upstream: 'ordering' },
        { ...things, id: 'hosted', path: '/hosted', hosts: ['one.example'] },
      ],
    });
    proxy = await startProxy(kind, { orderpass: new URL(door.url).host, service: new URL(upstream.url).host });
  });

  afterAll(async () => {
    await proxy?.stop();
    await door?.close();
    await upstream?.close();
  });

  test.skipIf(!kind.present)(
    'A-237 passes what is allowed with the identity, and never the credential or a forged identity',
    async () => {
      const cases = [
        [door.asKey, 'api_key'],
        [door.asClient, 'api_client'],
        [door.asBearer, 'bearer'],
      ] as const;
      for (const [headers, kindOfCaller] of cases) {
        upstream.seen.length = 0;
        const target = `${list}?page=1&x=%2F&y=a;b&z=%zz&q='()+`;
        const answer = await sendRequest(proxy.url, 'GET', target, {
          headers: {
            ...headers,
            'x-orderpass-id': 'forged',
            'x-orderpass-client': 'other',
            'x-orderpass-tenants-total': '5000',
            'x-orderpass-token': 'a.b.c',
            'x.orderpass.id': 'forged',
            X_Orderpass_Kind: 'bearer',
          },
        });
        expect([answer.status, answer.text]).toEqual([200, '{"success":true}']);
        const [seen] = upstream.seen;
        expect(seen?.target).toBe(target);
        expect(seen?.headers).toMatchObject({ 'x-orderpass-kind': kindOfCaller, 'x-orderpass-tenants': 'rst_1' });
        expect(seen?.headers['x-orderpass-id']).not.toContain('forged');
        expect(Object.keys(seen?.headers ?? {}).filter((name) => /^x[^a-z0-9-]orderpass/.test(name))).toEqual([]);
        expect(seen?.headers['x-orderpass-client']).toBe(
          kindOfCaller === 'api_key' ? undefined : door.asClient['x-client-id'],
        );
        expect(seen?.headers['x-orderpass-token']).toBeUndefined();
        expect(seen?.headers['x-orderpass-tenants-total']).toBeUndefined();
        expect(seen?.headers['x-orderpass-assertion']).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
        for (const name of ['authorization', 'x-api-key', 'x-client-id', 'x-client-secret'])
          expect([name, seen?.headers[name]]).toEqual([name, undefined]);
      }
    },
  );

  test.skipIf(!kind.present)('A-237 of a caller with many tenants the service gets their number', async () => {
    const tenants = Array.from({ length: 51 }, (_, number) => `rst_many_${number}`);
    const caller = await door.clientWith(['read:orders'], tenants);
    upstream.seen.length = 0;
    expect((await sendRequest(proxy.url, 'GET', `${list}?restuid=${tenants[0]}`, { headers: caller })).status).toBe(
      200,
    );
    const [seen] = upstream.seen;
    expect(seen?.headers['x-orderpass-tenants-total']).toBe('51');
    expect(seen?.headers['x-orderpass-tenants']).toBeUndefined();
  });

  test.skipIf(!kind.present)(
    'A-237 on a public route too the service sees no identity that the client states',
    async () => {
      upstream.seen.length = 0;
      const forged = { 'x-orderpass-id': 'forged', 'x-orderpass-kind': 'bearer', 'x-orderpass-assertion': 'a.b.c' };
      expect((await sendRequest(proxy.url, 'GET', '/open', { headers: forged })).status).toBe(200);
      const [seen] = upstream.seen;
      const stated = Object.entries(seen?.headers ?? {}).filter(([name]) => name.startsWith('x-orderpass'));
      expect(stated).toEqual([]);
    },
  );

  test.skipIf(!kind.present)('A-732 a caller cannot hide its identity by naming its fields in Connection', async () => {
    const named = 'x-orderpass-tenants, x-orderpass-id, x-orderpass-client, x-orderpass-kind, x-orderpass-scopes';
    for (const connection of [named, `close, ${named.toUpperCase()}`, `${named}, keep-alive`]) {
      upstream.seen.length = 0;
      const { status } = await sendRequest(proxy.url, 'GET', list, { headers: { ...door.asClient, connection } });
      const seen = upstream.seen.map(({ headers }) => [
        ...['kind', 'tenants', 'client', 'scopes'].map((name) => typeof headers[`x-orderpass-${name}`]),
        headers.connection?.includes('orderpass') ?? false,
      ]);
      expect([connection, status, seen]).toEqual([
        connection,
        ...(status === 400 ? [400, []] : [200, [['string', 'string', 'string', 'string', false]]]),
      ]);
    }
    const key = Buffer.alloc(16).toString('base64');
    const socket = { connection: 'keep-alive, Upgrade', upgrade: 'websocket', 'sec-websocket-key': key };
    expect((await sendRequest(proxy.url, 'GET', list, { headers: { ...door.asKey, ...socket } })).status).toBe(200);
  });

  test.skipIf(!kind.present)('A-237 a service gets no field of Orderpass that the caller wrote itself', async () => {
    upstream.seen.length = 0;
    const names = ['dialect', 'sandbox', 'simulate', 'tenant'].map((name) => `x-orderpass-${name}`);
    const written = Object.fromEntries(names.map((name) => [name, 'x']));
    expect((await sendRequest(proxy.url, 'GET', list, { headers: { ...door.asKey, ...written } })).status).toBe(200);
    for (const name of names) expect([name, upstream.seen[0]?.headers[name]]).toEqual([name, undefined]);
  });

  test.skipIf(!kind.present)('A-237 carries every method with its body, and refuses others with 405', async () => {
    upstream.seen.length = 0;
    const carried = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
    for (const method of carried) {
      const body = /GET|HEAD|OPTIONS/.test(method) ? undefined : `${method} me`;
      const answer = await sendRequest(proxy.url, method, '/things/1?q=1', {
        headers: {
          ...door.asBearer,
          'content-type': 'text/plain',
          ...(body && { 'content-length': `${body.length}` }),
        },
        ...(body && { body }),
      });
      expect([method, answer.status]).toEqual([method, 200]);
    }
    expect(upstream.seen.map(({ method, target }) => [method, target])).toEqual(
      carried.map((method) => [method, '/things/1?q=1']),
    );
    expect(upstream.seen.map(({ headers }) => headers['content-length'])).toEqual([
      undefined,
      undefined,
      '7',
      '6',
      '8',
      '9',
      undefined,
    ]);
    for (const method of ['TRACE', 'PROPFIND'])
      expect([method, (await sendRequest(proxy.url, method, '/things/1', { headers: door.asBearer })).status]).toEqual([
        method,
        405,
      ]);
    expect(upstream.seen).toHaveLength(carried.length);
  });

  test.skipIf(!kind.present)('A-238 a refusal has the status, challenge and body of the gateway', async () => {
    upstream.seen.length = 0;
    const none = await sendRequest(proxy.url, 'GET', list);
    expect([none.status, none.headers['www-authenticate'], none.json.error]).toEqual([
      401,
      plainChallenge,
      'INVALID_AUTH',
    ]);
    const bad = await sendRequest(proxy.url, 'GET', list, { headers: door.asExpired });
    expect([bad.status, bad.json.error]).toEqual([401, 'invalid_token']);
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
    const scoped = await sendRequest(proxy.url, 'GET', list, { headers: await door.bearerWith(['read:menu']) });
    expect([scoped.status, scoped.json.error, scoped.headers['www-authenticate']]).toEqual([
      403,
      'insufficient_scope',
      `Bearer realm="orderpass", error="insufficient_scope", error_description="This operation needs the scope read:orders", scope="read:orders", resource_metadata="${metadata}"`,
    ]);
    const byKey = await sendRequest(proxy.url, 'POST', '/api/order/create', {
      headers: { ...door.asKey, 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    expect([byKey.status, byKey.json.error, byKey.json.missing_scopes]).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
      ['write:orders'],
    ]);
    const head = await sendRequest(proxy.url, 'HEAD', list, { headers: door.asExpired });
    expect([head.status, head.text]).toEqual([401, '']);
    const ambiguous = await sendRequest(proxy.url, 'GET', list, { headers: { ...door.asKey, ...door.asBearer } });
    expect([ambiguous.status, ambiguous.json.error]).toEqual([400, 'invalid_request']);
    expect(upstream.seen).toEqual([]);
  });

  test.skipIf(!kind.present)(
    'A-238 a request that no route matches is 404, or 405 with Allow, to every caller',
    async () => {
      upstream.seen.length = 0;
      for (const headers of [{}, door.asKey, door.asBearer]) {
        const unknown = await sendRequest(proxy.url, 'GET', '/api/unknown?x=1', { headers });
        expect([unknown.status, unknown.json.error]).toEqual([404, 'INVALID_ACTION']);
        const wrong = await sendRequest(proxy.url, 'PUT', list, { headers });
        expect([wrong.status, wrong.json.error, wrong.headers.allow]).toEqual([
          405,
          'METHOD_NOT_ALLOWED',
          'GET, HEAD, OPTIONS',
        ]);
      }
      const problem = await sendRequest(proxy.url, 'GET', '/api/unknown', {
        headers: { accept: 'application/problem+json' },
      });
      expect([problem.status, problem.json.code]).toEqual([404, 'INVALID_ACTION']);
      expect(upstream.seen).toEqual([]);
    },
  );

  test.skipIf(!kind.present)('A-238 nothing passes that is no operation or claims to be another one', async () => {
    upstream.seen.length = 0;
    const original = { 'x-original-uri': list, 'x-original-method': 'GET' };
    const forwarded = { 'x-forwarded-uri': list, 'x-forwarded-method': 'GET' };
    const tries: [string, string, Record<string, string>][] = [
      ['GET', '/', {}],
      ['GET', '/api/x/../orders/list', {}],
      ['GET', '/api//orders/list', {}],
      ['GET', '/api/orders%2flist', {}],
      ['OPTIONS', list, {}],
      ['GET', '/auth/check', {}],
      ['GET', '/api/unknown', original],
      ['GET', '/api/unknown', forwarded],
      ['GET', '/api/unknown', { ...original, ...forwarded }],
      ['GET', '/hosted', { 'x-forwarded-host': 'one.example' }],
    ];
    for (const [method, target, headers] of tries) {
      const answer = await sendRequest(proxy.url, method, target, { headers: { ...door.asKey, ...headers } });
      expect([method, target, headers, answer.status >= 400]).toEqual([method, target, headers, true]);
    }
    const absolute = `GET http://one.example${list} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n`;
    await sendRaw(proxy.port, `${absolute}\r\n`);
    expect(upstream.seen.map(({ target }) => target).filter((target) => target !== list)).toEqual([]);
    upstream.seen.length = 0;
    const hosted = await sendRequest(proxy.url, 'GET', '/hosted', { headers: { ...door.asKey, host: 'one.example' } });
    expect(hosted.status).toBe(200);
    expect((await sendRequest(proxy.url, 'GET', list, { headers: door.asKey })).status).toBe(200);
    expect(upstream.seen.length).toBe(2);
  });

  test.skipIf(!kind.present)('A-607 a caller cannot name the certificate of another client', async () => {
    const gateway = await openHarness({
      settings: { auth_check: 'on', client_certificates: 'on', client_certificate_proxies: '127.0.0.1' },
    });
    const { clientId } = await gateway.credentials.createClient({ name: 'x', tenants: [await gateway.createTenant()] });
    const { cert } = makeAuthority().issue({ use: 'client' });
    await gateway.credentials.addClientCertificate(clientId, { pem: cert });
    const field = `:${new X509Certificate(cert).raw.toString('base64')}:`;
    const grant = { grant_type: 'client_credentials', client_id: clientId };
    const { json } = await postToken(gateway.url, grant, { 'client-cert': field });
    const asBound = { authorization: `Bearer ${String(json.access_token)}` };
    const check = { ...asBound, 'x-original-method': 'GET', 'x-original-uri': read };
    const direct = (headers: Headers) => sendRequest(gateway.url, 'GET', '/auth/check', { headers });
    expect((await direct({ ...check, 'client-cert': field })).status).toBe(200);
    const claiming = await startProxy(kind, {
      orderpass: new URL(gateway.url).host,
      service: new URL(upstream.url).host,
    });
    upstream.seen.length = 0;
    for (const name of ['client-cert', 'Client-Cert', 'CLIENT-CERT', 'client_cert', 'client-cert-chain'])
      for (const more of [{}, { 'x-original-refused': 'true' }]) {
        const headers = { ...asBound, ...more, [name]: field };
        expect([name, (await sendRequest(claiming.url, 'GET', read, { headers })).status]).toEqual([name, 401]);
      }
    expect(upstream.seen).toEqual([]);
    await claiming.stop();
    await gateway.close();
  });

  test.skipIf(!kind.present)('A-238 without the gateway every request is refused', async () => {
    const alone = await startProxy(kind, { orderpass: '127.0.0.1:9', service: new URL(upstream.url).host });
    upstream.seen.length = 0;
    for (const method of ['GET', 'POST', 'HEAD'])
      expect((await sendRequest(alone.url, method, list, { headers: door.asKey })).status).toBeGreaterThanOrEqual(500);
    expect(upstream.seen).toEqual([]);
    await alone.stop();
  });
});

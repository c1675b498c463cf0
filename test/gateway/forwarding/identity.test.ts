/** What services behind the gateway learn of the caller (interface 17). */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { assertionKeyLabel, createAssertionVerifier } from '#src/contract/assertion.ts';
import { createIdentityTokens } from '#src/gateway/access/identity/identity-token.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { clientHeaders, openHarness } from '../harness/gateway-harness.ts';
import {
  type Headers,
  masterKey,
  openDoor,
  origin,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

const kinds = {
  pos: { kind: 'jwt', header: 'authorization', audience: 'https://pos.example' },
  loyalty: 'jwt',
  crm: { kind: 'jwt', header: 'x-caller-token' },
  plain: 'headers',
  signed: 'assertion',
  other: 'assertion',
  silent: 'none',
} as const;

beforeAll(async () => {
  upstream = await startUpstream();
  const upstreams = Object.fromEntries(
    Object.entries(kinds).map(([name, identity]) => [name, { addresses: [upstream.url], identity }]),
  );
  const moreRoutes = Object.keys(kinds).flatMap((name) => [
    {
      id: `${name}.read`,
      method: 'GET',
      path: `/${name}/items`,
      scopes: ['read:orders'],
      upstream: name,
      upgrade: true,
    },
    { id: `${name}.open`, method: 'GET', path: `/${name}/open`, access: 'public', upstream: name },
  ]);
  const settings = { auth_check: 'on', auth_check_audiences: ['loyalty', 'plain'] };
  door = await openDoor(upstream.url, { table: { upstreams }, moreRoutes, settings });
});

beforeEach(() => {
  upstream.seen.length = 0;
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

/** The header fields that the service got. */
const seenAt = async (target: string, headers: Headers): Promise<Headers> => {
  const { status, text } = await sendRequest(door.url, 'GET', target, { headers });
  expect([status, text]).toEqual([200, '{"success":true}']);
  return upstream.seen.at(-1)?.headers as Headers;
};

const verify = (token: string, audience: string) =>
  jwtVerify(token, createRemoteJWKSet(new URL('/api/oauth/jwks', door.url)), {
    ...{ issuer: origin, audience, algorithms: ['ES256'], typ: 'orderpass-identity+jwt' },
    requiredClaims: ['sub', 'jti', 'iat', 'exp'],
  });

const ownNames = (headers: Headers): string[] => Object.keys(headers).filter((name) => name.startsWith('x-orderpass-'));

test('A-190 a token for the service: published keys verify it, and its claims name the caller', async () => {
  const client = await door.clientWith(['read:orders', 'write:menu']);
  const seen = await seenAt('/pos/items', client);
  const { payload } = await verify(seen.authorization?.replace(/^Bearer /, '') ?? '', 'https://pos.example');
  const id = client['x-client-id'];
  expect(payload).toMatchObject({ sub: id, client_id: id, kind: 'api_client', scope: 'read:orders write:menu' });
  expect(payload.tenants).toEqual(['rst_1']);
  expect(Number(payload.exp) - Number(payload.iat)).toBe(60);
  expect(ownNames(seen)).toEqual([]);

  const byKey = await verify((await seenAt('/loyalty/items', door.asKey))['x-orderpass-token'] ?? '', 'loyalty');
  expect(byKey.payload).toMatchObject({ kind: 'api_key', tenants: ['rst_1'] });
  expect(byKey.payload).not.toHaveProperty('client_id');
  const byToken = await seenAt('/crm/items', await door.bearerWith(['read:orders']));
  const { payload: narrow } = await verify(byToken['x-caller-token'] ?? '', 'crm');
  expect(narrow).toMatchObject({ kind: 'bearer', scope: 'read:orders', client_id: door.asClient['x-client-id'] });
});

test('A-191 one signature serves many requests of a caller, and no two callers or services share one', async () => {
  const tokenOf = async (target: string, headers: Headers): Promise<string> =>
    (await seenAt(target, headers))['x-orderpass-token'] ?? '';
  const first = await tokenOf('/loyalty/items', door.asKey);
  expect(first).not.toBe('');
  expect(await tokenOf('/loyalty/items?page=2', door.asKey)).toBe(first);
  expect(await tokenOf('/loyalty/items', door.asClient)).not.toBe(first);
  const wide = await tokenOf('/loyalty/items', await door.bearerWith(['read:orders', 'read:menu']));
  expect(await tokenOf('/loyalty/items', await door.bearerWith(['read:orders']))).not.toBe(wide);
});

test('A-191 two services get tokens of their own for one caller', async () => {
  const loyalty = (await seenAt('/loyalty/items', door.asKey))['x-orderpass-token'] ?? '';
  const crm = (await seenAt('/crm/items', door.asKey))['x-caller-token'] ?? '';
  expect(decodeJwt(loyalty).jti).not.toBe(decodeJwt(crm).jti);
  await expect(verify(loyalty, 'crm')).rejects.toThrow(/aud/);
});

test('A-496 a token is replaced after 30 s, when the clock is set back, and when the signing key changes', () => {
  const newKey = (kid: string) => ({ kid, privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey });
  let [key, nowMs] = [newKey('first'), Date.now()];
  const options = { issuer: origin, currentKey: () => key, now: () => nowMs };
  const tokenOf = createIdentityTokens({ ...options, audience: 'shop' });
  const reach = { scopes: ['read:orders'], tenants: ['rst_1'], tenants_disabled: [] };
  const caller = { kind: 'api_client', id: 'opc_1', ...reach } as const;
  const pass = (ms: number): string => {
    nowMs += ms;
    return tokenOf(caller);
  };
  const secondsLeft = (token: string): number => (decodeJwt(token).exp ?? 0) - nowMs / 1000;
  const first = pass(0);
  expect(pass(29_999)).toBe(first);
  // A service whose clock differs, or a request that waits, gets no token that is about to end.
  expect(secondsLeft(first)).toBeGreaterThan(29);
  const second = pass(1);
  expect(second).not.toBe(first);
  expect(secondsLeft(second)).toBeGreaterThan(58);
  const back = pass(-5_000);
  expect(decodeJwt(back).iat).toBe(Math.floor(nowMs / 1000));
  key = newKey('second');
  const renewed = pass(0);
  expect([decodeProtectedHeader(back).kid, decodeProtectedHeader(renewed).kid]).toEqual(['first', 'second']);
  expect(pass(0)).toBe(renewed);
  const other = createIdentityTokens({ ...options, audience: 'crm' });
  expect(decodeJwt(other(caller)).jti).not.toBe(decodeJwt(renewed).jti);
});

test('A-192 the token of a service is no access token, and an access token is none at a service', async () => {
  const token = (await seenAt('/pos/items', door.asClient)).authorization ?? '';
  const refused = await sendRequest(door.url, 'GET', '/pos/items', { headers: { authorization: token } });
  expect(refused.status).toBe(401);
  expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
  const access = door.asBearer.authorization?.replace(/^Bearer /, '') ?? '';
  expect(decodeProtectedHeader(access).typ).toBe('at+jwt');
  await expect(verify(access, 'https://pos.example')).rejects.toThrow();
  await expect(verify(token.replace(/^Bearer /, ''), 'loyalty')).rejects.toThrow(/aud/);
});

test('A-193 plain fields name the caller to a service that wants them', async () => {
  const client = await door.clientWith(['read:orders']);
  const seen = await seenAt('/plain/items', client);
  const id = client['x-client-id'];
  expect(ownNames(seen).map((name) => [name, seen[name]])).toEqual([
    ['x-orderpass-kind', 'api_client'],
    ['x-orderpass-id', id],
    ['x-orderpass-client', id],
    ['x-orderpass-tenants', 'rst_1'],
    ['x-orderpass-scopes', 'read:orders'],
  ]);
  const byKey = await seenAt('/plain/items', door.asKey);
  expect(byKey['x-orderpass-kind']).toBe('api_key');
  expect(byKey).not.toHaveProperty('x-orderpass-client');
});

test('A-193 a service gets the list of up to 50 tenants, and the number of more', async () => {
  const tenantsOf = (count: number) => Array.from({ length: count }, (_, number) => `rst_${count}_${number}`);
  const of50 = await door.clientWith(['read:orders'], tenantsOf(50));
  const of51 = await door.clientWith(['read:orders'], tenantsOf(51));
  const fieldsFor = async (caller: Headers) => {
    const { 'x-orderpass-tenants': list, 'x-orderpass-tenants-total': total } = await seenAt('/plain/items', caller);
    return { list: list?.split(',').toSorted(), total };
  };
  const claimsFor = async (caller: Headers) => {
    const { payload } = await verify((await seenAt('/loyalty/items', caller))['x-orderpass-token'] ?? '', 'loyalty');
    return { list: (payload.tenants as string[] | undefined)?.toSorted(), total: payload.tenants_total };
  };
  const listed = { list: tenantsOf(50).toSorted(), total: undefined };
  expect([await fieldsFor(of50), await claimsFor(of50)]).toEqual([listed, listed]);
  expect(await fieldsFor(of51)).toEqual({ list: undefined, total: '51' });
  expect(await claimsFor(of51)).toEqual({ list: undefined, total: 51 });
});

test('A-194 what a caller sends in these fields never arrives, in any spelling, on any route', async () => {
  const forged: Headers = {};
  const names = ['token', 'id', 'kind', 'client', 'scopes', 'tenants', 'assertion'];
  for (const name of names) {
    forged[`X-Orderpass-${name}`] = 'forged';
    forged[`x_orderpass_${name}`] = 'forged';
    forged[`X-Orderpass_${name}`] = 'forged';
  }
  forged['X-Caller-Token'] = 'forged';
  forged.x_caller_token = 'forged';
  for (const name of Object.keys(kinds))
    for (const [target, headers] of [
      [`/${name}/items`, { ...forged, ...door.asKey }],
      [`/${name}/open`, forged],
    ] as const) {
      const seen = await seenAt(target, headers);
      const arrived = Object.entries(seen).filter(
        ([field]) => field.replaceAll('_', '-') !== 'x-caller-token' || name === 'crm',
      );
      expect(arrived.filter(([, value]) => value === 'forged')).toEqual([]);
      if (target.endsWith('/open')) expect([ownNames(seen), seen.authorization]).toEqual([[], undefined]);
    }
});

test('A-195 an assertion is fresh when it is sent, after a slow body and after a late repeat', async () => {
  const harness = await openHarness();
  onTestFinished(() => harness.close());
  const client = clientHeaders(await harness.createClient([await harness.createTenant()]));
  const now = () => harness.clock.now().getTime();
  const verifyAt = createAssertionVerifier({
    ...{ key: harness.box.derive(assertionKeyLabel('ordering')), audience: 'ordering', now },
  });
  const isFresh = ({ method = '', url: target = '', headers }: IncomingMessage): boolean =>
    verifyAt(String(headers['x-orderpass-assertion']), { method, target }) !== undefined;
  const fresh: boolean[] = [];
  harness.upstream.answer = (req, res) => {
    fresh.push(isFresh(req));
    // The first request is answered, the second one lost after a long time.
    if (fresh.length !== 2) return void req.resume().on('end', () => res.end('{}'));
    harness.clock.move(60_000);
    req.socket.destroy();
  };
  const waits = { 'idempotency-key': 'slow', expect: '100-continue', 'content-length': '2' };
  const slow = request(`${harness.url}/api/order/create`, {
    method: 'POST',
    headers: { ...client, ...waits, 'content-type': 'application/json' },
  }).on('continue', () => {
    harness.clock.move(60_000);
    slow.end('{}');
  });
  slow.flushHeaders();
  const [answer] = (await once(slow, 'response')) as [IncomingMessage];
  answer.resume();
  expect([answer.statusCode, fresh]).toEqual([200, [true]]);
  expect((await sendRequest(harness.url, 'GET', '/api/orders/list', { headers: client })).status).toBe(200);
  expect(fresh).toEqual([true, true, true]);
});

test('A-195 a service with its own key of assertions can speak to no other service; none gets nothing', async () => {
  const assertion = (await seenAt('/signed/items', door.asKey))['x-orderpass-assertion'];
  const verifierOf = (name: string, audience = name) =>
    createAssertionVerifier({
      ...{ key: createSecretBox(masterKey).derive(`assertion/${name}`), audience },
      now: () => Date.now(),
    });
  const request = { method: 'GET', target: '/signed/items' };
  expect(verifierOf('signed')(assertion, request)?.kind).toBe('api_key');
  expect(verifierOf('other', 'signed')(assertion, request)).toBeUndefined();
  expect(verifierOf('ordering', 'signed')(assertion, request)).toBeUndefined();
  const seen = await seenAt('/silent/items', door.asKey);
  expect([ownNames(seen), seen.authorization]).toEqual([[], undefined]);
});

test('A-190 WebSockets and /auth/check state the caller in the same way', async () => {
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const key = { 'sec-websocket-key': Buffer.alloc(16).toString('base64') };
  // The service declines the upgrade, so its answer is an ordinary one.
  await sendRequest(door.url, 'GET', '/loyalty/items', { headers: { ...door.asKey, ...upgrade, ...key } });
  expect(upstream.seen.at(-1)?.headers.upgrade).toBe('websocket');
  const { payload } = await verify(String(upstream.seen.at(-1)?.headers['x-orderpass-token']), 'loyalty');
  expect(payload.kind).toBe('api_key');
  const checked = await sendRequest(door.url, 'GET', '/auth/check/loyalty/items', { headers: door.asClient });
  expect(checked.status).toBe(200);
  const stated = await verify(String(checked.headers['x-orderpass-token']), 'loyalty');
  expect(stated.payload.sub).toBe(door.asClient['x-client-id']);
  expect(checked.headers['x-orderpass-client']).toBe(door.asClient['x-client-id']);
  const plain = await sendRequest(door.url, 'GET', '/auth/check/plain/items', { headers: door.asClient });
  expect(plain.headers['x-orderpass-id']).toBe(door.asClient['x-client-id']);
});

test('A-196 a wrong identity in the route table is named with its path', async () => {
  const open = (identity: unknown, passHeaders: string[] = [], requestHeaders?: object) =>
    openDoor(upstream.url, {
      table: { upstreams: { pos: { addresses: [upstream.url], identity, passHeaders } } },
      moreRoutes: [
        {
          id: 'pos',
          method: 'GET',
          path: '/pos',
          scopes: [],
          upstream: 'pos',
          ...(requestHeaders && { requestHeaders }),
        },
      ],
    });
  await expect(open('token')).rejects.toThrow(/upstreams\.pos\.identity/);
  await expect(open({ kind: 'jwt', header: 'Host' })).rejects.toThrow(/upstreams\.pos\.identity/);
  await expect(open({ kind: 'jwt', header: 'x-forwarded-for' })).rejects.toThrow(/upstreams\.pos\.identity/);
  await expect(open({ kind: 'headers', audience: 'a' })).rejects.toThrow(/only `jwt` has this member/);
  await expect(open({ kind: 'jwt', header: 'x-user' }, ['x-user'])).rejects.toThrow(/passHeaders has the same field/);
  await expect(open({ kind: 'jwt', header: 'x-caller' }, [], { set: { 'x-caller': 'a' } })).rejects.toThrow(
    /routes\.\d+\.requestHeaders: x-caller holds the identity/,
  );
  await expect(open({ kind: 'jwt', audience: origin })).rejects.toThrow(/access tokens have the address/);
});

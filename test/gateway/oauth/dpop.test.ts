import { createHmac, randomUUID, sign } from 'node:crypto';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisKv } from '#src/platform/kv/redis-kv.ts';
import { athOf, makeProof, newProofKey, type ProofChange, type ProofKey } from '../../support/proofs.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { isWithinASecond, until } from '../../support/until.ts';
import {
  bearer,
  formOf,
  type Harness,
  openHarness,
  pick,
  postToken,
  rawHeaders,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

type Client = { client_id: string; client_secret: string };
type Caller = { harness: Harness; client: Client; key: ProofKey };

const grant = { grant_type: 'client_credentials' };
const key = newProofKey();
const stranger = newProofKey();
let harness: Harness;
let off: Harness;
let strict: Harness;
let caller: Caller;
let token: string;

const callerOf = async (of: Harness, dpopRequired = false): Promise<Caller> => {
  const tenants = [await of.createTenant()];
  const made = await of.credentials.createClient({ name: 'test', tenants, dpopRequired });
  return { harness: of, client: pick(formOf(made)), key };
};

const tokenProof = ({ harness: at, key: own }: Caller, change?: ProofChange): Promise<string> =>
  makeProof(own, { method: 'POST', url: `${at.url}/api/oauth/token`, now: at.clock.now() }, change);

const ask = (of: Caller, proof: string | undefined, url = of.harness.url): Promise<Reply> =>
  postToken(url, { ...grant, ...of.client }, proof === undefined ? {} : { dpop: proof });

const boundToken = async (of: Caller, change?: ProofChange): Promise<string> => {
  const reply = await ask(of, await tokenProof(of, change));
  expect([reply.status, reply.json.token_type]).toEqual([200, 'DPoP']);
  return String(reply.json.access_token);
};

const useProof = (change?: ProofChange, { method = 'GET', path = read, of = caller, use = token } = {}) =>
  makeProof(of.key, { method, url: of.harness.url + path, now: of.harness.clock.now(), token: use }, change);

const call = (proof: string | undefined, headers: Headers = {}, url = harness.url, target = read): Promise<Reply> =>
  sendRequest(url, 'GET', target, {
    headers: { authorization: `DPoP ${token}`, ...(proof === undefined ? undefined : { dpop: proof }), ...headers },
  });

const refusalOf = ({ status, json, headers }: Reply): unknown[] => [
  status,
  json.error,
  /^(\w+) .*error="(\w+)"/.exec(headers['www-authenticate'] ?? '')?.slice(1, 3),
];

const refusedProof = [401, 'invalid_dpop_proof', ['DPoP', 'invalid_dpop_proof']];

beforeAll(async () => {
  // Most proofs in here are wrong, and all come from one address; how many may be is a test of its own.
  harness = await openHarness({ settings: { dpop: 'on', auth_check: 'on', rate_failures_max: 1_000_000 } });
  off = await openHarness();
  strict = await openHarness({ settings: { dpop: 'nonce' } });
  caller = await callerOf(harness);
  token = await boundToken(caller);
});

afterAll(async () => {
  await harness?.close();
  await off?.close();
  await strict?.close();
});

test('a client that sends a proof gets a token of type DPoP with the thumbprint of its key, others get Bearer', async () => {
  expect(decodeJwt(token).cnf).toEqual({ jkt: expect.stringMatching(/^[\w-]{43}$/) });
  expect((await call(await useProof())).status).toBe(200);
  const plain = await ask(caller, undefined);
  expect([plain.json.token_type, decodeJwt(plain.json.access_token).cnf]).toEqual(['Bearer', undefined]);
  expect((await sendRequest(harness.url, 'GET', read, { headers: bearer(plain.json.access_token) })).status).toBe(200);
});

test.each(['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256'])(
  'proofs signed by %s are good for tokens and for calls',
  async (alg) => {
    const of = { ...caller, key: newProofKey(alg) };
    const use = await boundToken(of);
    const headers = { authorization: `dpop ${use}` };
    expect((await call(await useProof({}, { of, use }), headers)).status).toBe(200);
  },
);

test('a client that must use DPoP gets no token without a proof', async () => {
  const required = await callerOf(harness, true);
  const refused = await ask(required, undefined);
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_dpop_proof']);
  expect((await ask(required, await tokenProof(required))).json.token_type).toBe('DPoP');
  const shown = await harness.credentials.showClient(required.client.client_id);
  expect(shown.dpop).toBe('required');
});

test('a client without the right to tokens, or without a grant, is refused for that, whatever its proof', async () => {
  const required = await callerOf(harness, true);
  const { client_id } = required.client;
  const error = async (proof: string | undefined): Promise<unknown> => (await ask(required, proof)).json.error;
  const proof = await tokenProof(required);
  await harness.credentials.setClientMayUseTokens(client_id, false);
  await until(async () => (await error(proof)) === 'unauthorized_client');
  expect(await error(undefined)).toBe('unauthorized_client');
  expect(await error('x')).toBe('unauthorized_client');
  await harness.credentials.setClientMayUseTokens(client_id, true);
  const { tenants } = await harness.credentials.showClient(client_id);
  for (const tenant of tenants) await harness.credentials.withdrawTenant(client_id, tenant);
  await until(async () => (await error('x')) === 'invalid_grant');
});

const badProofs: [string, () => ProofChange][] = [
  ['another typ', () => ({ header: { typ: 'JWT' } })],
  ['no typ', () => ({ header: { typ: undefined } })],
  ['no key', () => ({ header: { jwk: undefined } })],
  ['another key in its header', () => ({ signedBy: stranger })],
  ['a private key', () => ({ header: { jwk: key.privateKey.export({ format: 'jwk' }) } })],
  ['a private member', () => ({ header: { jwk: { ...key.jwk, d: 'AA' } } })],
  ['a symmetric key', () => ({ header: { jwk: { kty: 'oct', k: 'AAAA' } } })],
  ['a point off the curve', () => ({ header: { jwk: { ...key.jwk, x: key.jwk.y } } })],
  ['an RSA key that is too large', () => ({ header: { jwk: { kty: 'RSA', n: 'x'.repeat(2_000), e: 'AQAB' } } })],
  ['no jti', () => ({ claims: { jti: undefined } })],
  ['a long jti', () => ({ claims: { jti: 'x'.repeat(256) } })],
  ['no htm', () => ({ claims: { htm: undefined } })],
  ['another htm', () => ({ claims: { htm: 'PUT' } })],
  ['a small htm', () => ({ claims: { htm: 'get' } })],
  ['no htu', () => ({ claims: { htu: undefined } })],
  ['another host', () => ({ claims: { htu: `http://evil.example${read}` } })],
  ['another path', () => ({ claims: { htu: `${harness.url}/api/orders` } })],
  ['another scheme', () => ({ claims: { htu: harness.url.replace('http', 'https') + read } })],
  ['no iat', () => ({ claims: { iat: undefined } })],
  ['an iat of words', () => ({ claims: { iat: 'now' } })],
  ['an old iat', () => ({ claims: { iat: Math.floor(harness.clock.now().getTime() / 1000) - 62 } })],
  ['an iat to come', () => ({ claims: { iat: Math.floor(harness.clock.now().getTime() / 1000) + 62 } })],
  ['an end that is over', () => ({ claims: { exp: Math.floor(harness.clock.now().getTime() / 1000) - 1 } })],
];

test('a client that must use DPoP now loses the Bearer tokens that it had', async () => {
  const own = await callerOf(harness);
  const use = await tokenOf(harness.url, own.client);
  await harness.database.pool.query('update gateway.clients set dpop_required = true where client_id = $1', [
    own.client.client_id,
  ]);
  const fresh = await harness.openDoor();
  expect((await sendRequest(fresh.url, 'GET', read, { headers: bearer(use) })).status).toBe(401);
});

test('requiring DPoP of a client reaches a running gateway within a second, and so does ceasing to', async () => {
  const own = await callerOf(harness);
  const { client_id } = own.client;
  const [plain, bound] = [await tokenOf(harness.url, own.client), await boundToken(own)];
  const statuses = async (): Promise<number[]> => {
    const asBearer = await sendRequest(harness.url, 'GET', read, { headers: bearer(plain) });
    const proof = await useProof({}, { of: own, use: bound });
    return [asBearer.status, (await call(proof, { authorization: `DPoP ${bound}` })).status];
  };
  expect(await statuses()).toEqual([200, 200]);
  await harness.credentials.setClientDpopRequired(client_id, true);
  await isWithinASecond(statuses, [401, 200]);
  expect((await ask(own, undefined)).json.error).toBe('invalid_dpop_proof');
  await harness.credentials.setClientDpopRequired(client_id, false);
  await isWithinASecond(statuses, [200, 200]);
  await expect(harness.credentials.setClientDpopRequired('opc_unknown', true)).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('a bound token stays bound when the operator switches DPoP off', async () => {
  const without = await harness.openDoor({ settings: { dpop: 'off' } });
  const dpop = await useProof();
  for (const scheme of ['Bearer', 'DPoP']) {
    const headers = { authorization: `${scheme} ${token}`, dpop };
    expect((await sendRequest(without.url, 'GET', read, { headers })).status).toBe(401);
  }
  expect((await call(dpop)).status).toBe(200);
});

test.each(badProofs)('a proof with %s is refused for a call and for a token', async (_name, change) => {
  expect(refusalOf(await call(await useProof(change())))).toEqual(refusedProof);
  const refused = await ask(caller, await tokenProof(caller, change()));
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_dpop_proof']);
});

test('a proof for another token, without a token, by another key or that is no JWT is refused; the right one passes', async () => {
  const proofs = [
    await useProof({ claims: { ath: undefined } }),
    await useProof({}, { use: `${token}x` }),
    await useProof({}, { of: { ...caller, key: stranger } }),
    await tokenProof(caller),
    await useProof({}, { method: 'POST' }),
    'x',
    'a.b.c',
    '..',
    'x'.repeat(5_000),
    `${await useProof()},${await useProof()}`,
    noneProof(),
    criticalProof(),
    hmacProof(),
    undefined,
  ];
  for (const proof of proofs) expect(refusalOf(await call(proof))).toEqual(refusedProof);
  expect((await call(await useProof())).status).toBe(200);
});

const unsigned = (header: object): string => {
  const iat = Math.floor(harness.clock.now().getTime() / 1000);
  const claims = { jti: randomUUID(), htm: 'GET', htu: harness.url + read, iat, ath: athOf(token) };
  return [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
};
const noneProof = (): string => `${unsigned({ typ: 'dpop+jwt', alg: 'none', jwk: key.jwk })}.`;
/** Signed by hand: no library writes a critical member that it does not know. */
const criticalProof = (): string => {
  const text = unsigned({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk, crit: ['own'], own: 1 });
  return `${text}.${sign('sha256', Buffer.from(text), { key: key.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
};
const hmacProof = (): string => {
  const text = unsigned({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } });
  return `${text}.${createHmac('sha256', Buffer.from('AAAA', 'base64url')).update(text).digest('base64url')}`;
};

test('htu is compared without query and fragment, and after normalisation', async () => {
  const upper = harness.url.replace('http:', 'HTTP:');
  for (const htu of [`${harness.url}${read}?a=b#c`, upper + read, `${harness.url}/api/x/../orders/list`])
    expect((await call(await useProof({ claims: { htu } }), {}, harness.url, `${read}?page=1`)).status).toBe(200);
});

test('a bound token is no Bearer token, and an unbound one is none for DPoP, right proof or not', async () => {
  const dpop = await useProof();
  const asBearer = await sendRequest(harness.url, 'GET', read, { headers: { ...bearer(token), dpop } });
  expect(refusalOf(asBearer)).toEqual([401, 'invalid_token', ['Bearer', 'invalid_token']]);
  const use = await tokenOf(harness.url, caller.client);
  const proof = await useProof({}, { use });
  const asDpop = await call(proof, { authorization: `DPoP ${use}` });
  expect(refusalOf(asDpop)).toEqual([401, 'invalid_token', ['DPoP', 'invalid_token']]);
  expect(asDpop.headers['www-authenticate']).toContain('algs="ES256 EdDSA PS256 RS256"');
  expect((await call(dpop)).status).toBe(200);
});

test('two DPoP headers, two schemes, or DPoP beside a key are ambiguous', async () => {
  const [one, two] = [await useProof(), await useProof()];
  const scheme = ['authorization', `DPoP ${token}`];
  const cases = [
    [...scheme, 'dpop', one, 'DPoP', two],
    [...scheme, 'authorization', `Bearer ${token}`, 'dpop', one],
    [...scheme, 'dpop', one, 'x-api-key', 'opk_x'],
    ['authorization', 'DPoP', 'dpop', one],
    ['authorization', `DPoP ${token} ${token}`, 'dpop', one],
  ];
  for (const pairs of cases) {
    const reply = await sendRequest(harness.url, 'GET', read, { headers: rawHeaders(harness.url, ...pairs) });
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  }
  const forToken = await sendRequest(harness.url, 'POST', '/api/oauth/token', {
    headers: rawHeaders(
      harness.url,
      ...['content-type', 'application/x-www-form-urlencoded'],
      ...['dpop', await tokenProof(caller), 'dpop', await tokenProof(caller)],
    ),
    body: new URLSearchParams({ ...grant, ...caller.client }).toString(),
  });
  expect([forToken.status, forToken.json.error]).toEqual([400, 'invalid_dpop_proof']);
  expect((await call(one)).status).toBe(200);
});

test('a missing scope is refused under the scheme DPoP, and the challenge without a credential offers both schemes', async () => {
  const tenants = [await harness.createTenant()];
  const reader = { ...caller, client: pick(await harness.createClient(tenants, ['read:menu'])) };
  const use = await boundToken(reader);
  const reply = await call(await useProof({}, { use }), { authorization: `DPoP ${use}` });
  expect(refusalOf(reply)).toEqual([403, 'insufficient_scope', ['DPoP', 'insufficient_scope']]);
  expect(reply.headers['www-authenticate']).toContain('scope="read:orders"');
  const anonymous = await sendRequest(harness.url, 'GET', read);
  expect(anonymous.headers['www-authenticate']).toMatch(/^Bearer realm=.*, DPoP realm="orderpass", algs="ES256/);
});

test('a proof is used once, at all gateways together, also when both get it at the same moment', async () => {
  const second = await harness.openDoor();
  const proof = await useProof();
  const replies = await Promise.all([
    call(proof),
    call(proof, {}, second.url),
    call(proof),
    call(proof, {}, second.url),
  ]);
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  const forToken = await tokenProof(caller);
  const tokens = [await ask(caller, forToken), await ask(caller, forToken, second.url)];
  expect(tokens.map(({ status }) => status)).toEqual([200, 400]);
});

describe.skipIf(!hasRedis)('gateways that share a Redis', () => {
  test('a used proof stays used at the other gateway when Redis dies', async () => {
    const redis = await startRedis();
    const kvs = [1, 2].map(() => createRedisKv({ url: redis.url, log: pino({ level: 'silent' }), waitMsMax: 10_000 }));
    await until(() => kvs.every((kv) => kv.health() === 'up'));
    const [first, second] = await Promise.all(kvs.map((kv) => harness.openDoor({ kv })));
    if (first === undefined || second === undefined) throw new Error('no gateways');
    const proof = await useProof();
    expect((await call(proof, {}, first.url)).status).toBe(200);
    expect((await call(proof, {}, second.url)).status).toBe(401);
    await redis.kill();
    expect((await call(proof, {}, second.url)).status).toBe(401);
    expect((await call(await useProof(), {}, second.url)).status).toBe(200);
    for (const door of [first, second]) await door.close();
    for (const kv of kvs) await kv.close();
  });
});

test('/auth/check verifies the proof against the original method and address', async () => {
  const check = (proof: string): Promise<Reply> =>
    sendRequest(harness.url, 'GET', '/auth/check', {
      headers: { authorization: `DPoP ${token}`, dpop: proof, 'x-original-method': 'HEAD', 'x-original-uri': read },
    });
  expect((await check(await useProof({}, { path: '/auth/check' }))).status).toBe(401);
  expect((await check(await useProof())).status).toBe(401);
  const proof = await useProof({}, { method: 'HEAD' });
  expect((await check(proof)).status).toBe(200);
  expect((await check(proof)).status).toBe(401);
});

test('nonces: asked for with a fresh one, the same at every gateway, live for two windows', async () => {
  // To the middle of a window, so that no other window begins during the requests before each move.
  strict.clock.move(180_000 - (strict.clock.now().getTime() % 120_000));
  const own = await callerOf(strict);
  const asked = await ask(own, await tokenProof(own));
  expect([asked.status, asked.json.error]).toEqual([400, 'use_dpop_nonce']);
  const nonce = String(asked.headers['dpop-nonce']);
  expect((await ask(own, await tokenProof(own, { claims: { nonce: 'forged' } }))).json.error).toBe('use_dpop_nonce');
  const use = await boundToken(own, { claims: { nonce } });
  const second = await strict.openDoor();
  const go = async (claims: Record<string, unknown>): Promise<Reply> =>
    call(await useProof({ claims }, { of: own, use }), { authorization: `DPoP ${use}` }, second.url);
  const refused = await go({});
  expect(refusalOf(refused)).toEqual([401, 'use_dpop_nonce', ['DPoP', 'use_dpop_nonce']]);
  expect((await go({ nonce: refused.headers['dpop-nonce'] })).status).toBe(200);
  expect((await go({ nonce: 7 })).json.error).toBe('invalid_dpop_proof');
  strict.clock.move(120_000);
  expect((await go({ nonce })).status).toBe(200);
  strict.clock.move(120_000);
  const late = await go({ nonce });
  expect([late.status, late.json.error]).toEqual([401, 'use_dpop_nonce']);
  expect((await go({ nonce: late.headers['dpop-nonce'] })).status).toBe(200);
});

test('off unless the operator wants it: a proof changes nothing, the scheme is an unknown one, bound tokens are refused', async () => {
  const own = await callerOf(off);
  const reply = await ask(own, await tokenProof(own));
  expect([reply.status, reply.json.token_type]).toEqual([200, 'Bearer']);
  const use = String(reply.json.access_token);
  const dpop = await useProof({}, { of: own, use });
  const headers = { authorization: `DPoP ${use}`, dpop };
  const refused = await sendRequest(off.url, 'GET', read, { headers });
  expect([refused.status, refused.json.error, refused.headers['www-authenticate']]).toEqual([
    401,
    'INVALID_AUTH',
    expect.not.stringContaining('DPoP'),
  ]);
  const required = await callerOf(off, true);
  expect((await ask(required, await tokenProof(required))).json.error).toBe('invalid_request');
  expect((await sendRequest(off.url, 'GET', '/.well-known/oauth-protected-resource')).text).not.toContain('dpop');
});

test('metadata names the algorithms; introspection tells binding and type', async () => {
  for (const path of ['oauth-authorization-server', 'oauth-protected-resource']) {
    const { json } = await sendRequest(harness.url, 'GET', `/.well-known/${path}`);
    expect(json.dpop_signing_alg_values_supported).toEqual(['ES256', 'EdDSA', 'PS256', 'RS256']);
  }
  const tenants = [await harness.createTenant()];
  const asker = pick(formOf(await harness.credentials.createClient({ name: 'asker', tenants, mayIntrospect: true })));
  const { json } = await postToken(harness.url, { ...asker, token }, {}, '/api/oauth/introspect');
  expect([json.active, json.token_type, json.cnf]).toEqual([true, 'DPoP', decodeJwt(token).cnf]);
});

test('introspection calls a bound token inactive at a gateway that has DPoP off, as every service refuses it there', async () => {
  const withoutDpop = await harness.openDoor({ settings: { dpop: 'off' } });
  const tenants = [await harness.createTenant()];
  const asker = pick(formOf(await harness.credentials.createClient({ name: 'asker', tenants, mayIntrospect: true })));
  const introspect = (url: string) => postToken(url, { ...asker, token }, {}, '/api/oauth/introspect');
  expect((await introspect(harness.url)).json.active).toBe(true);
  expect((await introspect(withoutDpop.url)).json).toEqual({ active: false });
});

test('ended proofs leave the table bit by bit', async () => {
  strict.clock.move(600_000);
  const own = await callerOf(strict);
  const nonce = (await ask(own, await tokenProof(own))).headers['dpop-nonce'];
  await boundToken(own, { claims: { nonce } });
  const { rows } = await strict.database.pool.query('select 1 from gateway.used_proofs');
  expect(rows).toHaveLength(1);
});

test.each(['on', 'nonce'])('oauth4webapi gets and uses a bound token (%s)', async (mode) => {
  const at = mode === 'on' ? harness : strict;
  const { client } = await callerOf(at);
  const insecure = { [oauth.allowInsecureRequests]: true };
  const as = await oauth.processDiscoveryResponse(
    new URL(at.url),
    await oauth.discoveryRequest(new URL(at.url), { ...insecure, algorithm: 'oauth2' }),
  );
  const skew = Math.round((at.clock.now().getTime() - Date.now()) / 1000);
  const self = { client_id: client.client_id, [oauth.clockSkew]: skew };
  const DPoP = oauth.DPoP(self, await oauth.generateKeyPair('ES256'));
  const twice = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (mode === 'nonce' && oauth.isDPoPNonceError(error)) return work();
      throw error;
    }
  };
  const got = await twice(async () =>
    oauth.processClientCredentialsResponse(
      as,
      self,
      await oauth.clientCredentialsGrantRequest(
        as,
        self,
        oauth.ClientSecretPost(client.client_secret),
        {},
        { ...insecure, DPoP },
      ),
    ),
  );
  expect(got.token_type).toBe('dpop');
  for (let i = 0; i < 2; i += 1) {
    const response = await twice(() =>
      oauth.protectedResourceRequest(got.access_token, 'GET', new URL(at.url + read), undefined, null, {
        ...insecure,
        DPoP,
      }),
    );
    expect(response.status).toBe(200);
  }
});

test('whatever stands in the DPoP header, it is refused with 400 or 401 and never passes', async () => {
  const good = await useProof();
  const parts = good.split('.');
  const broken = fc
    .tuple(fc.nat(2), fc.string({ unit: 'binary-ascii', maxLength: 40 }), fc.nat(60))
    .map(([part, put, at]) => {
      const text = parts[part] ?? '';
      return parts
        .with(part, text.slice(0, at) + Buffer.from(put).toString('base64url') + text.slice(at + 1))
        .join('.');
    });
  const printable = fc.string({
    unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 300,
  });
  const headers = fc.dictionary(
    fc.constantFrom('typ', 'alg', 'jwk', 'kid', 'crit', 'b64', 'x5c', 'jku', 'zip'),
    fc.oneof(
      fc.json().map((text) => JSON.parse(text) as unknown),
      fc.constantFrom<unknown>('dpop+jwt', 'ES256', key.jwk),
    ),
  );
  const crafted = headers.map(
    (header) => `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${parts[1]}.${parts[2]}`,
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(broken, printable, crafted), async (proof) => {
      fc.pre(proof !== good);
      const { status, json } = await call(proof);
      expect([400, 401]).toContain(status);
      expect(['invalid_dpop_proof', 'invalid_request']).toContain(json.error);
      expect((await ask(caller, proof)).status).toBe(400);
    }),
    { numRuns: 150 },
  );
  expect((await call(good)).status).toBe(200);
});

/** RFC 9449: each requirement on the two servers that applies here, a test each, named by its section. */
import { createHmac, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
} from '../gateway/harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { athOf, makeProof, newProofKey, type ProofChange, type ProofKey } from '../support/proofs.ts';

type Client = { client_id: string; client_secret: string };
type Place = { harness: Harness; client: Client; token: string };

const key = newProofKey();
let plain: Place;
let strict: Place;

const tokenProof = ({ harness }: { harness: Harness }, change?: ProofChange, own: ProofKey = key): Promise<string> =>
  makeProof(own, { method: 'POST', url: `${harness.url}/api/oauth/token`, now: harness.clock.now() }, change);

const askToken = ({ harness, client }: Omit<Place, 'token'>, dpop?: string): Promise<Reply> =>
  postToken(harness.url, { grant_type: 'client_credentials', ...client }, dpop === undefined ? {} : { dpop });

const openPlace = async (dpop: 'on' | 'nonce'): Promise<Place> => {
  const harness = await openHarness({
    settings: { dpop, auth_check: 'on', signals: 'on', rate_failures_max: 1_000_000 },
  });
  const tenants = [await harness.createTenant()];
  const made = await harness.credentials.createClient({ name: 'test', tenants, mayIntrospect: true });
  const place = { harness, client: pick(formOf(made)) };
  const nonce = (await askToken(place, await tokenProof(place))).headers['dpop-nonce'];
  const { json } = await askToken(place, await tokenProof(place, { claims: { nonce } }));
  return { ...place, token: String(json.access_token) };
};

beforeAll(async () => {
  plain = await openPlace('on');
  strict = await openPlace('nonce');
});

afterAll(async () => {
  await plain?.harness.close();
  await strict?.harness.close();
});

const proofFor = ({ harness, token }: Place, change?: ProofChange, own: ProofKey = key): Promise<string> =>
  makeProof(own, { method: 'GET', url: harness.url + read, now: harness.clock.now(), token }, change);

const use = ({ harness, token }: Place, dpop: string): Promise<Reply> =>
  sendRequest(harness.url, 'GET', read, { headers: { authorization: `DPoP ${token}`, dpop } });

/** At both servers the changed proof is refused; without the change it would pass, which the last call shows. */
const expectRefused = async (change: ProofChange, own: ProofKey = key): Promise<void> => {
  const atResource = await use(plain, await proofFor(plain, change, own));
  expect([atResource.status, atResource.json.error]).toEqual([401, 'invalid_dpop_proof']);
  const atServer = await askToken(plain, await tokenProof(plain, change, own));
  expect([atServer.status, atServer.json.error]).toEqual([400, 'invalid_dpop_proof']);
  expect((await use(plain, await proofFor(plain))).status).toBe(200);
};

const seconds = (): number => Math.floor(plain.harness.clock.now().getTime() / 1000);

test('RFC 9449 4.3: there is not more than one DPoP header field', async () => {
  const { harness, client, token } = plain;
  const [one, two] = [await proofFor(plain), await proofFor(plain)];
  const pairs = ['authorization', `DPoP ${token}`, 'dpop', one, 'dpop', two];
  expect((await sendRequest(harness.url, 'GET', read, { headers: rawHeaders(harness.url, ...pairs) })).status).toBe(
    400,
  );
  const type = ['content-type', 'application/x-www-form-urlencoded'];
  const both = ['dpop', await tokenProof(plain), 'dpop', await tokenProof(plain)];
  const reply = await sendRequest(harness.url, 'POST', '/api/oauth/token', {
    headers: rawHeaders(harness.url, ...type, ...both),
    body: new URLSearchParams({ grant_type: 'client_credentials', ...client }).toString(),
  });
  expect([reply.status, reply.json.error]).toEqual([400, 'invalid_dpop_proof']);
  expect((await use(plain, one)).status).toBe(200);
});

test('RFC 9449 4.3: the value of the header is a single, well-formed JWT', async () => {
  const good = await proofFor(plain);
  for (const proof of ['x', 'a.b', '{}', `${good}.x`, `${good}, ${good}`, good.slice(0, -2)])
    expect((await use(plain, proof)).json.error).toBe('invalid_dpop_proof');
  expect((await use(plain, good)).status).toBe(200);
});

test.each(['jti', 'htm', 'htu', 'iat'])('RFC 9449 4.3: the required claim %s is there', async (name) => {
  await expectRefused({ claims: { [name]: undefined } });
});

test('RFC 9449 4.3: the typ is dpop+jwt', async () => {
  for (const typ of [undefined, 'JWT', 'at+jwt', 'jwt+dpop']) await expectRefused({ header: { typ } });
});

test('RFC 9449 4.3: the alg is asymmetric, not none, and one that is supported', async () => {
  const iat = seconds();
  const claims = { jti: randomUUID(), htm: 'GET', htu: plain.harness.url + read, iat, ath: athOf(plain.token) };
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const none = `${encode({ typ: 'dpop+jwt', alg: 'none', jwk: key.jwk })}.${encode(claims)}.`;
  const text = `${encode({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } })}.${encode(claims)}`;
  const hmac = createHmac('sha256', Buffer.from('AAAA', 'base64url')).update(text).digest('base64url');
  for (const proof of [none, `${text}.${hmac}`])
    expect((await use(plain, proof)).json.error).toBe('invalid_dpop_proof');
  await expectRefused({}, { ...newProofKey('RS256'), alg: 'RS512' });
});

test('RFC 9449 4.3: the signature verifies with the public key in the jwk header', async () => {
  await expectRefused({ signedBy: newProofKey() });
});

test('RFC 9449 4.3: the jwk header holds no private key', async () => {
  await expectRefused({ header: { jwk: key.privateKey.export({ format: 'jwk' }) } });
});

test('RFC 9449 4.3: htm is the method of the request', async () => {
  await expectRefused({ claims: { htm: 'DELETE' } });
  const head = await proofFor(plain);
  const { harness, token } = plain;
  const headers = { authorization: `DPoP ${token}`, dpop: head };
  expect((await sendRequest(harness.url, 'HEAD', read, { headers })).status).toBe(401);
});

test('RFC 9449 4.3 and RFC 8705 5: htu may name the host for certificates, which the metadata names beside the public one', async () => {
  const aliases = 'https://mtls.example';
  const door = await plain.harness.openDoor({ settings: { mtls_origin: aliases } });
  const there = async (origin: string): Promise<[number, number]> => {
    const now = plain.harness.clock.now();
    const { token } = plain;
    const use = await makeProof(key, { method: 'GET', url: origin + read, now, token });
    const ask = await makeProof(key, { method: 'POST', url: `${origin}/api/oauth/token`, now });
    const headers = { authorization: `DPoP ${token}`, dpop: use };
    const used = await sendRequest(door.url, 'GET', read, { headers });
    const asked = await postToken(door.url, { grant_type: 'client_credentials', ...plain.client }, { dpop: ask });
    return [used.status, asked.status];
  };
  expect(await there(aliases)).toEqual([200, 200]);
  expect(await there(plain.harness.url)).toEqual([200, 200]);
  expect(await there('https://mtls.example.evil.example')).toEqual([401, 400]);
  await door.close();
  // Without such a host only the public one.
  await expectRefused({ claims: { htu: aliases + read } });
});

test('RFC 9449 4.3: htu is the address of the request, without its query and fragment', async () => {
  const { url } = plain.harness;
  for (const htu of [`${url}/`, `https://other.example${read}`, read, `${url}${read}/`])
    await expectRefused({ claims: { htu } });
  expect((await use(plain, await proofFor(plain, { claims: { htu: `${url}${read}?page=2#x` } }))).status).toBe(200);
});

test('RFC 9449 4.3: htu and address are compared after the normalisation of RFC 3986, which decodes no other character', async () => {
  const { url } = plain.harness;
  for (const path of [read.replace('orders', '%6Frders'), read.replace('orders', '%6frde%72s')])
    expect((await use(plain, await proofFor(plain, { claims: { htu: url + path } }))).status).toBe(200);
  for (const path of [read.replace('orders/list', 'orders%2Flist'), read.replace('list', 'list%3F')])
    await expectRefused({ claims: { htu: url + path } });
});

test('RFC 9449 4.3: a nonce that the server gave is in the proof', async () => {
  expect((await use(strict, await proofFor(strict))).json.error).toBe('use_dpop_nonce');
  expect((await use(strict, await proofFor(strict, { claims: { nonce: 'guessed' } }))).json.error).toBe(
    'use_dpop_nonce',
  );
});

test('RFC 9449 4.3: the proof was made within an acceptable time', async () => {
  for (const iat of [seconds() - 62, seconds() + 62]) await expectRefused({ claims: { iat } });
});

test('RFC 9449 4.3: ath is the digest of the access token', async () => {
  for (const ath of [undefined, '', athOf(`${plain.token}x`)]) {
    const reply = await use(plain, await proofFor(plain, { claims: { ath } }));
    expect([reply.status, reply.json.error]).toEqual([401, 'invalid_dpop_proof']);
  }
});

test('RFC 9449 4.3: the key that the token is bound to is the key of the proof', async () => {
  const reply = await use(plain, await proofFor(plain, {}, newProofKey()));
  expect([reply.status, reply.json.error]).toEqual([401, 'invalid_dpop_proof']);
});

test('RFC 9449 4.2: claims and header parameters beyond those of the section do no harm, critical ones are refused', async () => {
  const more = { claims: { sub: 'x', nested: { deep: [1] } }, header: { kid: 'mine', x5t: 'AAAA' } };
  expect((await use(plain, await proofFor(plain, more))).status).toBe(200);
  expect((await askToken(plain, await tokenProof(plain, more))).json.token_type).toBe('DPoP');
  // RFC 7515 section 4.1.11: who does not understand a critical parameter takes nothing of the whole.
  const [header, payload, signature] = (await proofFor(plain)).split('.');
  const critical = { ...JSON.parse(Buffer.from(header ?? '', 'base64url').toString()), crit: ['exp'], exp: 1 };
  const text = Buffer.from(JSON.stringify(critical)).toString('base64url');
  expect((await use(plain, `${text}.${payload}.${signature}`)).json.error).toBe('invalid_dpop_proof');
});

test('RFC 9449 5: the token_type of a bound token is DPoP, and Bearer without a proof', async () => {
  expect((await askToken(plain, await tokenProof(plain))).json.token_type).toBe('DPoP');
  expect((await askToken(plain)).json.token_type).toBe('Bearer');
});

test('RFC 9449 5: a wrong proof is answered with the error response of RFC 6749 5.2 and invalid_dpop_proof', async () => {
  const reply = await askToken(plain, 'x');
  expect([reply.status, reply.json.error, reply.headers['cache-control']]).toEqual([
    400,
    'invalid_dpop_proof',
    'no-store',
  ]);
});

test('RFC 9449 5.1: the metadata of the server names the algorithms, none of them symmetric', async () => {
  const { json } = await sendRequest(plain.harness.url, 'GET', '/.well-known/oauth-authorization-server');
  expect(json.dpop_signing_alg_values_supported).toEqual(['ES256', 'EdDSA', 'PS256', 'RS256']);
});

test('RFC 9449 5.2: a client that must use DPoP gets no token without a proof', async () => {
  const { harness } = plain;
  const tenants = [await harness.createTenant()];
  const client = pick(formOf(await harness.credentials.createClient({ name: 'bound', tenants, dpopRequired: true })));
  expect((await askToken({ harness, client })).status).toBe(400);
  expect((await askToken({ harness, client }, await tokenProof(plain))).status).toBe(200);
});

test('RFC 9449 6: the binding can be read from the token and by introspection alike', async () => {
  const cnf = { jkt: await calculateJwkThumbprint(key.jwk) };
  expect([decodeProtectedHeader(plain.token).typ, decodeJwt(plain.token).cnf]).toEqual(['at+jwt', cnf]);
  const { harness, client, token } = plain;
  const { json } = await postToken(harness.url, { ...client, token }, {}, '/api/oauth/introspect');
  expect([json.cnf, json.token_type]).toEqual([cnf, 'DPoP']);
});

test('RFC 9449 7.1: a bound token is not taken without a proof', async () => {
  const { harness, token } = plain;
  const reply = await sendRequest(harness.url, 'GET', read, { headers: { authorization: `DPoP ${token}` } });
  expect([reply.status, reply.json.error]).toEqual([401, 'invalid_dpop_proof']);
});

test('RFC 9449 7.1: the challenge has the scheme DPoP, the error and the algorithms', async () => {
  const reply = await use(plain, 'x');
  expect(reply.headers['www-authenticate']).toMatch(
    /^DPoP realm="orderpass", error="invalid_dpop_proof", .*algs="ES256 EdDSA PS256 RS256"$/,
  );
});

test('RFC 9449 7.1: the challenge has the scheme of the credential also where an empty field stands before it', async () => {
  const { url } = plain.harness;
  const headers = rawHeaders(url, 'authorization', '', 'authorization', `DPoP ${plain.token}`);
  const reply = await sendRequest(url, 'GET', read, { headers });
  expect(reply.json.error).toBe('invalid_dpop_proof');
  expect(reply.headers['www-authenticate']).toMatch(/^DPoP .*algs="/);
});

test('RFC 9449 11.1: a proof is used once, and another proxy that asks for the text of its refusal gets that refusal', async () => {
  const { harness } = plain;
  const form = { grant_type: 'client_credentials', scope: 'read:menu', ...plain.client };
  const { json } = await postToken(harness.url, form, { dpop: await tokenProof(plain) });
  const narrow = { ...plain, token: String(json.access_token) };
  const dpop = await proofFor(narrow);
  const ask = (more: Record<string, string>) =>
    sendRequest(harness.url, 'GET', '/auth/check', {
      headers: {
        authorization: `DPoP ${narrow.token}`,
        dpop,
        'x-forwarded-uri': read,
        'x-forwarded-method': 'GET',
        ...more,
      },
    });
  expect((await ask({})).status).toBe(403);
  const again = await ask({ 'x-original-refused': 'true' });
  expect([again.status, again.json.error]).toEqual([403, 'insufficient_scope']);
  expect(again.headers['www-authenticate']).toContain('scope="read:orders"');
  expect((await ask({})).json.error).toBe('invalid_dpop_proof');
  // A proof that allows a request is never taken a second time by saying that it was refused.
  const used = await proofFor(plain);
  expect((await use(plain, used)).status).toBe(200);
  const bound = {
    authorization: `DPoP ${plain.token}`,
    dpop: used,
    'x-forwarded-uri': read,
    'x-forwarded-method': 'GET',
  };
  const refused = await sendRequest(harness.url, 'GET', '/auth/check', {
    headers: { ...bound, 'x-original-refused': 'true' },
  });
  expect(refused.status).toBe(503);
});

test('RFC 9449 7.1: a challenge names error, realm, scope and algorithms once at most', async () => {
  const narrow = { ...plain, token: '' };
  const form = { grant_type: 'client_credentials', scope: 'read:menu', ...plain.client };
  const { json } = await postToken(plain.harness.url, form, { dpop: await tokenProof(plain) });
  narrow.token = String(json.access_token);
  const lacking = await use(narrow, await proofFor(narrow));
  expect([lacking.status, lacking.json.error]).toEqual([403, 'insufficient_scope']);
  expect(lacking.headers['www-authenticate']).toContain('scope="read:orders"');
  const wrong = await use(plain, 'x');
  for (const { headers } of [lacking, wrong]) {
    const challenge = headers['www-authenticate'] ?? '';
    expect(challenge).toMatch(/^DPoP /);
    const names = [...challenge.matchAll(/[ ,]([a-z_]+)="/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(3);
    expect(new Set(names).size).toBe(names.length);
  }
});

test('RFC 9449 7.2: a bound token that comes as a Bearer token is rejected', async () => {
  const { harness, token } = plain;
  const reply = await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
  expect([reply.status, reply.json.error]).toEqual([401, 'invalid_token']);
});

test('RFC 9449 7.2: a server that accepts both schemes offers both', async () => {
  const challenge = (await sendRequest(plain.harness.url, 'GET', read)).headers['www-authenticate'];
  expect(challenge).toMatch(/^Bearer .*, DPoP realm="orderpass", algs="/);
});

test('RFC 9449 7.1: a token that is bound to no key is not taken under the scheme DPoP', async () => {
  const token = await tokenOf(plain.harness.url, plain.client);
  const other = { ...plain, token };
  expect((await use(other, await proofFor(other))).json.error).toBe('invalid_token');
});

test('RFC 9449 8: the authorization server asks for its nonce with use_dpop_nonce, 400 and DPoP-Nonce', async () => {
  const reply = await askToken(strict, await tokenProof(strict));
  expect([reply.status, reply.json.error]).toEqual([400, 'use_dpop_nonce']);
  // NQCHAR of RFC 6749 appendix A.
  expect(reply.headers['dpop-nonce']).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
  const { nonce } = { nonce: reply.headers['dpop-nonce'] };
  expect((await askToken(strict, await tokenProof(strict, { claims: { nonce } }))).status).toBe(200);
});

test('RFC 9449 8: a wrong nonce is refused with the next one', async () => {
  const reply = await askToken(strict, await tokenProof(strict, { claims: { nonce: 'x' } }));
  expect([reply.status, reply.json.error, reply.headers['dpop-nonce']]).toEqual([
    400,
    'use_dpop_nonce',
    expect.any(String),
  ]);
});

test('RFC 9449 8.2: with its answer the server tells the nonce of the next request', async () => {
  const nonce = (await askToken(strict, await tokenProof(strict))).headers['dpop-nonce'];
  const reply = await askToken(strict, await tokenProof(strict, { claims: { nonce } }));
  expect([reply.status, reply.headers['dpop-nonce']]).toEqual([200, expect.any(String)]);
});

test('RFC 9449 8.2: an answer holds at most one DPoP-Nonce and may not be stored, at both servers, refused or not', async () => {
  const { url } = strict.harness;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...strict.client });
  let nonce: string | undefined;
  const claims = (): ProofChange => ({ claims: nonce === undefined ? {} : { nonce } });
  for (const statuses of [
    [400, 401],
    [200, 200],
  ]) {
    const asked = await fetch(`${url}/api/oauth/token`, {
      method: 'POST',
      headers: { ...form, dpop: await tokenProof(strict, claims()) },
      body,
    });
    const used = await fetch(url + read, {
      headers: { authorization: `DPoP ${strict.token}`, dpop: await proofFor(strict, claims()) },
    });
    expect([asked.status, used.status]).toEqual(statuses);
    // With success the resource server says nothing new: its nonces live long enough to be asked for again.
    for (const { headers, status } of [asked, used]) {
      // Two of one name would be joined by a comma, which no nonce of this server holds.
      if (status !== 200 || headers.has('dpop-nonce')) expect(headers.get('dpop-nonce')).toMatch(/^[A-Za-z0-9._~-]+$/);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    nonce = used.headers.get('dpop-nonce') ?? undefined;
  }
});

test('RFC 9449 8.2: an answer of the endpoints of security events tells the nonce of the next request', async () => {
  const { url, clock } = strict.harness;
  const path = '/api/oauth/signals/streams';
  const list = async (claims: Record<string, unknown>): Promise<Reply> => {
    const request = { method: 'GET', url: url + path, now: clock.now(), token: strict.token };
    const dpop = await makeProof(key, request, { claims });
    return sendRequest(url, 'GET', path, { headers: { authorization: `DPoP ${strict.token}`, dpop } });
  };
  const asked = await list({});
  expect([asked.status, asked.json.error]).toEqual([401, 'use_dpop_nonce']);
  const listed = await list({ nonce: asked.headers['dpop-nonce'] });
  expect([listed.status, listed.headers['dpop-nonce']]).toEqual([200, expect.stringMatching(/^[A-Za-z0-9._~-]+$/)]);
});

test('RFC 9449 9: the resource server asks for its nonce with 401, use_dpop_nonce and DPoP-Nonce', async () => {
  const reply = await use(strict, await proofFor(strict));
  expect(reply.status).toBe(401);
  expect(reply.headers['www-authenticate']).toMatch(/^DPoP .*error="use_dpop_nonce"/);
  const nonce = reply.headers['dpop-nonce'];
  expect((await use(strict, await proofFor(strict, { claims: { nonce } }))).status).toBe(200);
});

test('RFC 9449 11.1: a proof is taken once', async () => {
  const proof = await proofFor(plain);
  expect([(await use(plain, proof)).status, (await use(plain, proof)).status]).toEqual([200, 401]);
  const forToken = await tokenProof(plain);
  const replies = [await askToken(plain, forToken), await askToken(plain, forToken)];
  expect(replies.map(({ status }) => status)).toEqual([200, 400]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeProof, newProofKey, type ProofChange } from '../../support/proofs.ts';
import { clientHeaders, type Harness, openHarness, pick, postToken, read } from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

const failuresMax = 5;
const key = newProofKey();
let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness({
    settings: { dpop: 'nonce', auth_check: 'on', rate_failures_max: failuresMax, trusted_proxy_hops: 1 },
  });
  tenant = await harness.createTenant();
});

afterAll(() => harness?.close());

type Client = { client_id: string; client_secret: string };

const from = (address: string) => ({ 'x-forwarded-for': address });

const ask = async (client: Client, address: string, change?: ProofChange, more = {}): Promise<Reply> => {
  const url = `${harness.url}/api/oauth/token`;
  const dpop = await makeProof(key, { method: 'POST', url, now: harness.clock.now() }, change);
  const form = { grant_type: 'client_credentials', ...pick(client), ...more };
  return postToken(harness.url, form, { dpop, ...from(address) });
};

const call = async (
  token: string,
  address: string,
  change?: ProofChange,
  { method = 'GET', path = read, target }: { method?: string; path?: string; target?: string } = {},
): Promise<Reply> => {
  const proof = { method, url: harness.url + path, now: harness.clock.now(), token };
  const dpop = await makeProof(key, proof, change);
  return sendRequest(harness.url, method, target ?? path, {
    headers: {
      authorization: `DPoP ${token}`,
      dpop,
      'x-original-method': method,
      'x-original-uri': path,
      ...from(address),
    },
  });
};

const nonceOf = ({ headers }: Reply): string => {
  // One field: two of them would be joined by a comma.
  expect(headers['dpop-nonce']).toMatch(/^[\w-]{24}$/);
  return String(headers['dpop-nonce']);
};

/** What makes a proof right here: a live nonce. */
const live = async (client: Client): Promise<ProofChange> => ({
  claims: { nonce: nonceOf(await ask(client, '198.51.100.1')) },
});

const wrong = ({ claims }: ProofChange): ProofChange => ({ claims: { ...claims, htm: 'PUT' } });

const boundToken = async (client: Client, good: ProofChange): Promise<string> => {
  const reply = await ask(client, '198.51.100.1', good);
  expect([reply.status, reply.json.token_type]).toEqual([200, 'DPoP']);
  return String(reply.json.access_token);
};

test('RFC 9449 8.2: every answer to a caller with a bound token carries the nonce of its next proof', async () => {
  const client = await harness.createClient([tenant], ['read:orders']);
  const token = await boundToken(client, await live(client));
  const address = '192.0.2.1';
  let nonce = '';
  const go = async (expected: number, how = {}, change: ProofChange = {}): Promise<void> => {
    const reply = await call(token, address, { claims: { nonce, ...change.claims } }, how);
    expect(reply.status).toBe(expected);
    nonce = nonceOf(reply);
  };
  nonce = nonceOf(await call(token, address));
  // Each proof holds the nonce of the answer before; the clock moves, so an old nonce ends.
  for (let i = 0; i < 4; i += 1) {
    await go(200);
    harness.clock.move(100_000);
  }
  await go(200, { method: 'HEAD' });
  await go(200, { path: '/api/whoami' });
  await go(403, { path: '/api/menu/categories' });
  await go(401, {}, { claims: { htm: 'PUT' } });
  await go(200, { target: '/auth/check' });
  const noProof = await sendRequest(harness.url, 'GET', read, { headers: { authorization: `DPoP ${token}` } });
  expect([noProof.status, nonceOf(noProof).length]).toEqual([401, 24]);
  // Others have nothing to do with it.
  expect((await sendRequest(harness.url, 'GET', read, { headers: clientHeaders(client) })).headers['dpop-nonce']).toBe(
    undefined,
  );
});

test('RFC 9449 8.2: the token endpoint tells the next nonce with tokens and with refusals', async () => {
  const client = await harness.createClient([tenant], ['read:orders']);
  let good = await live(client);
  const granted = await ask(client, '192.0.2.2', good);
  expect(granted.status).toBe(200);
  good = { claims: { nonce: nonceOf(granted) } };
  const noScope = await ask(client, '192.0.2.2', good, { scope: 'write:orders' });
  expect([noScope.status, noScope.json.error]).toEqual([400, 'invalid_scope']);
  good = { claims: { nonce: nonceOf(noScope) } };
  const bad = await ask(client, '192.0.2.2', wrong(good));
  expect([bad.status, bad.json.error]).toEqual([400, 'invalid_dpop_proof']);
  expect((await ask(client, '192.0.2.2', { claims: { nonce: nonceOf(bad) } })).status).toBe(200);
});

test('9.2 wrong proofs use up the failures of that token and address; other tokens, addresses and the secret work on', async () => {
  const client = await harness.createClient([tenant]);
  const good = await live(client);
  const [token, second] = [await boundToken(client, good), await boundToken(client, good)];
  const address = '192.0.2.3';
  for (let i = 0; i < failuresMax; i += 1) expect((await call(token, address, wrong(good))).status).toBe(401);
  for (const change of [wrong(good), good]) {
    const refused = await call(token, address, change);
    expect([refused.status, refused.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(refused.headers['retry-after']).toBe(String(refused.json.retry_after));
  }
  expect((await call(token, '192.0.2.4', good)).status).toBe(200);
  expect((await call(second, address, good)).status).toBe(200);
  const headers = { ...clientHeaders(client), ...from(address) };
  expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(200);
});

test('9.2 to be asked for a nonce is no failure, nor is a proof that is missing; wrong secrets stop no bound token', async () => {
  const client = await harness.createClient([tenant]);
  const good = await live(client);
  const token = await boundToken(client, good);
  const address = '192.0.2.5';
  const stale = { claims: { nonce: 'stale' } };
  for (let i = 0; i < failuresMax + 2; i += 1) {
    expect((await call(token, address, stale)).json.error).toBe('use_dpop_nonce');
    expect((await ask(client, address, stale)).json.error).toBe('use_dpop_nonce');
    const headers = { authorization: `DPoP ${token}`, ...from(address) };
    expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(401);
  }
  expect((await call(token, address, good)).status).toBe(200);
  expect((await ask(client, address, good)).status).toBe(200);
  for (let i = 0; i <= failuresMax; i += 1) await ask({ ...client, client_secret: 'wrong' }, address, good);
  expect((await ask(client, address, good)).status).toBe(429);
  expect((await call(token, address, good)).status).toBe(200);
});

test('9.2 wrong proofs of a client at the token endpoint count as its failures, and no other client can cause them', async () => {
  const client = await harness.createClient([tenant]);
  const good = await live(client);
  const address = '192.0.2.6';
  for (let i = 0; i < failuresMax; i += 1) expect((await ask(client, address, wrong(good))).status).toBe(400);
  const refused = await ask(client, address, good);
  expect([refused.status, refused.json.error]).toEqual([429, 'slow_down']);
  expect((await ask(client, '192.0.2.7', good)).status).toBe(200);
  // Another client from the same address, with the first one's id in nothing but its proof.
  const other = await harness.createClient([tenant]);
  expect((await ask(other, address, good)).status).toBe(200);
});

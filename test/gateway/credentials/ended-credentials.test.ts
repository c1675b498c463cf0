/** The holder of an ended credential may read why it was refused, and nothing else (interface 11.5). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const get = (headers: Headers, target = read): Promise<Reply> => sendRequest(harness.url, 'GET', target, { headers });

const createKey = async (expires?: Date) => {
  const tenant = await harness.createTenant();
  const key = await harness.credentials.createApiKey({ tenant, name: 'till', ...(expires && { expires }) });
  return { tenant, id: key.keyId, headers: { 'x-api-key': key.value } };
};

/** Repeats the request until it is refused as expected, and returns its id. */
const refusedWith = async (headers: Headers, status: number, error: string): Promise<string> => {
  let reply: Reply | undefined;
  await until(async () => {
    reply = await get(headers);
    return reply.status === status && reply.json.error === error;
  });
  return String(reply?.headers['x-request-id']);
};

const denialFor = (headers: Headers, id: string): Promise<Reply> => get(headers, `/api/whoami/denials/${id}`);

test('A-126 the holder of a revoked key reads with it that it was revoked; the key gives no other access', async () => {
  const [key, other] = [await createKey(), await createKey()];
  expect((await get(key.headers)).status).toBe(200);
  await harness.credentials.revokeApiKey(key.id);
  const id = await refusedWith(key.headers, 401, 'INVALID_KEY');
  const denial = await denialFor(key.headers, id);
  expect([denial.status, denial.json.denial?.reason, denial.json.denial?.status]).toEqual([200, 'key_revoked', 401]);
  expect((await denialFor(other.headers, id)).status).toBe(404);
  const ofOther = await get({ ...other.headers, ...bearer('beside') });
  const otherId = String(ofOther.headers['x-request-id']);
  expect((await denialFor(key.headers, otherId)).status).toBe(404);
  expect((await denialFor(other.headers, otherId)).status).toBe(200);
  for (const target of [read, '/api/whoami']) {
    const reply = await get(key.headers, target);
    expect([target, reply.status, reply.json.error]).toEqual([target, 401, 'INVALID_KEY']);
  }
});

test('A-126 an expired key reads when it expired; a key of a removed restaurant reads that reason', async () => {
  const key = await createKey(new Date(harness.clock.now().getTime() + 60_000));
  expect((await get(key.headers)).status).toBe(200);
  harness.clock.move(72_000);
  const id = await refusedWith(key.headers, 401, 'INVALID_KEY');
  const { denial } = (await denialFor(key.headers, id)).json;
  expect(denial).toMatchObject({ reason: 'key_expired', detail: { expired_seconds_ago: expect.any(Number) } });
  // On a busy machine the request comes seconds after the move of the clock.
  expect(denial.detail.expired_seconds_ago).toBeGreaterThanOrEqual(12);
  expect(denial.detail.expired_seconds_ago).toBeLessThan(60);
  const orphan = await createKey();
  expect((await get(orphan.headers)).status).toBe(200);
  await harness.credentials.removeTenant(orphan.tenant);
  const gone = await refusedWith(orphan.headers, 401, 'RESTAURANT_NOT_FOUND');
  expect((await denialFor(orphan.headers, gone)).json.denial).toMatchObject({ reason: 'restaurant_gone' });
});

test('A-126 a disabled client reads with its own secret that it is disabled; a wrong secret gets nothing', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const own = clientHeaders(client);
  const token = await tokenOf(harness.url, client);
  expect((await get(own)).status).toBe(200);
  await harness.credentials.disableClient(client.client_id);
  const id = await refusedWith(own, 401, 'INVALID_AUTH');
  const ofToken = await refusedWith(bearer(token), 401, 'invalid_token');
  for (const refused of [id, ofToken]) {
    const denial = await denialFor(own, refused);
    expect([denial.status, denial.json.denial?.reason]).toEqual([200, 'client_disabled']);
    const other = await harness.createClient([await harness.createTenant()]);
    expect((await denialFor({ ...own, 'x-client-secret': other.client_secret }, refused)).status).toBe(401);
    expect((await denialFor(clientHeaders(other), refused)).status).toBe(404);
  }
  expect((await get(own, '/api/whoami')).status).toBe(401);
});

test('A-126 with two kinds of credential in one request, the holder of the first reads the reason if the first is valid', async () => {
  const key = await createKey();
  const client = await harness.createClient([await harness.createTenant()]);
  const token = await tokenOf(harness.url, client);
  const cases: [Headers, Headers][] = [
    [{ ...key.headers, ...clientHeaders(client) }, key.headers],
    [{ ...key.headers, ...bearer(token) }, key.headers],
    [{ ...clientHeaders(client), ...bearer('garbage') }, clientHeaders(client)],
  ];
  for (const [sent, holder] of cases) {
    const reply = await get(sent);
    expect(reply.status).toBe(400);
    const denial = await denialFor(holder, String(reply.headers['x-request-id']));
    expect(denial.json.denial).toMatchObject({ reason: 'credentials_ambiguous', status: 400 });
  }
  const guess = await get({ ...clientHeaders(client), 'x-client-secret': 'wrong', ...bearer(token) });
  expect(guess.status).toBe(400);
  expect((await denialFor(clientHeaders(client), String(guess.headers['x-request-id']))).status).toBe(404);
});

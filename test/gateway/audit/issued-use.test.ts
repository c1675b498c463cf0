/** The trace of a leaked credential: its own use, and the use of the tokens issued for it. */
import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readHashedTrace, readTrace, searchAudit } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, pick, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const forbidden = '/api/customerstats/customers';

const call = async (
  path: string,
  headers: Record<string, string>,
  times: number,
  status: number,
  url = harness.url,
): Promise<void> => {
  const replies = await Promise.all(Array.from({ length: times }, () => sendRequest(url, 'GET', path, { headers })));
  for (const reply of replies) expect(reply.status).toBe(status);
};

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });

/** Sums up the requests that the audit holds for a filter. */
const countOf = async (filter: Parameters<typeof searchAudit>[1]['filter']): Promise<number> => {
  const { events } = await searchAudit(deps(), { filter, limit: 1_000 });
  return events.reduce((sum, { count }) => sum + count, 0);
};

const written = (where: string, count: number): Promise<void> =>
  until(async () => {
    const text = `select coalesce(sum(count), 0)::int as n from gateway.audit_events where ${where}`;
    return (await harness.database.pool.query(text)).rows[0].n === count;
  });

test('F-41 the trace of a leaked secret sums up allowed and refused requests with all its tokens, and a search lists them', async () => {
  const made = await harness.createClient([tenant], ['read:orders']);
  const client = pick(made);
  // More tokens than one search compares one by one; they share few events.
  const tokens = await Promise.all(Array.from({ length: 24 }, () => tokenOf(harness.url, client)));
  for (let i = 0; i < 2; i += 1) await Promise.all(tokens.map((token) => call(read, bearer(token), 2, 200)));
  const [first = ''] = tokens;
  await call(read, bearer(first), 60, 200);
  await call(forbidden, bearer(first), 20, 403);
  await call(read, clientHeaders(client), 3, 200);
  await call(forbidden, clientHeaders(client), 2, 403);
  // A token of another secret of the same client, which did not leak.
  const other = {
    ...client,
    client_secret: (await harness.credentials.addClientSecret(client.client_id)).secret,
  };
  await until(
    async () => (await sendRequest(harness.url, 'GET', read, { headers: clientHeaders(other) })).status === 200,
  );
  const separate = await tokenOf(harness.url, other);
  await call(read, bearer(separate), 5, 200);
  await call(forbidden, bearer(separate), 4, 403);
  await written(`client_id = '${client.client_id}' and action = 'request.allowed' and kind = 'bearer'`, 96 + 60 + 5);

  const expected = { calls: 3, refused: 2, partial: false, tokens: 24 };
  const issued = { calls: 156, refused: 20, partial: false, addresses: ['127.0.0.1'] };
  const traced = await readTrace(deps(), client.client_secret);
  expect(traced).toMatchObject({ ...expected, genuine: true, issuedUse: issued });
  const { id, fingerprint } = traced;
  const sha256 = createHash('sha256').update(client.client_secret).digest('hex');
  expect(await readHashedTrace(deps(), { kind: 'client_secret', id, sha256 })).toMatchObject({
    ...{ ...expected, issuedUse: issued },
  });
  const sums = await Promise.all([
    countOf({ issuedFor: id, action: 'request.allowed' }),
    countOf({ issuedFor: id, action: 'request.denied' }),
    countOf({ credential: id, action: 'request.allowed' }),
    countOf({ fingerprint, action: 'request.denied' }),
    countOf({ issuedFor: 'ops_000000000000', action: 'request.allowed' }),
  ]);
  expect(sums).toEqual([156, 20, 3, 2, 0]);
});

test('F-41 the trace of a token and of an API key counts allowed and refused requests, including a flood', async () => {
  const client = pick(await harness.createClient([tenant], ['read:orders']));
  const token = await tokenOf(harness.url, client);
  await call(read, bearer(token), 7, 200);
  // Refusals beyond the first hundred of a minute become one event when the minute ends or the gateway stops.
  const door = await harness.openDoor();
  await call(forbidden, bearer(token), 130, 403, door.url);
  await door.close();
  const key = await harness.credentials.createApiKey({ tenant, name: 'leaked' });
  await until(
    async () => (await sendRequest(harness.url, 'GET', read, { headers: { 'x-api-key': key.value } })).status === 200,
  );
  await harness.credentials.quarantine('api_key', key.keyId, 'seen elsewhere');
  // A change takes up to a second, during which calls are still allowed.
  let allowed = 1;
  await until(async () => {
    const { status } = await sendRequest(harness.url, 'GET', read, { headers: { 'x-api-key': key.value } });
    if (status === 200) allowed += 1;
    return status === 403;
  });
  await call(read, { 'x-api-key': key.value }, 8, 403);
  await written(`token_id = '${decodeJwt(token).jti}' and action = 'request.allowed'`, 7);
  const ofKey = await readTrace(deps(), key.value);
  expect(ofKey).toMatchObject({ calls: allowed, refused: 9, tokens: 0, issuedUse: null });
  const ofToken = await readTrace(deps(), token);
  expect(ofToken).toMatchObject({ calls: 7, refused: 130, issuedUse: null });
  expect(await countOf({ fingerprint: ofToken.fingerprint, action: 'request.denied' })).toBe(130);
});

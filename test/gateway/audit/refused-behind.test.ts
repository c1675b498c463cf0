/** Refusals by the upstream and requests for unknown paths are recorded as what they are. */
import { type ClientRequest, request, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fault } from '#src/contract/fault.ts';
import { createCountProbe } from '#src/gateway/access/count-probe.ts';
import { type FoundEvent, searchAudit } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, pick, read, tokenOf } from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let good: Harness['upstream']['answer'];

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  good = harness.upstream.answer;
});

afterAll(() => harness.close());

const find = async (filter: Parameters<typeof searchAudit>[1]['filter']): Promise<FoundEvent[]> => [
  ...(
    await searchAudit(
      { db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' },
      { filter, limit: 1_000 },
    )
  ).events,
];

const countOf = (events: readonly FoundEvent[]): number => events.reduce((sum, { count }) => sum + count, 0);

const idOf = (reply: Reply): string => String(reply.headers['x-request-id']);

/** The audit events of one request. */
const eventsOf = async (reply: Reply): Promise<unknown[]> => {
  let events: FoundEvent[] = [];
  await until(async () => {
    events = await find({ requestId: idOf(reply) });
    return events.length > 0;
  });
  return events.map(({ action, outcome, reason }) => [action, outcome, reason]);
};

const answerWith = (status: number, error: string): void => {
  const body = JSON.stringify({ success: false, error, description: 'no' });
  harness.upstream.answer = (request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
};

test('F-26 a 401 or 403 of the upstream is recorded as request.denied with reason and status before the answer', async () => {
  const client = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, client);
  const key = await harness.credentials.createApiKey({ tenant, name: 'key' });
  const callers = [bearer(token), clientHeaders(client), { 'x-api-key': key.value }];
  for (const [status, code, reason] of [
    [401, 'UNAUTHORIZED', 'restaurant_not_granted'],
    [403, 'UNAUTHORIZED', 'restaurant_not_granted'],
    [403, 'FORBIDDEN_ELSEWHERE', 'upstream'],
  ] as const) {
    answerWith(status, code);
    for (const headers of callers) {
      const reply = await sendRequest(harness.url, 'GET', read, { headers });
      expect(reply.status).toBe(status);
      // Without waiting: the event was written before the answer.
      const [event, ...more] = await find({ requestId: idOf(reply) });
      expect(more).toEqual([]);
      expect(event).toMatchObject({
        ...{ action: 'request.denied', outcome: 'failure', reason, tenants: [tenant], routeId: 'orders.list' },
        details: { status, by: 'upstream' },
      });
    }
  }
  harness.upstream.answer = good;
  const allowed = await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
  expect(await eventsOf(allowed)).toEqual([['request.allowed', 'success', null]]);
});

test('A-702 a client that leaves while the refusal of the upstream arrives is recorded once', async () => {
  const key = await harness.credentials.createApiKey({ tenant, name: 'leaving' });
  const headers = { 'x-api-key': key.value };
  const held: { id: string; response: ServerResponse }[] = [];
  harness.upstream.answer = (req, response) => {
    response.writeHead(403, { 'content-type': 'application/json', 'content-length': 100 }).write('{');
    held.push({ id: String(req.headers['x-request-id']), response });
  };
  const leaving: ClientRequest = request(`${harness.url}${read}`, { headers }).on('error', () => undefined);
  leaving.end();
  await until(() => held.length === 1);
  leaving.destroy();
  const [left] = held;
  await until(() => left?.response.destroyed === true);
  // Its answer comes when the gateway waits no more for the rest of such a refusal, which is later than for the one that left.
  expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(403);
  let events: FoundEvent[] = [];
  const ofLeft = { requestId: left?.id ?? '' };
  await until(async () => {
    events = await find(ofLeft);
    return events.some(({ action }) => action === 'request.allowed');
  });
  expect(events.map(({ action, outcome }) => [action, outcome])).toEqual([['request.allowed', 'success']]);
  harness.upstream.answer = good;
});

test('F-26 another refusal of the upstream is recorded as a failure, once for each request', async () => {
  const client = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, client);
  for (const [status, code] of [
    [400, 'VALIDATION_ERROR'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [415, 'UNSUPPORTED_MEDIA_TYPE'],
  ] as const) {
    answerWith(status, code);
    const reply = await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
    expect(reply.status).toBe(status);
    expect(await eventsOf(reply)).toEqual([['request.allowed', 'failure', code.toLowerCase()]]);
  }
  expect(await find({ client: client.client_id, outcome: 'failure' })).toHaveLength(4);
  harness.upstream.answer = good;
});

test('F-26 404 and 405 of known callers are recorded with the caller, many requests in few events', async () => {
  const client = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, client);
  const key = await harness.credentials.createApiKey({ tenant, name: 'prober' });
  const times = 200;
  const ask = (headers: Record<string, string>, method: string, path: string): Promise<Reply[]> =>
    Promise.all(Array.from({ length: 20 }, () => sendRequest(harness.url, method, path, { headers })));
  const ofClient = { client: client.client_id, action: 'request.denied' };
  const ofKey = { credential: key.keyId, action: 'request.denied' };
  for (let sent = 20; sent <= times; sent += 20) {
    for (const reply of await ask(bearer(token), 'GET', '/api/admin/tenants')) expect(reply.status).toBe(404);
    for (const reply of await ask({ 'x-api-key': key.value }, 'DELETE', read)) expect(reply.status).toBe(405);
    // At most 128 callers are looked up at once, and a store that is busy delays each of them.
    if (sent % 40 !== 0 && sent !== times) continue;
    await until(async () => countOf(await find(ofClient)) === sent);
    await until(async () => countOf(await find(ofKey)) === sent);
  }
  const [probes, refused] = [await find(ofClient), await find(ofKey)];
  // Of 400 requests; a busy machine takes longer for twenty of them than one event gathers.
  expect(probes.length + refused.length).toBeLessThan(times);
  expect(new Set(probes.map(({ reason }) => reason))).toEqual(new Set(['invalid_action']));
  expect(new Set(refused.map(({ reason }) => reason))).toEqual(new Set(['method_not_allowed']));
  expect(refused[0]).toMatchObject({
    tenants: [tenant],
    address: '127.0.0.1',
    outcome: 'failure',
  });
  // Invented credentials identify no caller, so no event names one.
  const stranger = await sendRequest(harness.url, 'GET', '/api/admin/tenants', {
    headers: bearer(`${token.slice(0, -4)}AAAA`),
  });
  expect(stranger.status).toBe(404);
  const last = await sendRequest(harness.url, 'GET', '/api/admin/tenants', { headers: bearer(token) });
  expect(await eventsOf(last)).toEqual([['request.denied', 'failure', 'invalid_action']]);
  expect(await find({ requestId: idOf(stranger) })).toEqual([]);
});

test('a probe of a known caller is counted at once after many with invented credentials, because these keep no place', async () => {
  const placesMax = 128;
  const counted: unknown[] = [];
  const count = createCountProbe({
    recorder: { countFailed: ({ credential_id }) => void counted.push(credential_id) },
    fingerprint: () => '',
    addressOf: () => '192.0.2.1',
    authenticate: async (presented) => {
      if (presented.kind !== 'api_key' || presented.key !== 'known') throw new Fault('INVALID_AUTH', 'not known');
      return { kind: 'api_key', credentialId: 'key_1', tenants: [] } as never;
    },
    probed: () => undefined,
  });
  const probe = (key: string): void =>
    count({ req: { rawHeaders: ['X-Api-Key', key] }, search: '' } as never, new Fault('INVALID_ACTION', 'none'));
  for (let sent = 0; sent < placesMax; sent += 1) probe(`invented${sent}`);
  probe('known');
  await turn();
  expect(counted).toEqual([]);
  probe('known');
  await turn();
  expect(counted).toEqual(['key_1']);
});

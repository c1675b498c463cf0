/**
 * OpenID Shared Signals Framework 1.0, sections 7 and 8.1, with the CAEP interoperability profile (CIP): metadata and the
 * management of streams. Not applicable: 7.2.2 metadata below a path, since there is one issuer; 8.1.1 `inactivity_timeout` and
 * `format`, which are optional; 202 answers, since every change is made before its answer.
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, sendRequest } from '../../gateway/harness/public-door.ts';
import { whileLocked } from '../../support/contention.ts';
import { bearer } from '../rfc-harness.ts';
import { event, openSsfHarness, pollMethod, pushMethod, type Receiver, type SsfHarness } from './ssf-harness.ts';

let harness: SsfHarness;
let streams: string;

beforeAll(async () => {
  harness = await openSsfHarness();
  streams = harness.pathOf('configuration_endpoint');
});

afterAll(() => harness.close());

test('A-414 SSF 7.1: the metadata names version, issuer, keys, methods, endpoints, scheme and default subjects', () => {
  expect(harness.metadata).toMatchObject({
    spec_version: '1_0',
    issuer: origin,
    delivery_methods_supported: [pushMethod, pollMethod],
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    critical_subject_members: ['session'],
    default_subjects: 'ALL',
  });
  for (const name of ['jwks_uri', 'configuration_endpoint', 'status_endpoint', 'verification_endpoint'])
    expect(harness.metadata[name]).toMatch(/^https:\/\//);
  for (const name of ['add_subject_endpoint', 'remove_subject_endpoint'])
    expect(harness.metadata[name]).toMatch(/^https:\/\//);
});

test('A-414 CIP 2.6: the key set has one RSA key of 2048 bits for RS256, without private members', () => {
  expect(harness.jwks.keys).toHaveLength(1);
  const [key] = harness.jwks.keys;
  expect(Object.keys(key ?? {}).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  expect([key?.alg, Buffer.from(key?.n ?? '', 'base64url').length]).toEqual(['RS256', 256]);
});

test('A-414 CIP 2.7: the metadata of resource and server name the scopes', async () => {
  for (const name of ['oauth-protected-resource', 'oauth-authorization-server']) {
    const { json } = await sendRequest(harness.door.url, 'GET', `/.well-known/${name}`);
    expect(json.scopes_supported).toEqual(expect.arrayContaining(['ssf.manage', 'ssf.read']));
  }
});

test('A-415 SSF 8.1.1.1: a stream is made from an empty body, and polls', async () => {
  const { call, clientId } = await harness.receiver();
  const made = await call('POST', streams, {});
  expect([made.status, made.headers['cache-control']]).toEqual([201, 'no-store']);
  expect(made.json).toMatchObject({
    iss: origin,
    aud: clientId,
    delivery: { method: pollMethod },
    events_delivered: made.json.events_supported,
    min_verification_interval: 5,
  });
  expect((await call('GET', `${streams}?stream_id=${made.json.stream_id}`)).json).toEqual(made.json);
  expect((await call('GET', streams)).json).toEqual([made.json]);
  expect((await call('POST', streams, {})).status).toBe(409);
});

test('A-415 SSF 8.1.1: only supported types that were requested are delivered; unknown ones are kept and ignored', async () => {
  const { call } = await harness.receiver();
  const requested = [event('session-revoked'), event('of-another-profile')];
  const { json } = await call('POST', streams, { events_requested: requested });
  expect([json.events_requested, json.events_delivered]).toEqual([requested, [event('session-revoked')]]);
});

test('A-415 SSF 8.1.1.3: PATCH changes what it names and keeps the rest', async () => {
  const { call, createStream } = await harness.receiver();
  const stream_id = await createStream({ description: 'first', events_requested: [event('session-revoked')] });
  const changed = await call('PATCH', streams, { stream_id, description: 'second' });
  expect([changed.status, changed.json.description]).toEqual([200, 'second']);
  expect(changed.json.events_requested).toEqual([event('session-revoked')]);
  expect((await call('PATCH', streams, { stream_id, iss: 'https://other.example' })).status).toBe(400);
  expect((await call('PATCH', streams, { stream_id, iss: origin })).status).toBe(200);
});

test('A-415 SSF 8.1.1.4: PUT deletes what it does not name', async () => {
  const { call, createStream } = await harness.receiver();
  const stream_id = await createStream({ description: 'first', events_requested: [event('session-revoked')] });
  const { status, json } = await call('PUT', streams, { stream_id });
  expect([status, json.description, json.events_requested]).toEqual([200, undefined, undefined]);
  expect((await call('GET', `${streams}?stream_id=${stream_id}`)).json).toEqual(json);
});

test('A-415 SSF 8.1.1.5: a deleted stream is gone', async () => {
  const { call, createStream } = await harness.receiver();
  const stream_id = await createStream();
  const path = `${streams}?stream_id=${stream_id}`;
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('DELETE', path)).status).toBe(404);
  expect((await call('GET', streams)).json).toEqual([]);
});

test.each([
  ['no JSON', '{ "delivery": '],
  ['a list', []],
  ['an unknown method', { delivery: { method: 'urn:example:carrier-pigeon' } }],
  ['a push without an address', { delivery: { method: pushMethod } }],
  ['a push to a private address', { delivery: { method: pushMethod, endpoint_url: 'http://10.0.0.1/events' } }],
  ['types that are no list', { events_requested: 'all' }],
  ['too many types', { events_requested: Array.from({ length: 51 }, (_, n) => `urn:${n}`) }],
])('A-415 SSF 8.1.1.1: %s is refused with 400, and no stream is made', async (_name, body) => {
  const { call } = await harness.receiver();
  expect((await call('POST', streams, body)).status).toBe(400);
  expect((await call('GET', streams)).json).toEqual([]);
});

/** Every request about one stream. */
const requestsAbout = (stream_id: string): [string, string, unknown?][] => [
  ['GET', `${streams}?stream_id=${stream_id}`],
  ['PATCH', streams, { stream_id }],
  ['PUT', streams, { stream_id }],
  ['DELETE', `${streams}?stream_id=${stream_id}`],
  ['GET', `${harness.pathOf('status_endpoint')}?stream_id=${stream_id}`],
  ['POST', harness.pathOf('status_endpoint'), { stream_id, status: 'paused' }],
  ['POST', harness.pathOf('verification_endpoint'), { stream_id }],
  ['POST', harness.pathOf('add_subject_endpoint'), { stream_id, subject: { format: 'opaque', id: 'x' } }],
  ['POST', harness.pathOf('remove_subject_endpoint'), { stream_id, subject: { format: 'opaque', id: 'x' } }],
  ['POST', `/api/oauth/signals/poll?stream_id=${stream_id}`, { returnImmediately: true }],
];

const statusesOf = async ({ call }: Pick<Receiver, 'call'>, streamId: string): Promise<number[]> => {
  const found: number[] = [];
  for (const request of requestsAbout(streamId)) found.push((await call(...request)).status);
  return found;
};

test('A-416 every request about the stream of another client, or about none, gets 404', async () => {
  const [one, other] = [await harness.receiver(), await harness.receiver()];
  const streamId = await one.createStream();
  await other.createStream();
  expect(new Set(await statusesOf(other, streamId))).toEqual(new Set([404]));
  expect(new Set(await statusesOf(other, 'str_unknown'))).toEqual(new Set([404]));
  expect((await one.call('GET', streams)).json).toHaveLength(1);
});

test('A-416 RFC 6750 3: without a token, with a wrong one and with id and secret every request gets 401', async () => {
  const receiver = await harness.receiver();
  const streamId = await receiver.createStream();
  const { asClient } = harness.door;
  for (const headers of [{}, bearer('no.access.token'), asClient]) {
    const call: Receiver['call'] = (method, path) => sendRequest(harness.door.url, method, path, { headers });
    expect(new Set(await statusesOf({ call }, streamId))).toEqual(new Set([401]));
  }
  const wrong = await sendRequest(harness.door.url, 'POST', '/api/oauth/signals/poll', { headers: bearer('no.token') });
  expect(wrong.headers['www-authenticate']).toContain('error="invalid_token"');
});

test('A-416 CIP 2.7.2: ssf.read reads and polls; without a scope of streams everything gets 403', async () => {
  const reader = await harness.receiver('ssf.read');
  expect((await reader.call('POST', streams, {})).status).toBe(403);
  expect((await reader.call('GET', streams)).status).toBe(200);
  const without = await harness.receiver('read:orders');
  expect(new Set(await statusesOf(without, 'str_1'))).toEqual(new Set([403]));
});

test('A-416 a narrowed token manages and reads no stream', async () => {
  const { clientId: client_id, secret: client_secret } = await harness.receiver();
  const details = JSON.stringify([{ type: 'orderpass_access', actions: ['read'] }]);
  const of = { client_id, client_secret };
  const plain = await harness.tokenOf(of, { scope: 'ssf.manage' });
  const narrowed = await harness.tokenOf(of, { scope: 'ssf.manage', authorization_details: details });
  const read = (token: string) => sendRequest(harness.door.url, 'GET', streams, { headers: bearer(token) });
  expect((await read(plain)).status).toBe(200);
  const refused = await read(narrowed);
  expect([refused.status, refused.json.code]).toEqual([403, 'UNAUTHORIZED']);
  const exchanged = await harness.tokenOf(of, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: plain,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  });
  const described = (await read(exchanged)).json;
  expect([described.code, described.error_description]).toEqual([
    'UNAUTHORIZED',
    'This token is limited to the operations of the API, because it was exchanged',
  ]);
});

test('A-417 SSF 8.1.2: the status is read and set; an unknown one is refused', async () => {
  const { call, createStream } = await harness.receiver();
  const stream_id = await createStream();
  const path = harness.pathOf('status_endpoint');
  expect((await call('GET', `${path}?stream_id=${stream_id}`)).json).toEqual({ stream_id, status: 'enabled' });
  for (const status of ['paused', 'disabled', 'enabled']) {
    const set = await call('POST', path, { stream_id, status, reason: 'maintenance' });
    expect([set.status, set.json]).toEqual([200, { stream_id, status, reason: 'maintenance' }]);
    expect((await call('GET', `${path}?stream_id=${stream_id}`)).json).toEqual(set.json);
  }
  expect((await call('POST', path, { stream_id, status: 'asleep' })).status).toBe(400);
  expect((await call('GET', path)).status).toBe(400);
});

test('A-414 without the setting nothing of the transmitter exists, and no scope of it', async () => {
  const { openRfcHarness } = await import('../rfc-harness.ts');
  const off = await openRfcHarness();
  try {
    for (const path of ['/.well-known/ssf-configuration', streams])
      expect((await sendRequest(off.door.url, 'GET', path)).status).toBe(404);
    const { json } = await sendRequest(off.door.url, 'GET', '/.well-known/oauth-authorization-server');
    expect(json.scopes_supported).not.toContain('ssf.manage');
  } finally {
    await off.close();
  }
});

test('A-737 while changes of a stream wait for another change, another client gets its token and its stream', async () => {
  const [busy, other] = [await harness.receiver(), await harness.receiver()];
  const stream_id = await busy.createStream();
  const its = await other.createStream();
  const setStatus = async (of: Receiver, id: string, status: string): Promise<number> =>
    (await of.call('POST', harness.pathOf('status_endpoint'), { stream_id: id, status })).status;
  let last: Promise<number> | undefined;
  const statuses = await whileLocked(
    harness.door.database.db,
    sql`select from gateway.signal_streams where stream_id = ${stream_id} for update`,
    2,
    () => Promise.all(Array.from({ length: 40 }, () => setStatus(busy, stream_id, 'paused'))),
    async () => {
      await sendRequest(harness.door.url, 'GET', '/healthz');
      const { status } = await sendRequest(harness.door.url, 'POST', '/api/oauth/token', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          ...{ grant_type: 'client_credentials', scope: 'ssf.read' },
          ...{ client_id: other.clientId, client_secret: other.secret },
        }).toString(),
      });
      expect(status).toBe(200);
      last = setStatus(other, its, 'paused');
    },
  );
  expect([await last, ...statuses]).toEqual(Array.from({ length: 41 }, () => 200));
});

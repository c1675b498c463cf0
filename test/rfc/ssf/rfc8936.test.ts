/** RFC 8936: events that a receiver polls and confirms. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendRequest } from '../../gateway/harness/public-door.ts';
import { bearer } from '../rfc-harness.ts';
import { event, openSsfHarness, type SsfHarness } from './ssf-harness.ts';

let harness: SsfHarness;

beforeAll(async () => {
  harness = await openSsfHarness();
});

afterAll(() => harness.close());

test('A-421 RFC 8936 2.2, 2.4: an event comes again until it is confirmed, and a refused one ends', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  for (let n = 0; n < 3; n += 1) await harness.credentials.addClientSecret(receiver.clientId);
  const first = [...(await receiver.poll(stream)).keys()];
  expect([first.length, [...(await receiver.poll(stream)).keys()]]).toEqual([3, first]);
  const rest = await receiver.poll(stream, { returnImmediately: true, ack: first.slice(0, 1) });
  expect([...rest.keys()]).toEqual(first.slice(1));
  const setErrs = { [first[1] ?? '']: { err: 'invalid_request', description: 'not understood' } };
  expect(await receiver.poll(stream, { maxEvents: 0, setErrs })).toEqual(new Map());
  expect([...(await receiver.poll(stream)).keys()]).toEqual(first.slice(2));
  const bad = await receiver.call('POST', `/api/oauth/signals/poll?stream_id=${stream}`, { maxEvents: -1 });
  expect(bad.status).toBe(400);
});

test('A-421 RFC 8936 2.3: a poll waits for an event and gets it at once', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  const waiting = receiver.poll(stream, {});
  await harness.credentials.addClientSecret(receiver.clientId);
  const types = [...(await waiting).values()].map(({ events }) => Object.keys(events));
  expect(types).toEqual([[event('credential-change')]]);
});

test('A-421 RFC 8936 2.3: a poll whose token is revoked while it waits gets 401 and no event', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  const client = { client_id: receiver.clientId, client_secret: receiver.secret };
  const token = await harness.tokenOf(client, { scope: 'ssf.read' });
  const waiting = sendRequest(harness.door.url, 'POST', `/api/oauth/signals/poll?stream_id=${stream}`, {
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: '{}',
  });
  // Its wait holds one of four turns, so a fifth poll is answered at once when the others wait.
  const others = Array.from({ length: 4 }, () => receiver.poll(stream, {}));
  expect((await Promise.race(others)).size).toBe(0);
  // An event of this stream.
  await harness.post('revoke', { token, ...client });
  const { status, headers } = await waiting;
  expect(status).toBe(401);
  expect(headers['www-authenticate']).toContain('error="invalid_token"');
  expect((await Promise.all(others)).map(({ size }) => size).toSorted()).toEqual([0, 1, 1, 1]);
});

test('A-453 RFC 8936 2.3: of the polls of one stream four wait at a time, and a further one is answered at once', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  const polls = Array.from({ length: 5 }, () => receiver.poll(stream, {}));
  expect((await Promise.race(polls)).size).toBe(0);
  await harness.credentials.addClientSecret(receiver.clientId);
  const sizes = (await Promise.all(polls)).map(({ size }) => size);
  expect(sizes.toSorted()).toEqual([0, 1, 1, 1, 1]);
});

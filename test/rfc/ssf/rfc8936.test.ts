/** RFC 8936: events that a receiver polls and confirms. */
import { afterAll, beforeAll, expect, test } from 'vitest';
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

test('A-453 RFC 8936 2.3: of the polls of one stream four wait at a time, and a further one is answered at once', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  const polls = Array.from({ length: 5 }, () => receiver.poll(stream, {}));
  expect((await Promise.race(polls)).size).toBe(0);
  await harness.credentials.addClientSecret(receiver.clientId);
  const sizes = (await Promise.all(polls)).map(({ size }) => size);
  expect(sizes.toSorted()).toEqual([0, 1, 1, 1, 1]);
});

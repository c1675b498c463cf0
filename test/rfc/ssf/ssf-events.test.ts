/** SSF 1.0 section 8.1.3 to 8.1.5: which events a receiver gets, and which not. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSignalAdmin } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { masterKey, origin, sendRequest } from '../../gateway/harness/public-door.ts';
import { event, openSsfHarness, type SecurityEvent, type SsfHarness, verificationType } from './ssf-harness.ts';

let harness: SsfHarness;

beforeAll(async () => {
  harness = await openSsfHarness();
});

afterAll(() => harness.close());

const typesOf = (sets: Map<string, SecurityEvent>): string[] =>
  [...sets.values()].flatMap(({ events }) => Object.keys(events));

const verify = (receiver: Awaited<ReturnType<SsfHarness['receiver']>>, stream_id: string, state?: string) =>
  receiver.call('POST', harness.pathOf('verification_endpoint'), { stream_id, ...(state && { state }) });

test('A-418 SSF 8.1.4: a verification returns its state, and a second one within the interval gets 429', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  expect((await verify(receiver, stream, 'a state')).status).toBe(204);
  const again = await verify(receiver, stream);
  expect([again.status, Number(again.headers['retry-after']) > 0]).toEqual([429, true]);
  const [set] = (await receiver.poll(stream)).values();
  expect(set).toMatchObject({
    sub_id: { format: 'opaque', id: stream },
    events: { [verificationType]: { state: 'a state' } },
  });
});

test('A-743 half of a surrogate pair in a request of a receiver gets 400, and no verification is counted', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  const half = '\ud800';
  const answers = [
    await verify(receiver, stream, half),
    await receiver.call('POST', harness.pathOf('status_endpoint'), {
      stream_id: stream,
      status: 'paused',
      reason: half,
    }),
    await receiver.call('PATCH', harness.pathOf('configuration_endpoint'), { stream_id: stream, description: half }),
    await receiver.call('POST', harness.pathOf('remove_subject_endpoint'), {
      stream_id: stream,
      subject: { format: 'opaque', id: half },
    }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  expect((await verify(receiver, stream, 'whole')).status).toBe(204);
});

test('A-624 a verification at another gateway, whose clock is a second behind, comes after the announced interval', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  const { json } = await receiver.call('GET', `${harness.pathOf('configuration_endpoint')}?stream_id=${stream}`);
  const announced = Number(json.min_verification_interval);
  expect(announced).toBe(5);
  expect((await verify(receiver, stream)).status).toBe(204);
  // As if the interval had passed for the receiver, and a second less here.
  await sql`
    update gateway.signal_streams set verified_at = verified_at - make_interval(secs => ${announced - 1})
    where stream_id = ${stream}`.execute(harness.door.database.db);
  expect((await verify(receiver, stream)).status).toBe(204);
});

test('A-418 SSF 8.1.4.2: a verification without a state has none', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  expect((await verify(receiver, stream)).status).toBe(204);
  const [set] = (await receiver.poll(stream)).values();
  expect(set?.events).toEqual({ [verificationType]: {} });
});

test('A-420 an event of another client is not delivered, unless an operator granted all', async () => {
  const [own, all, off] = [await harness.receiver(), await harness.receiver(), await harness.receiver()];
  const streams = [await own.createStream(), await all.createStream(), await off.createStream()] as const;
  const { db } = harness.door.database;
  const box = createSecretBox(masterKey);
  const admin = createSignalAdmin({ db, box, clock: systemClock, actor: 'cli:test' });
  await admin.setReach(all.clientId, 'all');
  await admin.setReach(off.clientId, 'off');
  const subject = await harness.createClient();
  await harness.credentials.addClientSecret(subject.client_id);
  await harness.credentials.addClientSecret(off.clientId);
  expect(typesOf(await own.poll(streams[0]))).toEqual([]);
  expect(typesOf(await off.poll(streams[2]))).toEqual([]);
  const subjects = [...(await all.poll(streams[1])).values()].map(({ sub_id }) => sub_id.sub);
  expect(subjects).toContain(subject.client_id);
  expect(subjects).toContain(off.clientId);
  await admin.setReach(all.clientId, 'own');
  const before = (await all.poll(streams[1])).size;
  await harness.credentials.addClientSecret(subject.client_id);
  expect((await all.poll(streams[1])).size).toBe(before);
});

test('A-596 events about other clients that wait go with the right to see them, by command, quarantine or end of the client', async () => {
  const { db } = harness.door.database;
  const admin = createSignalAdmin({ db, box: createSecretBox(masterKey), clock: systemClock, actor: 'cli:test' });
  const subject = await harness.createClient();
  /** Who the events are about that wait in the stream of a client with the right to all, after it was changed. */
  const waitingAfter = async (change: (clientId: string) => Promise<unknown>): Promise<string[]> => {
    const watcher = await harness.receiver();
    const stream = await watcher.createStream();
    await admin.setReach(watcher.clientId, 'all');
    await harness.credentials.addClientSecret(subject.client_id);
    await harness.credentials.addClientSecret(watcher.clientId);
    expect((await verify(watcher, stream)).status).toBe(204);
    await change(watcher.clientId);
    const { rows } = await sql<{ subject: { sub?: string; id?: string } }>`
      select subject from gateway.signal_events where stream_id = ${stream} order by position`.execute(db);
    const names = new Map([
      [watcher.clientId, 'own'],
      [subject.client_id, 'other'],
      [stream, 'stream'],
    ]);
    return rows.map(({ subject: { sub, id } }) => names.get(sub ?? id ?? '') ?? 'unknown');
  };
  const { credentials } = harness;
  expect(await waitingAfter(async () => undefined)).toEqual(['other', 'own', 'stream']);
  expect(await waitingAfter((id) => admin.setReach(id, 'all'))).toEqual(['other', 'own', 'stream']);
  expect(await waitingAfter((id) => admin.setReach(id, 'own'))).toEqual(['own', 'stream']);
  expect(await waitingAfter((id) => admin.setReach(id, 'off'))).toEqual(['stream']);
  expect(await waitingAfter((id) => credentials.quarantine('client', id, 'stolen'))).toEqual(['own', 'stream', 'own']);
  expect(await waitingAfter((id) => credentials.disableClient(id))).toEqual(['own', 'stream', 'own', 'own']);
});

test('A-445 a leak report reaches the receivers that may see the credential, with its reason and no value', async () => {
  const watcher = await harness.receiver();
  const stream = await watcher.createStream();
  const admin = createSignalAdmin({
    db: harness.door.database.db,
    box: createSecretBox(masterKey),
    clock: systemClock,
    actor: 'cli:test',
  });
  await admin.setReach(watcher.clientId, 'all');
  const holder = await harness.createClient();
  const secrets = [holder.client_secret];
  const tenant = 'rst_of_a_leaked_key';
  await harness.credentials.createTenant(tenant);
  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  secrets.push(key.value);
  for (const token of secrets) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ token }).toString();
    const reply = await sendRequest(harness.door.url, 'POST', '/api/oauth/report-leak', { headers, body });
    expect(reply.status).toBe(202);
  }
  const sets = [...(await watcher.poll(stream)).values()];
  const ended = sets.flatMap(({ sub_id, events }) =>
    events[event('credential-change')]?.change_type === 'revoke'
      ? [[sub_id.sub, events[event('credential-change')]]]
      : [],
  );
  // Who reports a leak is no administrator.
  const about = expect.objectContaining({
    initiating_entity: 'system',
    reason_admin: { en: 'ended by a leak report' },
  });
  expect(ended).toEqual([
    [holder.client_id, about],
    [key.keyId, about],
  ]);
  expect(sets.some(({ sub_id, events }) => sub_id.sub === holder.client_id && event('session-revoked') in events)).toBe(
    true,
  );
  for (const secret of secrets) expect(JSON.stringify(sets)).not.toContain(secret);
});

test('A-420 SSF 8.1.3: a removed subject is not delivered until it is added; unknown ones get the same answer', async () => {
  const receiver = await harness.receiver();
  const stream_id = await receiver.createStream();
  const own = { format: 'iss_sub', iss: origin, sub: receiver.clientId };
  const change = async (endpoint: string, subject: object): Promise<number> =>
    (await receiver.call('POST', harness.pathOf(endpoint), { stream_id, subject })).status;
  expect(await change('remove_subject_endpoint', own)).toBe(204);
  await harness.credentials.addClientSecret(receiver.clientId);
  expect(await receiver.poll(stream_id)).toEqual(new Map());
  expect(await change('add_subject_endpoint', own)).toBe(200);
  await harness.credentials.addClientSecret(receiver.clientId);
  expect((await receiver.poll(stream_id)).size).toBe(1);
  expect(await change('add_subject_endpoint', { format: 'email', email: 'who@example.com' })).toBe(200);
  expect(await change('remove_subject_endpoint', { format: 'email', email: 'who@example.com' })).toBe(204);
  expect(await change('add_subject_endpoint', { format: 'email' })).toBe(400);
  expect(await change('add_subject_endpoint', { format: 'complex' })).toBe(400);
  for (const subject of [
    { format: 'saml_assertion_id', issuer: 'https://idp.example', assertion_id: '_1' },
    { format: 'ip-addresses', 'ip-addresses': ['192.0.2.1'] },
    { format: 'aliases', identifiers: [{ format: 'email', email: 'who@example.com' }, own] },
  ])
    expect(await change('remove_subject_endpoint', subject)).toBe(204);
  await harness.credentials.addClientSecret(receiver.clientId);
  expect((await receiver.poll(stream_id)).size).toBe(1);
});

test('A-417 SSF 8.1.2: a paused stream holds its events, and a disabled one drops them', async () => {
  const receiver = await harness.receiver();
  const stream_id = await receiver.createStream();
  const set = (status: string) => receiver.call('POST', harness.pathOf('status_endpoint'), { stream_id, status });
  await set('paused');
  await harness.credentials.addClientSecret(receiver.clientId);
  expect(await receiver.poll(stream_id)).toEqual(new Map());
  await set('enabled');
  const held = await receiver.poll(stream_id);
  expect(held.size).toBe(1);
  await set('disabled');
  await harness.credentials.addClientSecret(receiver.clientId);
  expect((await verify(receiver, stream_id)).status).toBe(204);
  await set('enabled');
  expect(await receiver.poll(stream_id)).toEqual(new Map());
});

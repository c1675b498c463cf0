/**
 * The requests and checks of the modules of the OpenID conformance suite for transmitters (SSF 1.0 and the CAEP interoperability
 * profile), against the whole program over TLS, with the set-up of the guide's page "Signals: the conformance suite". The titles name
 * the modules.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTls, type TlsStand } from '../../gateway/tls/tls-harness.ts';
import { runFence } from '../../reference/guide-claims/guide-pages.ts';
import { runJson } from '../../support/program.ts';
import { event, type SecurityEvent, verificationType } from './ssf-harness.ts';
import {
  type Delivery,
  openSuiteReceiver,
  pathOf,
  type Reply,
  requested,
  type SuiteReceiver,
} from './suite-receiver.ts';

let stand: TlsStand;
let suite: SuiteReceiver;
/** Of another client, with a stream of its own. */
let beside: SuiteReceiver;
/** Its changes are the events; those of the suite's own client would end the token of the run. */
let subject: string;
const page = '../secure/signals-conformance';
const deliveries: Delivery[] = ['poll', 'push'];

beforeAll(async () => {
  stand = await startTls(({ caFile }) => ({
    ORDERPASS_SIGNALS: 'on',
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    NODE_EXTRA_CA_CERTS: caFile,
  }));
  const run = (args: string[]) => runJson(args, stand.env);
  const [restaurant, made, , other] = await runFence(page, 'clients.sh', run, (placeholder, [first, own]) =>
    placeholder === 'rst_…' ? first?.restuid : own?.client_id,
  );
  const restuid = String(restaurant?.restuid);
  const { client_id = '', client_secret = '' } = made ?? {};
  subject = String(other?.client_id);
  suite = await openSuiteReceiver(stand, { client_id, client_secret });
  const second = ['client', 'create', '--name', 'Beside', '--restaurant', restuid, '--scope', 'ssf.manage ssf.read'];
  const { client_id: id = '', client_secret: secret = '' } = await run(second);
  beside = await openSuiteReceiver(stand, { client_id: id, client_secret: secret });
});

afterAll(async () => {
  await suite?.close();
  await beside?.close();
  await stand?.close();
});

const stateOf = ({ events }: SecurityEvent): unknown => events[verificationType]?.state;
const typesOf = (events: SecurityEvent[]): string[] => events.flatMap(({ events: held }) => Object.keys(held));
const refused = ({ status, headers }: Reply): unknown => [status, String(headers['www-authenticate'])];

test('A-625 openid-ssf-transmitter-metadata: members, https addresses and one RSA key', async () => {
  const { metadata } = suite;
  expect([metadata.issuer, metadata.spec_version]).toEqual([stand.url, '1_0']);
  for (const [name, value] of Object.entries(metadata))
    if (/_(?:endpoint|uri)$/.test(name)) expect(value).toMatch(/^https:/);
  const resource = await suite.send('GET', '/.well-known/oauth-protected-resource');
  expect(resource.json.scopes_supported).toEqual(expect.arrayContaining(['ssf.manage', 'ssf.read']));
});

test.each(deliveries)('A-625 openid-ssf-stream-control-happy-path (%s): create to delete', async (delivery) => {
  const { call, stream, authorization, setStatus, remove } = await suite.begin(delivery);
  const { stream_id } = stream;
  const one = `${suite.streams}?stream_id=${stream_id}`;
  const readBack = async (): Promise<unknown> => (await call('GET', one)).json;
  expect(await readBack()).toEqual(stream);
  const { method, endpoint_url } = stream.delivery as Record<string, string>;
  const asked = delivery === 'poll' ? { method } : { method, endpoint_url, authorization_header: authorization };
  const changed = { stream_id, description: 'changed', events_requested: requested, delivery: asked };
  for (const [verb, body] of [
    ['PATCH', changed],
    ['PUT', changed],
    ['PUT', { stream_id, events_requested: requested.slice(0, 1), delivery: asked }],
  ] as const) {
    const reply = await call(verb, suite.streams, body);
    const { events_requested, ...more } = body;
    expect([reply.status, reply.json.events_requested]).toEqual([200, events_requested]);
    expect(reply.json.description).toBe('description' in more ? more.description : undefined);
    expect(await readBack()).toEqual(reply.json);
  }
  const standing = `${pathOf(suite.metadata.status_endpoint)}?stream_id=${stream_id}`;
  expect((await call('GET', standing)).json).toEqual({ stream_id, status: 'enabled' });
  for (const status of ['enabled', 'paused', 'disabled']) await setStatus(status);
  await remove();
});

test('A-625 the negative modules of streams: each wrong request has the status that its module expects', async () => {
  const { call, stream, remove } = await suite.begin('poll');
  const { streams, metadata, send } = suite;
  const { stream_id } = stream;
  const [status, verify] = [pathOf(metadata.status_endpoint), pathOf(metadata.verification_endpoint)];
  const poll = pathOf((stream.delivery as { endpoint_url: string }).endpoint_url);
  expect((await call('POST', streams, { delivery: stream.delivery })).status).toBe(409);
  for (const method of ['POST', 'PATCH', 'PUT'])
    expect((await call(method, streams, '{"delivery": ')).status).toBe(400);
  expect((await call('POST', verify, '{"stream_id": ')).status).toBe(400);
  const unknown = { stream_id: 'unknown' };
  for (const [method, path, body] of [
    ['GET', `${streams}?stream_id=unknown`],
    ['DELETE', `${streams}?stream_id=unknown`],
    ['PATCH', streams, unknown],
    ['PUT', streams, unknown],
    ['GET', `${status}?stream_id=unknown`],
    ['POST', status, { ...unknown, status: 'paused' }],
    ['POST', verify, unknown],
  ] as const)
    expect([method, path, (await call(method, path, body)).status]).toEqual([method, path, 404]);
  const about: [string, string, unknown?][] = [
    ['GET', `${streams}?stream_id=${stream_id}`],
    ['POST', streams, {}],
    ['PATCH', streams, { stream_id }],
    ['PUT', streams, { stream_id }],
    ['DELETE', `${streams}?stream_id=${stream_id}`],
    ['GET', `${status}?stream_id=${stream_id}`],
    ['POST', verify, { stream_id }],
    ['POST', poll, { returnImmediately: true }],
  ];
  for (const [method, path, body] of about) {
    expect(refused(await send(method, path, undefined, body))).toEqual([401, expect.stringMatching(/^Bearer /)]);
    const wrong = await send(method, path, 'wrong', body);
    expect(refused(wrong)).toEqual([401, expect.stringMatching(/^Bearer .*error="invalid_token"/)]);
  }
  const token = await suite.tokenOf();
  expect((await send('GET', `${streams}?access_token=${token}`)).status).toBe(400);
  const readOnly = await send('POST', streams, await suite.tokenOf('ssf.read'), {});
  expect(refused(readOnly)).toEqual([403, expect.stringContaining('error="insufficient_scope"')]);
  await remove();
});

test('A-625 openid-ssf-stream-subject-control: subjects are added with 200 and removed with 204', async () => {
  const { call, stream, remove } = await suite.begin('poll');
  const body = { stream_id: stream.stream_id, subject: { format: 'email', email: 'who@example.com' } };
  const added = await call('POST', pathOf(suite.metadata.add_subject_endpoint), { ...body, verified: true });
  expect([added.status, added.text]).toEqual([200, '']);
  expect((await call('POST', pathOf(suite.metadata.remove_subject_endpoint), body)).status).toBe(204);
  await remove();
});

test.each([
  ['poll', true],
  ['push', true],
  ['push', false],
] as const)(
  'A-626 stream-verification (%s, with authorization: %s): the event has the state',
  async (delivery, with_) => {
    const module = await suite.begin(delivery, { withAuthorization: with_ });
    const state = await module.verify();
    const [first] = await module.receiveUntil((events) => events.length > 0);
    expect([first?.sub_id, first && stateOf(first)]).toEqual([
      { format: 'opaque', id: module.stream.stream_id },
      state,
    ]);
    await module.remove();
  },
);

test('A-626 stream-verification-poll-only, ack-only, set-errs, long-poll: as RFC 8936 has them', async () => {
  const module = await suite.begin('poll');
  await module.verify();
  const first = await module.poll({ maxEvents: 10, returnImmediately: true });
  const [jti = ''] = Object.keys(first.sets);
  expect((await module.poll({ maxEvents: 10, returnImmediately: true })).sets).toEqual(first.sets);
  expect((await module.poll({ maxEvents: 0, returnImmediately: true, ack: [jti] })).sets).toEqual({});
  expect((await module.poll({ maxEvents: 10, returnImmediately: true })).sets).toEqual({});
  const waiting = module.poll({ maxEvents: 10, returnImmediately: false });
  await runJson(['client', 'rotate-secret', '--client-id', subject], stand.env);
  const [late = ''] = Object.keys((await waiting).sets);
  const setErrs = { [late]: { err: 'invalid_request', description: 'of a test' } };
  expect((await module.poll({ maxEvents: 0, returnImmediately: true, setErrs })).sets).toEqual({});
  expect(Object.keys((await module.poll({ maxEvents: 10, returnImmediately: true })).sets)).not.toContain(late);
  await module.remove();
});

/** Two later events of other streams are pushed, one after the other: an earlier one that were not held would have been pushed too. */
const pushBeside = async (): Promise<void> => {
  for (let pushed = 0; pushed < 2; pushed += 1) {
    const module = await beside.begin('push');
    await module.verify();
    await module.receiveUntil((events) => events.length > 0);
    await module.remove();
  }
};

test.each(deliveries)('A-626 paused-stream-holds-events, disabled-stream-drops-events (%s)', async (delivery) => {
  const module = await suite.begin(delivery);
  await module.setStatus('paused');
  const held = await module.verify();
  if (delivery === 'poll') expect((await module.poll({ maxEvents: 10, returnImmediately: true })).sets).toEqual({});
  else await pushBeside();
  expect(suite.pushes).toEqual([]);
  await module.setStatus('enabled');
  const [first] = await module.receiveUntil((events) => events.length > 0);
  expect(first && stateOf(first)).toBe(held);
  await module.setStatus('disabled');
  await runJson(['client', 'revoke-tokens', '--client-id', subject], stand.env);
  await module.setStatus('enabled');
  await runJson(['client', 'rotate-secret', '--client-id', subject], stand.env);
  const all = await module.receiveUntil((events) => typesOf(events).includes(event('credential-change')));
  expect(typesOf(all)).not.toContain(event('session-revoked'));
  await module.remove();
});

test.each(deliveries)(
  'A-627 openid-ssf-transmitter-stream-caep-interop (%s): every type arrives, by one token',
  async (delivery) => {
    const module = await suite.begin(delivery);
    const { stream_id } = module.stream;
    const read = await module.call('GET', `${suite.streams}?stream_id=${stream_id}`);
    expect(read.json.events_supported).toEqual(expect.arrayContaining(module.stream.events_delivered as string[]));
    const standing = await module.call('GET', `${pathOf(suite.metadata.status_endpoint)}?stream_id=${stream_id}`);
    expect(standing.json.status).toBe('enabled');
    const state = await module.verify();
    await module.receiveUntil((events) => events.some((one) => stateOf(one) === state));
    await runFence(
      page,
      'triggers.sh',
      (args) => runJson(args, stand.env),
      () => subject,
    );
    const wanted = module.stream.events_delivered as string[];
    const events = await module.receiveUntil((found) => wanted.every((type) => typesOf(found).includes(type)));
    const subjects = events.filter((one) => stateOf(one) === undefined).map(({ sub_id }) => sub_id.sub);
    expect(new Set(subjects)).toEqual(new Set([subject]));
    await module.remove();
  },
);

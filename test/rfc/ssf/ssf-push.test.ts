/**
 * RFC 8935 and the way from a change to its receiver: two gateways, a worker and commands as processes on one store. The
 * receiver verifies events with the key set that the metadata names.
 */
import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { event, pushMethod, type SecurityEvent } from './ssf-harness.ts';

let database: TestDatabase;
let env: Record<string, string>;
let receiver: WebhookReceiver;
let worker: RunningProgram;
let restuid: string;
let keys: ReturnType<typeof createLocalJWKSet>;
const gateways: RunningProgram[] = [];
const origin = 'http://localhost:4000';
const authorization = 'Bearer of-the-receiver';

const startWorker = (): Promise<RunningProgram> => startProgram({ ...env, ORDERPASS_ROLE: 'worker' });

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ORIGIN: origin,
    ORDERPASS_SIGNALS: 'on',
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
  };
  receiver = await startReceiver(status(202));
  for (let count = 0; count < 2; count += 1)
    gateways.push(await startProgram({ ...env, ORDERPASS_ROLE: 'gateway', ORDERPASS_INTERNAL_PORT: '' }));
  worker = await startWorker();
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Osteria'], env)).restuid);
  keys = createLocalJWKSet((await (await fetch(`${gateways[0]?.url}/api/oauth/signals/jwks`)).json()) as JSONWebKeySet);
});

afterAll(async () => {
  await Promise.all([...gateways, worker].map((program) => program?.stop()));
  await receiver?.close();
  await database?.drop();
});

type Client = { client_id: string; client_secret: string };

const newClient = async (): Promise<Client> => {
  const scope = 'ssf.manage ssf.read';
  const options = ['--name', 'Partner', '--restaurant', restuid, '--scope', scope];
  return (await runJson(['client', 'create', ...options], env)) as unknown as Client;
};

const callerOf = async ({ client_id, client_secret }: Client) => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const answer = await fetch(`${gateways[0]?.url}/api/oauth/token`, { method: 'POST', body });
  const { access_token } = (await answer.json()) as { access_token: string };
  return async (method: string, path: string, sent?: object, gateway = 0) => {
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
    const url = `${gateways[gateway]?.url}/api/oauth/signals/${path}`;
    const reply = await fetch(url, { method, headers, ...(sent && { body: JSON.stringify(sent) }) });
    const text = await reply.text();
    return { status: reply.status, text, json: text === '' ? undefined : JSON.parse(text) };
  };
};

/** A client with a push stream at a path of its own. */
const newStream = async () => {
  const client = await newClient();
  const call = await callerOf(client);
  const path = `/${client.client_id}`;
  const endpoint_url = new URL(path, receiver.url).href;
  const delivery = { method: pushMethod, endpoint_url, authorization_header: authorization };
  const made = await call('POST', 'streams', { delivery });
  expect([made.status, made.json?.delivery]).toEqual([201, { method: pushMethod, endpoint_url }]);
  const requests = () => receiver.received.filter((request) => request.path === path);
  const sets = (): Promise<SecurityEvent[]> =>
    Promise.all(
      requests().map(async ({ body }) => {
        const checks = { issuer: origin, audience: client.client_id, typ: 'secevent+jwt' };
        return (await jwtVerify(body, keys, checks)).payload as SecurityEvent;
      }),
    );
  return { client, call, id: String(made.json.stream_id), requests, sets };
};

const changeOf = async (client: Client, reason: string): Promise<void> => {
  await runJson(['client', 'quarantine', '--client-id', client.client_id, '--reason', reason], env);
};

const reasons = (sets: readonly SecurityEvent[]): string[] =>
  sets.flatMap(({ events }) => Object.values(events).map((one) => (one.reason_admin as { en: string }).en));

test('A-422 RFC 8935 2: a change is pushed within a second as a signed event with the authorization of the receiver', async () => {
  const { client, requests, sets, call, id } = await newStream();
  await changeOf(client, 'unusual calls');
  const committedAt = Date.now();
  await until(() => requests().length > 0);
  const [request] = requests();
  // The command ends after its commit, and a machine with other work gets a second more.
  expect((request?.at ?? 0) - committedAt).toBeLessThan(2_000);
  expect(request?.headers).toMatchObject({
    authorization,
    'content-type': 'application/secevent+jwt',
    accept: 'application/json',
  });
  const [set] = await sets();
  expect(set?.sub_id).toEqual({ format: 'iss_sub', iss: origin, sub: client.client_id });
  expect(set?.events[event('session-revoked')]).toMatchObject({
    initiating_entity: 'admin',
    reason_admin: { en: 'unusual calls' },
  });
  await runJson(['client', 'reactivate', '--client-id', client.client_id, '--reason', 'checked'], env);
  await until(() => requests().length > 1);
  // Another gateway serves the same stream.
  await until(async () => (await call('GET', `streams?stream_id=${id}`, undefined, 1)).status === 200);
  const poll = await call('POST', `poll?stream_id=${id}`, { returnImmediately: true });
  expect(poll.status).toBe(404);
});

test('A-422 a receiver that fails gets the same event again, in order; one that refuses it gets it once', async () => {
  const { client, requests, sets } = await newStream();
  let failing = true;
  receiver.behave((response, request) => {
    if (request.path.endsWith(client.client_id) && failing) return void response.writeHead(503).end();
    if (request.path.endsWith(client.client_id) && requests().length > 0 && reasonOf(request.body) === 'refused')
      return void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ err: 'invalid_request', description: 'no' }));
    response.writeHead(202).end();
  });
  await changeOf(client, 'first');
  await changeOf(client, 'refused');
  await changeOf(client, 'last');
  await until(() => requests().length > 1);
  failing = false;
  await until(async () => reasons(await sets()).includes('last'));
  const found = await sets();
  const texts = reasons(found);
  expect(texts.slice(texts.lastIndexOf('first'))).toEqual(['first', 'refused', 'last']);
  const firsts = found.filter((_set, index) => texts[index] === 'first');
  expect(new Set(firsts.map(({ jti }) => jti)).size).toBe(1);
  receiver.behave(status(202));
});

const reasonOf = (set: string): string => {
  const claims = JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString()) as SecurityEvent;
  return reasons([claims])[0] ?? '';
};

test('A-423 kill -9 of the worker between a commit and its push loses no event', async () => {
  const { client, requests, sets } = await newStream();
  // The receiver holds the first push, so the worker dies while it waits for the answer.
  receiver.behave((response, request) => {
    if (!request.path.endsWith(client.client_id)) response.writeHead(202).end();
  });
  await changeOf(client, 'in flight');
  await until(() => requests().length > 0);
  await worker.kill();
  await changeOf(client, 'without a worker');
  receiver.behave(status(202));
  worker = await startWorker();
  await until(async () => reasons(await sets()).includes('without a worker'));
  const texts = reasons(await sets());
  expect(texts.filter((text) => text === 'in flight').length).toBe(2);
  expect(texts.at(-1)).toBe('without a worker');
}, 120_000);

test('A-423 commands list, pause and delete streams, and set what a client gets', async () => {
  const { client, id, requests, call } = await newStream();
  const listed = (await runJson(['signals', 'list'], env)) as unknown as { streams: Record<string, unknown>[] };
  expect(listed.streams.find((one) => one.id === id)).toMatchObject({
    client_id: client.client_id,
    delivery: 'push',
    status: 'enabled',
    reach: 'own',
  });
  expect(JSON.stringify(listed)).not.toContain(authorization);
  await runJson(['signals', 'pause', id, '--reason', 'receiver is moved'], env);
  await until(() => requests().length > 0);
  expect(reasonTypes(requests()[0]?.body ?? '')).toEqual([
    'https://schemas.openid.net/secevent/ssf/event-type/stream-updated',
  ]);
  const status_ = await call('GET', `status?stream_id=${id}`);
  expect(status_.json).toEqual({ stream_id: id, status: 'paused', reason: 'receiver is moved' });
  await runJson(['client', 'signals', 'all', '--client-id', client.client_id], env);
  expect((await runCommand(['client', 'signals', 'some', '--client-id', client.client_id], env)).code).toBe(2);
  await runJson(['signals', 'delete', id], env);
  expect((await call('GET', 'streams')).json).toEqual([]);
  expect((await runCommand(['signals', 'delete', id], env)).code).toBe(1);
});

const reasonTypes = (set: string): string[] =>
  Object.keys((JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString()) as SecurityEvent).events);

/**
 * RFC 8935 and the way from a change to its receiver: two gateways, a worker and commands as processes on one store. The
 * receiver verifies events with the key set that the metadata names.
 */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { run } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { event, pushMethod, type SecurityEvent } from './ssf-harness.ts';

let database: TestDatabase;
let env: Record<string, string>;
let receiver: WebhookReceiver;
let worker: RunningProgram;
let restuid: string;
let workerPort: number;
let keys: ReturnType<typeof createLocalJWKSet>;
const gateways: RunningProgram[] = [];
const origin = 'http://localhost:4000';
const authorization = 'Bearer of-the-receiver';

const startGateway = (): Promise<RunningProgram> =>
  startProgram({ ...env, ORDERPASS_ROLE: 'gateway', ORDERPASS_INTERNAL_PORT: '' });
const startWorker = (): Promise<RunningProgram> =>
  startProgram({ ...env, ORDERPASS_ROLE: 'worker', ORDERPASS_INTERNAL_PORT: String(workerPort) });

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
  workerPort = await freePort();
  gateways.push(await startGateway(), await startGateway());
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

test('A-422 RFC 8935 2: a change is pushed as a signed event with the authorization of the receiver', async () => {
  const { client, requests, sets, call, id } = await newStream();
  await changeOf(client, 'unusual calls');
  await until(() => requests().length > 0);
  const [request] = requests();
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

test('A-422 RFC 8935 2.3, 2.4: a receiver that fails gets the same event again, in order; one that refuses it gets it once', async () => {
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

test('A-422 RFC 9110 10.2.3: a receiver that asks for a pause with 429 gets the event again after it', async () => {
  const { client, requests, sets } = await newStream();
  const times: number[] = [];
  receiver.behave((response, request) => {
    if (!request.path.endsWith(client.client_id)) return void response.writeHead(202).end();
    times.push(performance.now());
    if (times.length === 1) response.writeHead(429, { 'retry-after': '3' }).end();
    else response.writeHead(202).end();
  });
  await changeOf(client, 'busy receiver');
  await until(() => requests().length > 1);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(2_900);
  expect(reasons(await sets())).toEqual(['busy receiver', 'busy receiver']);
  receiver.behave(status(202));
});

const reasonOf = (set: string): string => {
  const claims = JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString()) as SecurityEvent;
  return reasons([claims])[0] ?? '';
};

test('a stream whose push fails inside of the program waits before it is tried again, and the operator sees why', async () => {
  const { client, id, requests } = await newStream();
  const stream = 'from gateway.signal_streams where stream_id = $1';
  const { rows: kept } = await database.pool.query(`select authorization_sealed as sealed ${stream}`, [id]);
  const seal = (sealed: Buffer) =>
    database.pool.query('update gateway.signal_streams set authorization_sealed = $2 where stream_id = $1', [
      id,
      sealed,
    ]);
  await seal(Buffer.from('damaged'));
  await changeOf(client, 'not yet');
  await until(async () => {
    const { rows } = await database.pool.query(`select failures, last_error ${stream}`, [id]);
    return rows[0].failures >= 2 && rows[0].last_error.startsWith('internal error');
  });
  expect(requests()).toHaveLength(0);
  await seal(kept[0].sealed);
  await until(() => requests().length === 1);
});

test('A-423 RFC 8935 2.3: kill -9 of the worker between a commit and its push loses no event', async () => {
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
  const startedAt = Date.now();
  await until(async () => reasons(await sets()).includes('without a worker'));
  // The lease of the killed worker ends.
  expect((requests().at(-1)?.at ?? 0) - startedAt).toBeLessThan(10_000);
  const texts = reasons(await sets());
  expect(texts.filter((text) => text === 'in flight').length).toBe(2);
  expect(texts.at(-1)).toBe('without a worker');
});

/** Sets failures of a stream without its worker, and reads how it is. */
const setFailures = (id: string, failures: number) =>
  database.pool.query('update gateway.signal_streams set failures = $2 where stream_id = $1', [id, failures]);
const stateOf = async (id: string): Promise<{ failures: number; last_error: string | null; waits: boolean }> => {
  const { rows } = await database.pool.query(
    `select failures, last_error, next_try > now() + interval '2 seconds' as waits, leased_by
     from gateway.signal_streams where stream_id = $1`,
    [id],
  );
  return rows[0];
};

test('A-593 a receiver that sets a new address during a push that fails gets the event there at once', async () => {
  const { client, call, id } = await newStream();
  await setFailures(id, 9);
  const held: ServerResponse[] = [];
  receiver.behave((response, request) => {
    if (request.path.endsWith(client.client_id)) held.push(response);
    else response.writeHead(202).end();
  });
  await runJson(['client', 'rotate-secret', '--client-id', client.client_id], env);
  await until(() => held.length === 1);
  const endpoint_url = new URL(`/new/${id}`, receiver.url).href;
  const delivery = { method: pushMethod, endpoint_url, authorization_header: authorization };
  expect((await call('PATCH', 'streams', { stream_id: id, delivery })).status).toBe(200);
  held[0]?.writeHead(503).end();
  const arrived = () => receiver.received.some(({ path }) => path === `/new/${id}`);
  await until(async () => arrived() || (await stateOf(id)).waits);
  expect(arrived()).toBe(true);
  await until(async () => (await stateOf(id)).failures === 0);
  expect((await stateOf(id)).last_error).toBeNull();
  receiver.behave(status(202));
});

test('A-594 the orderly end of a worker during a push is no failure of the receiver, and the next worker pushes at once', async () => {
  const { client, id, requests } = await newStream();
  await setFailures(id, 9);
  let isHeld = true;
  receiver.behave((response, request) => {
    if (!isHeld || !request.path.endsWith(client.client_id)) response.writeHead(202).end();
  });
  await changeOf(client, 'during an update');
  await until(() => requests().length === 1);
  await worker.stop();
  expect(await stateOf(id)).toEqual({ failures: 9, last_error: null, waits: false, leased_by: null });
  isHeld = false;
  worker = await startWorker();
  await until(() => requests().length === 2);
  await until(async () => (await stateOf(id)).failures === 0);
  receiver.behave(status(202));
});

test('A-605 the store is away for longer than a lease while a push is in flight: the event is sent once', async () => {
  const { client, id, requests } = await newStream();
  let held: ServerResponse | undefined;
  receiver.behave((response, request) => {
    if (request.path.endsWith(client.client_id)) held = response;
    else response.writeHead(202).end();
  });
  await changeOf(client, 'before the outage');
  await until(() => requests().length === 1);
  const { rows } = await database.pool.query<{ name: string }>('select current_database() as name');
  const server = inject('testServer').url;
  const own = await database.pool.connect();
  await run(server, `alter database ${rows[0]?.name} allow_connections false`);
  try {
    await own.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [rows[0]?.name],
    );
    await own.query(`update gateway.signal_streams set lease_until = now() - interval '1 s' where stream_id = $1`, [
      id,
    ]);
    await until(() => /"service":"signal-push".*service failed/.test(worker.errors()));
  } finally {
    own.release();
    await run(server, `alter database ${rows[0]?.name} allow_connections true`);
  }
  const leased = 'select from gateway.signal_streams where stream_id = $1 and lease_until > now()';
  await until(async () => (await database.pool.query(leased, [id])).rowCount === 1);
  held?.writeHead(202).end();
  const waiting = 'select from gateway.signal_events where stream_id = $1';
  await until(async () => (await database.pool.query(waiting, [id])).rowCount === 0);
  expect(requests().length).toBe(1);
  receiver.behave(status(202));
});

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

const revoke = async ({ client_id, client_secret }: Client, gateway: number): Promise<number> => {
  const form = (fields: Record<string, string>): RequestInit => ({ method: 'POST', body: new URLSearchParams(fields) });
  const url = `${gateways[gateway]?.url}/api/oauth`;
  const proof = { client_id, client_secret };
  const issued = await fetch(`${url}/token`, form({ grant_type: 'client_credentials', ...proof }));
  const { access_token } = (await issued.json()) as { access_token: string };
  return (await fetch(`${url}/revoke`, form({ token: access_token, ...proof }))).status;
};

test('A-441 kill -9 of a gateway after it has answered loses no event', async () => {
  const { client, sets } = await newStream();
  await worker.kill();
  expect(await revoke(client, 1)).toBe(200);
  await gateways[1]?.kill();
  gateways[1] = await startGateway();
  worker = await startWorker();
  await until(async () => (await sets()).some(({ sub_id }) => sub_id.format === 'complex'));
});

test('A-492 the receiver of a client that is disabled gets the last events of it', async () => {
  const { client, sets } = await newStream();
  await runJson(['client', 'disable', '--client-id', client.client_id], env);
  await until(async () => (await sets()).length >= 2);
  const types = (await sets()).map(({ events }) => Object.keys(events));
  expect(types).toEqual([[event('session-revoked')], [event('credential-change')]]);
  expect((await sets())[1]?.events[event('credential-change')]).toMatchObject({ change_type: 'delete' });
});

test('A-493 RFC 8936 2.4: kill -9 of a gateway while a poll waits, and between its answer and the confirmation, loses no event', async () => {
  const client = await newClient();
  const call = await callerOf(client);
  const { json: stream } = await call('POST', 'streams', {});
  const poll = async (gateway: number, more: object = { returnImmediately: true }): Promise<string[]> =>
    Object.keys((await call('POST', `poll?stream_id=${stream.stream_id}`, more, gateway)).json.sets);
  const restart = async (): Promise<void> => {
    await gateways[1]?.kill();
    gateways[1] = await startGateway();
  };
  expect(await poll(1)).toEqual([]);
  const waiting = poll(1, {}).catch(() => 'cut');
  await restart();
  expect(await waiting).toBe('cut');
  for (let n = 0; n < 3; n += 1) await runJson(['client', 'rotate-secret', '--client-id', client.client_id], env);
  const answered = await poll(1);
  expect(answered.length).toBeGreaterThanOrEqual(3);
  await restart();
  expect(await poll(0)).toEqual(answered);
  expect(await poll(1, { returnImmediately: true, ack: answered.slice(0, 1) })).toEqual(answered.slice(1));
  await restart();
  expect(await poll(1)).toEqual(answered.slice(1));
  expect(await poll(0, { returnImmediately: true, ack: answered })).toEqual([]);
});

test('A-442 a stream with more than 10,000 events is disabled with a reason, holds none, and an operator resumes it', async () => {
  const { client, call, id, sets } = await newStream();
  await runJson(['signals', 'pause', id, '--reason', 'full'], env);
  await until(async () => (await sets()).length === 1);
  await worker.stop();
  await database.pool.query(
    `insert into gateway.signal_events (stream_id, jti, txn, event_type, subject, payload, created)
     select $1, 'jti' || n, 'txn', $2, '{}', '{}', now() from generate_series(1, 10001) n`,
    [id, event('session-revoked')],
  );
  worker = await startWorker();
  const statusOf = async () =>
    (await call('GET', `status?stream_id=${id}`)).json as { status: string; reason?: string };
  await until(async () => (await statusOf()).status === 'disabled');
  expect((await statusOf()).reason).toContain('10000');
  const waiting = async (): Promise<unknown> => {
    const { streams } = (await runJson(['signals', 'list'], env)) as unknown as { streams: Record<string, unknown>[] };
    return streams.find((one) => one.id === id)?.waiting;
  };
  await until(async () => (await waiting()) === 0);
  await changeOf(client, 'while it is disabled');
  await runJson(['signals', 'resume', id], env);
  await runJson(['client', 'reactivate', '--client-id', client.client_id, '--reason', 'looked at'], env);
  await changeOf(client, 'after it was resumed');
  await until(async () => texts(await sets()).includes('after it was resumed'));
  expect(texts(await sets())).not.toContain('while it is disabled');
});

test('A-697 a worker without the setting bounds what waits for streams that were made before: old events go, and their stream is disabled', async () => {
  const { call, id } = await newStream();
  await runJson(['signals', 'pause', id, '--reason', 'the trial has ended'], env);
  await worker.stop();
  await database.pool.query(
    `insert into gateway.signal_events (stream_id, jti, txn, event_type, subject, payload, created)
     select $1, 'old' || n, 'txn', $2, '{}', '{}', now() - interval '8 days' from generate_series(1, 3) n`,
    [id, event('session-revoked')],
  );
  worker = await startProgram({
    ...env,
    ORDERPASS_ROLE: 'worker',
    ORDERPASS_INTERNAL_PORT: String(workerPort),
    ORDERPASS_SIGNALS: 'off',
  });
  const old = `select from gateway.signal_events where stream_id = $1 and created < now() - interval '7 days'`;
  await until(async () => (await database.pool.query(old, [id])).rowCount === 0);
  expect((await call('GET', `status?stream_id=${id}`)).json).toMatchObject({
    status: 'disabled',
    reason: expect.stringContaining('7 days'),
  });
  await worker.stop();
  worker = await startWorker();
});

/** Reasons of those events that have one in a language. */
const texts = (sets: readonly SecurityEvent[]): string[] =>
  sets.flatMap(({ events }) =>
    Object.values(events).flatMap(({ reason_admin }) =>
      reason_admin === undefined ? [] : [(reason_admin as { en: string }).en],
    ),
  );

test('A-443 a new key is listed before it signs, an old one after it signed, and a second rotation in between is refused', async () => {
  const { client, requests } = await newStream();
  const listed = async (): Promise<string[]> => {
    const answer = await fetch(`${gateways[0]?.url}/api/oauth/signals/jwks`);
    return ((await answer.json()) as JSONWebKeySet).keys.map(({ kid }) => String(kid));
  };
  const kidOf = (set: string): string =>
    (JSON.parse(Buffer.from(set.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid;
  const signedNext = async (reason: string): Promise<string> => {
    const before = requests().length;
    await changeOf(client, reason);
    await until(() => requests().length > before);
    const kid = kidOf(requests().at(-1)?.body ?? '');
    await runJson(['client', 'reactivate', '--client-id', client.client_id, '--reason', 'again'], env);
    await until(() => requests().length > before + 1);
    return kid;
  };
  const [old] = await listed();
  const { kid, signs_from } = await runJson(['signals', 'rotate-signing-key'], env);
  expect(Date.parse(String(signs_from)) - Date.now()).toBeGreaterThan(86_000_000);
  await until(async () => (await listed()).length === 2);
  expect(await listed()).toEqual(expect.arrayContaining([old, kid]));
  expect((await runCommand(['signals', 'rotate-signing-key'], env)).stderr).toContain('signs from');
  expect(await signedNext('before its time')).toBe(old);
  const moved = (interval: string) =>
    database.pool.query(
      `update gateway.signal_keys
       set not_before = now() - case kid when $1 then $2::interval else interval '30 days' end`,
      [kid, interval],
    );
  await moved('1 second');
  await until(async () => (await signedNext('after its time')) === kid);
  expect(await listed()).toHaveLength(2);
  await moved('8 days');
  await until(async () => (await listed()).length === 1);
  expect(await listed()).toEqual([kid]);
});

test('A-444 metrics of the worker and the list show what waits, what was pushed and what failed', async () => {
  const { client, id, requests } = await newStream();
  receiver.behave(
    (response, request) => void response.writeHead(request.path.endsWith(client.client_id) ? 503 : 202).end(),
  );
  await changeOf(client, 'not taken');
  await until(() => requests().length > 0);
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${workerPort}/metrics`)).text();
    const line = text.split('\n').find((one) => one.startsWith(`orderpass_${name} `));
    return Number(line?.split(' ')[1] ?? Number.NaN);
  };
  await until(async () => (await metric(`signal_stream_events_pending{stream="${id}"}`)) === 1);
  expect(await metric('signal_events_pending')).toBeGreaterThan(0);
  expect(await metric('signal_oldest_pending_seconds')).toBeGreaterThan(0);
  expect(await metric('signal_pushes_total{outcome="failed"}')).toBeGreaterThan(0);
  const shown = async () => {
    const { streams } = (await runJson(['signals', 'list'], env)) as unknown as { streams: Record<string, unknown>[] };
    return streams.find((one) => one.id === id);
  };
  expect(await shown()).toMatchObject({ waiting: 1, last_error: '503', pushed_at: null });
  receiver.behave(status(202));
  await until(async () => (await shown())?.waiting === 0);
  expect((await shown())?.pushed_at).not.toBeNull();
  await until(async () => (await metric('signal_pushes_total{outcome="delivered"}')) > 0);
});

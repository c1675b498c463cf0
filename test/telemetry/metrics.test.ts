/** What /metrics and /readyz of the real program say, when all is well and when it is not. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGatherMetrics, type Scraped } from '#src/app/processes/gather-metrics.ts';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { programCommit, programVersion } from '#src/platform/files/release.ts';
import { createMetrics, type MetricsReading } from '#src/platform/telemetry/metrics.ts';
import { openStoreLine, type StoreLine } from '../gateway/harness/store-line.ts';
import { altered } from '../support/altered.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts';

let database: TestDatabase;
let line: StoreLine;
let env: Record<string, string>;
let receiver: WebhookReceiver;
let program: RunningProgram;
let metricsUrl: string;
let restuid: string;

beforeAll(async () => {
  database = await createTestDatabase();
  line = await openStoreLine(database.url);
  receiver = await startReceiver(status(500));
  const port = String(await freePort());
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_RATE_FAILURES_MAX: '3',
  };
  program = await startProgram({ ...env, DATABASE_URL: line.url, ORDERPASS_INTERNAL_PORT: port });
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Osteria'], env)).restuid);
  const kinds = { customers: true, orders: true, loyaltylog: true, menu: true };
  await inTransaction(database.db, (tx) => setKinds(tx, restuid, kinds));
  await runJson(['endpoint', 'create', '--restaurant', restuid, '--url', receiver.url], env);
});

afterAll(async () => {
  await program?.stop();
  await line?.close();
  await receiver?.close();
  await database?.drop();
});

const figures = async (): Promise<(name: string) => number> => {
  const text = await (await fetch(metricsUrl)).text();
  return (name) =>
    Number(
      text
        .split('\n')
        .find((row) => row.startsWith(`${name} `))
        ?.slice(name.length) ?? 0,
    );
};

const ask = async (headers: Record<string, string>, path = '/api/orders/list'): Promise<number> => {
  const answer = await fetch(`${program.url}${path}`, { headers });
  await answer.text();
  return answer.status;
};

type Client = { client_id: string; client_secret: string };

const newClient = async (): Promise<Client> =>
  (await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env)) as unknown as Client;

const byHeaders = ({ client_id, client_secret }: Client): Record<string, string> => ({
  'x-client-id': client_id,
  'x-client-secret': client_secret,
});

const tokenOf = async ({ client_id, client_secret }: Client): Promise<Record<string, string>> => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const answer = await fetch(`${program.url}/api/oauth/token`, { method: 'POST', body });
  return { authorization: `Bearer ${((await answer.json()) as { access_token: string }).access_token}` };
};

test('authentications are counted by kind and outcome, tokens by what the memory knew, limits by their kind', async () => {
  const client = await newClient();
  const { api_key } = await runJson(['key', 'create', '--restaurant', restuid], env);
  const before = await figures();
  const bearer = await tokenOf(client);
  expect([await ask(bearer), await ask(bearer), await ask(bearer)]).toEqual([200, 200, 200]);
  expect(await ask({ 'x-api-key': String(api_key) })).toBe(200);
  expect(await ask(byHeaders(client))).toBe(200);
  expect(await ask({})).toBe(401);
  expect(await ask({ 'x-api-key': 'wrong' })).toBe(401);
  expect(await ask({ authorization: 'Bearer a.b.c' })).toBe(401);
  expect(await ask({ ...bearer, 'x-api-key': String(api_key) })).toBe(400);
  const wrong = { ...byHeaders(client), 'x-client-secret': altered(client.client_secret) };
  expect([await ask(wrong), await ask(wrong), await ask(wrong), await ask(wrong)]).toEqual([401, 401, 401, 429]);
  const after = await figures();
  const rise = (name: string): number => after(name) - before(name);
  const authenticated = (kind: string, outcome: string): number =>
    rise(`orderpass_authentications_total{kind="${kind}",outcome="${outcome}"}`);
  expect(authenticated('bearer', 'ok')).toBe(3);
  expect(authenticated('api_key', 'ok')).toBe(1);
  expect(authenticated('api_client', 'ok')).toBe(1);
  expect(authenticated('none', 'invalid_auth')).toBe(1);
  expect(authenticated('api_key', 'invalid_key')).toBe(1);
  expect(authenticated('bearer', 'invalid_auth')).toBe(1);
  expect(authenticated('malformed', 'credentials_ambiguous')).toBe(1);
  expect(authenticated('api_client', 'secret_wrong')).toBe(3);
  expect(authenticated('api_client', 'rate_limited')).toBe(1);
  expect(rise('orderpass_rate_limited_total{limit="failures"}')).toBe(1);
  expect(rise('orderpass_token_cache_hits_total')).toBe(2);
  expect(rise('orderpass_token_cache_misses_total')).toBe(2);
  expect(rise('orderpass_token_cache_entries')).toBe(1);
});

test('paths that the gateway answers by itself are counted by their name, others together; the core counts its operations', async () => {
  const client = await newClient();
  const before = await figures();
  await tokenOf(client);
  expect(await ask({}, '/healthz')).toBe(200);
  expect(await ask({}, '/.well-known/oauth-authorization-server')).toBe(200);
  expect([await ask({}, '/api/oauth/made-up-1'), await ask({}, '/made-up-2')]).toEqual([404, 404]);
  expect(await ask(byHeaders(client))).toBe(200);
  const after = await figures();
  const rise = (route: string, status: string): number => {
    const name = `orderpass_requests_total{route="${route}",status="${status}"}`;
    return after(name) - before(name);
  };
  expect(rise('/healthz', '2xx')).toBe(1);
  expect(rise('/api/oauth/token', '2xx')).toBe(1);
  expect(rise('/.well-known/oauth-authorization-server', '2xx')).toBe(1);
  expect(rise('none', '4xx')).toBe(2);
  expect(await (await fetch(metricsUrl)).text()).not.toContain('made-up');
  await until(async () => {
    const name = 'orderpass_core_requests_total{operation="/api/orders/list",status="2xx"}';
    return (await figures())(name) === before(name) + 1;
  });
});

test('A-022 the lag of revocations covers keys, secrets, clients and all tokens before a time', async () => {
  const client = await newClient();
  const { key_id } = await runJson(['key', 'create', '--restaurant', restuid], env);
  const second = await runJson(
    ['client', 'rotate-secret', '--client-id', client.client_id, '--overlap-hours', '24'],
    env,
  );
  const read = async (le: string): Promise<number> =>
    (await figures())(`orderpass_revocation_lag_seconds_bucket{le="${le}"}`);
  const steps = [
    ['key', 'revoke', '--key-id', String(key_id)],
    ['client', 'retire-secret', '--client-id', client.client_id, '--secret-id', String(second.secret_id), '--force'],
    ['client', 'revoke-tokens', '--client-id', client.client_id],
    ['client', 'disable', '--client-id', client.client_id],
  ];
  const [all, within] = [await read('+Inf'), await read('1')];
  for (const [index, step] of steps.entries()) {
    await runJson(step, env);
    await until(async () => (await read('+Inf')) === all + index + 1);
  }
  expect(await read('1')).toBe(within + steps.length);
});

/** A connection over which the head of a request is sent, and nothing else. */
const openRequest = (head: readonly string[]): ReturnType<typeof connect> => {
  const { hostname, port } = new URL(program.url);
  const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\nhost: x\r\n\r\n`));
  socket.on('error', () => undefined);
  // Unread data would hide the end of the connection.
  socket.resume();
  return socket;
};

const headersOf = (client: Client): string[] =>
  Object.entries(byHeaders(client)).map(([name, value]) => `${name}: ${value}`);

test('A-777 a 429 counts under the limit that was reached: running requests are no failed authentications', async () => {
  const client = await newClient();
  await runJson(['client', 'limits', '--client-id', client.client_id, '--concurrency', '1'], env);
  const before = await figures();
  const open = () =>
    openRequest([
      'POST /api/order/create HTTP/1.1',
      ...headersOf(client),
      'content-type: application/json',
      'content-length: 100',
    ]);
  let running = open();
  try {
    await until(async () => {
      // It was refused itself when it came while the other one ran.
      if (running.closed) running = open();
      return (await ask(byHeaders(client))) === 429;
    });
  } finally {
    running.destroy();
  }
  const after = await figures();
  const rise = (limit: string): number => {
    const name = `orderpass_rate_limited_total{limit="${limit}"}`;
    return after(name) - before(name);
  };
  expect(rise('concurrency')).toBeGreaterThanOrEqual(1);
  expect([rise('failures'), rise('units')]).toEqual([0, 0]);
});

test('A-777 refusals of the OAuth endpoints are counted as those of operations, and each answer of the token endpoint by its outcome', async () => {
  const client = await newClient();
  const post = async (path: string, { client_id, client_secret }: Client): Promise<number> => {
    const form = { client_id, client_secret, token: 'a', grant_type: 'client_credentials' };
    const body = new URLSearchParams(form);
    const answer = await fetch(`${program.url}/api/oauth/${path}`, { method: 'POST', body });
    await answer.text();
    return answer.status;
  };
  const before = await figures();
  const wrong = { ...client, client_secret: altered(client.client_secret) };
  const statuses: number[] = [];
  for (let i = 0; i < 4; i += 1) statuses.push(await post('revoke', wrong));
  expect(statuses).toEqual([401, 401, 401, 429]);
  const unread = await newClient();
  await line.cut();
  try {
    expect(await post('token', unread)).toBe(503);
  } finally {
    await line.restore();
  }
  await until(async () => ((await readyz()) as [number])[0] === 200);
  const after = await figures();
  const rise = (name: string): number => after(`orderpass_${name}`) - before(`orderpass_${name}`);
  expect({
    wrong: rise('refusals_total{code="INVALID_AUTH"}'),
    limited: rise('refusals_total{code="RATE_LIMIT_EXCEEDED"}'),
    failures: rise('rate_limited_total{limit="failures"}'),
    away: rise('refusals_total{code="OVERLOADED"}'),
    tokens: rise('tokens_total{outcome="temporarily_unavailable"}'),
  }).toEqual({ wrong: 3, limited: 1, failures: 1, away: 1, tokens: 1 });
});

test('a request whose caller leaves before the answer of the core is none of its answers', async () => {
  const client = await newClient();
  await runJson(['client', 'limits', '--client-id', client.client_id, '--concurrency', '1'], env);
  const name = (status: string): string =>
    `orderpass_core_requests_total{operation="/api/orders/list",status="${status}"}`;
  const count = 'orderpass_core_request_duration_seconds_count{operation="/api/orders/list"}';
  expect(await ask(byHeaders(client))).toBe(200);
  const before = await figures();
  const holder = await database.pool.connect();
  const waiting = async (): Promise<number> =>
    (await database.pool.query("select from pg_locks where not granted and relation = 'ordering.orders'::regclass"))
      .rows.length;
  try {
    await holder.query('begin; lock table ordering.orders in access exclusive mode');
    const leaving = openRequest(['GET /api/orders/list HTTP/1.1', ...headersOf(client)]);
    await until(async () => (await waiting()) > 0);
    const another = () => ask(byHeaders(client), '/api/menu/categories');
    await until(async () => (await another()) === 429);
    leaving.destroy();
    // The gateway has seen that the caller left, and the core answers what it got later.
    await until(async () => (await another()) === 200);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  await until(async () => (await waiting()) === 0);
  expect(await ask(byHeaders(client))).toBe(200);
  await until(async () => (await figures())(name('2xx')) === before(name('2xx')) + 1);
  const after = await figures();
  expect([after(name('4xx')) - before(name('4xx')), after(count) - before(count)]).toEqual([0, 1]);
});

test('an event that a receiver refuses is counted as an attempt and stays in the queue', async () => {
  const client = await newClient();
  const created = await fetch(`${program.url}/api/customer/create`, {
    method: 'POST',
    headers: { ...byHeaders(client), 'content-type': 'application/json' },
    body: JSON.stringify({ first_name: 'Ada', email: 'ada@example.com' }),
  });
  expect(created.status).toBe(200);
  await until(async () => (await figures())('orderpass_webhook_attempts_total{outcome="status"}') === 1);
  expect((await figures())('orderpass_webhook_attempt_duration_seconds_count')).toBe(1);
  // Read at most once in 10 s.
  await until(async () => (await figures())('orderpass_webhook_deliveries_pending') === 1);
  receiver.behave(status(204));
});

test('a WebSocket that is refused counts like any other request', async () => {
  const before = await figures();
  const { hostname, port } = new URL(program.url);
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        'GET /api/orders/list HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      ),
    );
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString());
    });
  });
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  const name = 'orderpass_requests_total{route="orders.list",status="4xx"}';
  expect((await figures())(name) - before(name)).toBe(1);
});

const readyz = async (): Promise<unknown> => {
  const answer = await fetch(`${program.url}/readyz`);
  return [answer.status, await answer.json()];
};
const routes = { routes_version: expect.stringMatching(/^[0-9a-f]{16}$/), routes_file: 'ok' };
const isReady = [200, { status: 'ok', store: 'ok', writes: 'ok', shared_state: 'local', audit: 'ok', ...routes }];

test('/readyz is 503 and names the store while that is away, /healthz stays 200, and both are 200 when it is back', async () => {
  expect(await readyz()).toEqual(isReady);
  expect((await figures())('orderpass_ready')).toBe(1);
  await line.cut();
  const [code, body] = (await readyz()) as [number, Record<string, unknown>];
  expect([code, body.status, body.store]).toEqual([503, 'unavailable', 'unavailable']);
  expect(await ask({}, '/healthz')).toBe(200);
  const text = await (await fetch(metricsUrl)).text();
  expect(text).toMatch(/^orderpass_ready 0$/m);
  await line.restore();
  await until(async () => ((await readyz()) as [number])[0] === 200);
});

test('/readyz says that the audit is late while it cannot be written, and stays 200', async () => {
  const client = await newClient();
  const holder = await database.pool.connect();
  try {
    await holder.query('begin');
    await holder.query('lock table gateway.audit_events in access exclusive mode');
    expect(await ask(byHeaders(client))).toBe(200);
    await until(async () => ((await readyz()) as [number, { audit: string }])[1].audit === 'late');
    expect(await readyz()).toEqual([
      200,
      { status: 'degraded', store: 'ok', writes: 'ok', shared_state: 'local', audit: 'late', ...routes },
    ]);
    expect((await figures())('orderpass_audit_lag_seconds')).toBeGreaterThan(5);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  await until(async () => ((await readyz()) as [number, { audit: string }])[1].audit === 'ok');
  expect(await readyz()).toEqual(isReady);
});

test.skipIf(!hasRedis)('/readyz stays 200 and says that the shared state is down while Redis is away', async () => {
  const redis = await startRedis();
  const other = await startProgram({ ...env, REDIS_URL: redis.url });
  const said = async (): Promise<unknown> => {
    const answer = await fetch(`${other.url}/readyz`);
    return [answer.status, await answer.json()];
  };
  const states = { store: 'ok', writes: 'ok', audit: 'ok', ...routes };
  try {
    await until(async () => JSON.stringify(await said()).includes('"up"'));
    expect(await said()).toEqual([200, { ...states, status: 'ok', shared_state: 'up' }]);
    await redis.kill();
    await until(async () => JSON.stringify(await said()).includes('"down"'));
    expect(await said()).toEqual([200, { ...states, status: 'degraded', shared_state: 'down' }]);
    await redis.start();
    await until(async () => JSON.stringify(await said()).includes('"up"'));
    expect(await said()).toEqual([200, { ...states, status: 'ok', shared_state: 'up' }]);
  } finally {
    await other.stop();
    await redis.kill();
  }
});

test('F-66 with a token the figures are shown to its holder alone, and without one as before', async () => {
  const port = String(await freePort());
  const token = randomBytes(24).toString('base64url');
  const guarded = await startProgram({ ...env, ORDERPASS_INTERNAL_PORT: port, ORDERPASS_METRICS_TOKEN: token });
  try {
    const url = `http://127.0.0.1:${port}/metrics`;
    const read = (authorization?: string) =>
      fetch(url, authorization === undefined ? {} : { headers: { authorization } });
    for (const wrong of [
      undefined,
      'Bearer',
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Basic ${token}`,
      token,
    ]) {
      const refused = await read(wrong);
      expect([wrong, refused.status]).toEqual([wrong, 401]);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="orderpass metrics"');
      expect(await refused.text()).not.toContain('orderpass_');
    }
    const shown = await read(`Bearer ${token}`);
    expect(shown.status).toBe(200);
    // The worker in the process is ready when its first lease is confirmed.
    await until(async () => /^orderpass_ready 1$/m.test(await (await read(`Bearer ${token}`)).text()));
    expect((await fetch(metricsUrl)).status).toBe(200);
  } finally {
    await guarded.stop();
  }
  const short = await runCommand(['config', 'check'], { ...env, ORDERPASS_METRICS_TOKEN: 'short' });
  expect([short.code, short.stderr]).toEqual([1, expect.stringContaining('ORDERPASS_METRICS_TOKEN')]);
});

test('F-62 while the audit cannot be written one request waits for it, those that follow are answered at once', async () => {
  const client = await newClient();
  const wrongKey = async (): Promise<[number, number]> => {
    const startedAt = performance.now();
    const headers = { 'x-api-key': `opk_${randomBytes(24).toString('base64url')}` };
    const answer = await fetch(`${program.url}/api/menu/categories`, { headers });
    return [answer.status, performance.now() - startedAt];
  };
  const token = async (): Promise<[number, number]> => {
    const startedAt = performance.now();
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...client });
    const answer = await fetch(`${program.url}/api/oauth/token`, { method: 'POST', body });
    return [answer.status, performance.now() - startedAt];
  };
  const holder = await database.pool.connect();
  try {
    await holder.query('begin');
    await holder.query('lock table gateway.audit_events in access exclusive mode');
    const [first, waitedMs] = await wrongKey();
    expect(first).toBe(401);
    expect(waitedMs).toBeGreaterThan(1_500);
    const startedAt = performance.now();
    for (let i = 0; i < 2; i += 1) expect((await wrongKey())[0]).toBe(401);
    for (let i = 0; i < 5; i += 1) expect((await token())[0]).toBe(503);
    // Each of the seven by itself would have waited for 2 s, and one of them may, where the writer has tried again meanwhile.
    expect(performance.now() - startedAt).toBeLessThan(13_000);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  await until(async () => (await token())[0] === 200);
});

test('A-283 the metrics name the release of the program, and its commit where that is known', async () => {
  const build = `orderpass_build_info{version="${programVersion}",commit="${programCommit ?? ''}"}`;
  expect((await figures())(build)).toBe(1);
});

test('a process that ends during a scrape is counted once, and what arrives from it afterwards not at all', async () => {
  const readingOf = (requests: number): Promise<MetricsReading> => {
    const metrics = createMetrics({ process: false });
    metrics.counter('served_total', 'Requests', []).child({}).inc(requests);
    return metrics.read();
  };
  const asked = new Map<Scraped, number>();
  const newProcess = (): Scraped => {
    const process: Scraped = { ask: (id) => asked.set(process, id) };
    return process;
  };
  const [ending, late, staying] = [newProcess(), newProcess(), newProcess()];
  const gather = createGatherMetrics({
    own: createMetrics({ process: false }),
    serving: () => [ending, late, staying],
  });
  const answer = async (process: Scraped, requests: number): Promise<void> =>
    gather.receive(process, asked.get(process) ?? 0, await readingOf(requests));
  const totalOf = async (page: ReturnType<typeof gather.render>): Promise<number> =>
    Number(/^orderpass_served_total (\d+)$/m.exec((await page).text)?.[1]);
  const whole = gather.render();
  for (const process of [ending, late, staying]) await answer(process, 10);
  expect(await totalOf(whole)).toBe(30);
  const page = gather.render();
  await answer(ending, 11);
  gather.ended(ending);
  gather.ended(late);
  await answer(late, 12);
  await answer(staying, 13);
  expect(await totalOf(page)).toBe(11 + 10 + 13);
});

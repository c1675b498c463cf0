/** The real program with a collector: what it tells of a request, and what it must never tell. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type ReceivedSpan, type SpanCollector, startCollector } from '../support/doubles/span-collector.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts';

type Started = RunningProgram & { figures(): Promise<string> };

let database: TestDatabase;
let env: Record<string, string>;
let collector: SpanCollector;
let receiver: WebhookReceiver;
let program: Started;
let client: { client_id: string; client_secret: string };
let restuid: string;
const collectorSecret = 'collector-secret-value';
const running = new Set<RunningProgram>();

const start = async (more: Record<string, string>): Promise<Started> => {
  const port = String(await freePort());
  const started = await startProgram({ ...env, ORDERPASS_INTERNAL_PORT: port, ...more });
  running.add(started);
  return { ...started, figures: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text() };
};

const headersOf = (): Record<string, string> => ({
  'x-client-id': client.client_id,
  'x-client-secret': client.client_secret,
});

beforeAll(async () => {
  collector = await startCollector();
  receiver = await startReceiver(status(204));
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${collectorSecret}`,
    OTEL_SERVICE_NAME: 'osteria',
  };
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Osteria'], env)).restuid);
  const kinds = { customers: true, orders: true, loyaltylog: true, menu: true };
  await inTransaction(database.db, (tx) => setKinds(tx, restuid, kinds));
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  client = made as unknown as typeof client;
  await runJson(
    ['endpoint', 'create', '--restaurant', restuid, '--url', `${receiver.url}/hook/path-secret?token=query-secret`],
    env,
  );
  program = await start({});
});

afterAll(async () => {
  await Promise.all([...running].map((started) => started.stop()));
  await receiver?.close();
  await collector?.close();
  await database?.drop();
});

const spansOf = async (requestId: string, count: number): Promise<ReceivedSpan[]> => {
  const own = (): ReceivedSpan[] => {
    const traces = new Set(
      collector.spans
        .filter(({ attributes }) => attributes['orderpass.request_id'] === requestId)
        .map(({ traceId }) => traceId),
    );
    return collector.spans.filter(({ traceId }) => traces.has(traceId));
  };
  await until(() => own().length >= count);
  return own();
};

const named = (spans: readonly ReceivedSpan[], name: string, kind: number): ReceivedSpan => {
  const found = spans.find((span) => span.name === name && span.kind === kind);
  if (found === undefined) throw new Error(`no ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
};

const ask = async (url: string, headers: Record<string, string> = {}): Promise<string> => {
  const answer = await fetch(`${url}/api/orders/list`, { headers: { ...headersOf(), ...headers } });
  expect(answer.status).toBe(200);
  await answer.text();
  return String(answer.headers.get('x-request-id'));
};

test('one trace goes from the public door through the upstream call into the core, with parents and the stable names of HTTP', async () => {
  const spans = await spansOf(await ask(program.url), 4);
  expect(spans).toHaveLength(4);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const door = named(spans, 'GET /api/orders/list', 2);
  const call = named(spans, 'GET', 3);
  const core = spans.find(({ kind, parentSpanId }) => kind === 2 && parentSpanId === call.spanId);
  expect(spans.filter(({ parentSpanId }) => parentSpanId === '')).toHaveLength(1);
  const first = spans.find(({ parentSpanId }) => parentSpanId === '');
  expect(call.parentSpanId).toBe(first?.spanId);
  expect(core?.attributes).toMatchObject({ 'http.route': '/api/orders/list', 'http.response.status_code': 200 });
  expect(named(spans, 'operation /orders/list', 1).parentSpanId).toBe(core?.spanId);
  expect(door.name).toBe(first?.name);
  expect(first?.attributes).toMatchObject({
    'http.request.method': 'GET',
    'http.route': '/api/orders/list',
    'http.response.status_code': 200,
    'url.scheme': 'http',
    'orderpass.caller.kind': 'api_client',
    'orderpass.caller.id': client.client_id,
  });
  expect(call.attributes).toMatchObject({ 'http.response.status_code': 200, 'server.address': '127.0.0.1' });
  expect(first?.resource).toMatchObject({ 'service.name': 'osteria', 'orderpass.role': 'all' });
  expect(collector.paths().every((path) => path === '/v1/traces')).toBe(true);
  expect(collector.headers()[0]).toMatchObject({ authorization: `Bearer ${collectorSecret}` });
});

test('a token and a delivery have spans of their own, and a receiver learns nothing of the trace', async () => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...client });
  body.delete('secret_id');
  body.delete('name');
  const issued = await fetch(`${program.url}/api/oauth/token`, { method: 'POST', body });
  expect(issued.status).toBe(200);
  const token = (await issued.json()) as { access_token: string };
  const spans = await spansOf(String(issued.headers.get('x-request-id')), 3);
  const door = named(spans, 'POST /api/oauth/token', 2);
  expect(named(spans, 'issue token', 1).parentSpanId).toBe(door.spanId);
  expect(named(spans, 'write audit', 1).parentSpanId).toBe(door.spanId);
  const created = await fetch(`${program.url}/api/customer/create?secret=in-the-query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ first_name: 'Adalberta', email: 'adalberta@example.com' }),
  });
  expect([created.status, await created.text()]).toEqual([200, expect.any(String)]);
  await until(() => receiver.received.length > 0);
  const delivery = receiver.received[0];
  await until(() => collector.spans.some(({ attributes }) => 'orderpass.event.id' in attributes));
  const attempt = collector.spans.find(({ attributes }) => 'orderpass.event.id' in attributes);
  expect(attempt).toMatchObject({ name: 'POST', kind: 3, parentSpanId: '', isError: false });
  expect(attempt?.attributes).toMatchObject({
    'server.address': '127.0.0.1',
    'http.response.status_code': 204,
    'orderpass.event.id': delivery?.headers['webhook-id'],
  });
  expect(delivery?.headers).not.toHaveProperty('traceparent');
  // What strangers put into a path is no attribute, and no name.
  const lost = await fetch(`${program.url}/api/path-of-a-stranger/${token.access_token.slice(0, 40)}`);
  const [span] = await spansOf(String(lost.headers.get('x-request-id')), 1);
  expect(span).toMatchObject({ name: 'GET', attributes: { 'http.response.status_code': 404 } });
  for (const value of [
    ...[client.client_secret, token.access_token, token.access_token.slice(0, 40), collectorSecret],
    ...['Adalberta', 'adalberta', 'in-the-query', 'path-secret', 'query-secret', 'path-of-a-stranger'],
  ]) {
    expect(collector.text()).not.toContain(value);
  }
});

const forced = '00-11111111111111111111111111111111-2222222222222222-01';

test('a caller chooses neither trace nor sampling unless the operator allows it, and a malformed context is a new trace', async () => {
  const ignored = await spansOf(
    await ask(program.url, { traceparent: forced, tracestate: 'vendor=stranger', baggage: 'user=stranger' }),
    4,
  );
  expect(ignored[0]?.traceId).not.toBe('1'.repeat(32));
  expect(collector.text()).not.toContain('stranger');

  const never = await start({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
  const unsampled = await ask(never.url, { traceparent: forced });
  const trusting = await start({
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    ORDERPASS_TRACES_INCOMING: 'continue',
  });
  for (const traceparent of [
    '00-00000000000000000000000000000000-2222222222222222-01',
    '00-11111111111111111111111111111111-0000000000000000-01',
    'ff-11111111111111111111111111111111-2222222222222222-01',
    `${forced}-more`,
    `${forced},${forced}`,
    forced.toUpperCase().replace('1', 'A'),
    '0'.repeat(4_000),
    'x',
  ]) {
    await ask(trusting.url, { traceparent });
  }
  const continued = await spansOf(await ask(trusting.url, { traceparent: forced }), 4);
  expect(continued.map(({ traceId }) => traceId)).toEqual(Array(4).fill('1'.repeat(32)));
  expect(continued.filter(({ parentSpanId }) => parentSpanId === '2'.repeat(16))).toHaveLength(1);
  // Ends with what waited, so that whatever was sampled has come.
  expect([await never.stop(), await trusting.stop()]).toEqual([0, 0]);
  expect(collector.spans.filter(({ attributes }) => attributes['orderpass.request_id'] === unsampled)).toEqual([]);
  expect(collector.spans.filter(({ traceId }) => traceId === '1'.repeat(32))).toHaveLength(4);
});

test('a collector that is silent, and then away, delays no request: spans are dropped and counted, and the shutdown is not delayed', async () => {
  const silent = await startCollector();
  silent.fallSilent();
  const beside = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: silent.url });
  await ask(beside.url);
  await until(() => silent.paths().length > 0);
  for (let round = 0; round < 60; round += 1) {
    await Promise.all(Array.from({ length: 20 }, () => ask(beside.url)));
  }
  const count = (figures: string, line: string): number => Number(figures.split(`\n${line} `)[1]?.split('\n')[0]);
  await until(async () => count(await beside.figures(), 'orderpass_spans_total{outcome="dropped"}') > 0);
  expect(count(await beside.figures(), 'orderpass_spans_waiting')).toBeLessThanOrEqual(4_096);
  await silent.close();
  expect(await beside.stop()).toBe(0);
});

test('without a collector nothing is traced, and its figures do not exist', async () => {
  const plain = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_EXPORTER_OTLP_HEADERS: '' });
  const before = collector.spans.length;
  const requestId = await ask(plain.url, { traceparent: forced });
  expect(await plain.figures()).not.toContain('orderpass_spans_total');
  expect(await plain.stop()).toBe(0);
  expect(collector.spans.slice(before).some(({ attributes }) => attributes['orderpass.request_id'] === requestId)).toBe(
    false,
  );
});

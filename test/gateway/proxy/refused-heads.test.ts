/** Requests that Node would refuse by itself, or let in though two readers differ about them: one refusal for all. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createCoreHandler, createInternalServer, createMetricsHandler } from '#src/app/listeners/listeners.ts';
import { searchAudit } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import { until } from '../../support/until.ts';
import {
  closeServer,
  listen,
  masterKey,
  metadata,
  openDoor,
  type PublicDoor,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;
let metrics: Metrics;
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  metrics = createMetrics({ process: false });
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  door = await openDoor(upstream.url, { log, metrics, settings: { legacy_status: 'on' } });
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

type Raw = { status: number; headers: Map<string, string>; body: string };

const parse = (answer: string): Raw => {
  const end = answer.indexOf('\r\n\r\n');
  const [first = '', ...fields] = answer.slice(0, end).split('\r\n');
  const headers = new Map(
    fields.map((field) => [field.split(':', 1)[0]?.toLowerCase() ?? '', field.slice(field.indexOf(':') + 1).trim()]),
  );
  return { status: Number(first.split(' ')[1]), headers, body: answer.slice(end + 4) };
};

const send = async (lines: readonly string[], port = door.port): Promise<Raw> =>
  parse(await sendRaw(port, `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`));

/** How often it was counted, by the code. */
const refusals = async (code: string): Promise<number> => {
  const { text } = await metrics.render();
  return Number(new RegExp(`^orderpass_refusals_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};

const expectOwn = async (raw: Raw, status: number, code: string): Promise<void> => {
  expect(raw.status).toBe(status);
  expect(Object.fromEntries(raw.headers)).toMatchObject({
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
    'x-api-version': '1.0.0',
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=31536000',
    'cache-control': 'no-store',
    'content-type': expect.stringMatching(/json/),
    date: expect.stringMatching(/ GMT$/),
  });
  const id = raw.headers.get('x-request-id');
  if (raw.body !== '') expect(JSON.parse(raw.body).request_id).toBe(id);
  await until(() =>
    lines.some(
      (line) => line.request_id === id && line.msg === 'request' && line.status === status && line.refusal === code,
    ),
  );
};

const wrongHosts: [string, string[]][] = [
  ['two Host fields', ['Host: a.example', 'Host: a.example']],
  ['two Host fields in different spelling', ['Host: a.example', 'hOsT: b.example']],
  ['a blank in the middle', ['Host: a.example b.example']],
  ['a tab in the middle', ['Host: a.example\tb']],
  ['two names', ['Host: a.example,b.example']],
  ['a path', ['Host: a.example/x']],
  ['credentials', ['Host: user@a.example']],
  ['a port that is none', ['Host: a.example:80a']],
  ['two ports', ['Host: a.example:80:80']],
  ['no name before the port', ['Host: :80']],
  ['a broken percent sign', ['Host: a%2']],
  ['signs that are not ASCII', ['Host: \u00e4.example']],
  ['an open bracket', ['Host: [::1']],
  ['an endless name', [`Host: ${'a'.repeat(400)}`]],
  ['an empty Host', ['Host:']],
  ['no Host', []],
];

const goodHosts = [
  'a.example',
  'A.EXAMPLE:8080',
  '127.0.0.1',
  '[::1]',
  '[::1]:80',
  'a_b.example',
  'a.example.',
  'xn--bcher-kva.example:',
  'a%20b',
];

test.each(wrongHosts)(
  'F-31 %s is 400 with our headers, log and count, on every path of the listener',
  async (_name, hosts) => {
    const before = await refusals('VALIDATION_ERROR');
    const paths = ['/api/orders/list', '/api/oauth/jwks', '/healthz', '/nowhere'];
    for (const path of paths) {
      const raw = await send([`GET ${path} HTTP/1.1`, ...hosts]);
      // Also in legacy status mode: a status that proxies read is no matter of old clients.
      expect(JSON.parse(raw.body)).toMatchObject({
        error: 'VALIDATION_ERROR',
        errors: [{ pointer: 'Host', code: 'FORMAT' }],
      });
      await expectOwn(raw, 400, 'VALIDATION_ERROR');
      const bearer = await send([`GET ${path} HTTP/1.1`, ...hosts, `Authorization: ${door.asBearer.authorization}`]);
      expect(JSON.parse(bearer.body)).toMatchObject({ error: 'invalid_request', code: 'VALIDATION_ERROR' });
      await expectOwn(bearer, 400, 'VALIDATION_ERROR');
    }
    expect(await refusals('VALIDATION_ERROR')).toBe(before + 2 * paths.length);
    expect(upstream.seen).toEqual([]);
  },
);

test('F-31 names, addresses and ports are taken, and HTTP/1.0 needs no Host but gives one at most', async () => {
  for (const host of goodHosts)
    expect([host, (await send(['GET /healthz HTTP/1.1', `Host: ${host}`])).status]).toEqual([host, 200]);
  for (const hosts of [[], ['Host: a.example'], ['Host:']])
    expect((await send(['GET /healthz HTTP/1.0', ...hosts])).status).toBe(200);
  const twice = await send(['GET /healthz HTTP/1.0', 'Host: a', 'Host: a']);
  expect(twice.status).toBe(400);
});

test('F-31 the internal listener refuses the same in its own words', async () => {
  const log = pino({ level: 'silent' });
  const { db } = door.database;
  const box = createSecretBox(masterKey);
  const server = createInternalServer(
    createCoreHandler([], { db, box, clock: systemClock, log, assertionKey: box.derive('assertion/ordering') }),
  );
  await listen(server);
  const { port } = server.address() as AddressInfo;
  try {
    for (const [name, hosts] of wrongHosts) {
      const raw = await send(['GET /api/x HTTP/1.1', ...hosts], port);
      expect([name, raw.status, JSON.parse(raw.body).error]).toEqual([name, 400, 'VALIDATION_ERROR']);
      expect(raw.headers.get('x-request-id')).toBe(JSON.parse(raw.body).request_id);
    }
    expect((await send(['GET /api/x HTTP/1.1', 'Host: a.example:80'], port)).status).toBe(404);
  } finally {
    await closeServer(server);
  }
});

/** Sends the head and a part of the body when it is invited, and resets the connection. */
const breakOff = async (port: number, target: string, id: string): Promise<void> => {
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  client.write(
    `POST ${target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`,
  );
  await once(client, 'data');
  client.write('grant');
  client.resetAndDestroy();
  await once(client, 'close');
};

test('A-704 a request whose connection breaks writes nothing to standard error beside the log, at every listener', async () => {
  const written = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => written.mockRestore());
  await breakOff(door.port, '/api/oauth/token', 'broken-off');
  await until(() => lines.some(({ request_id }) => request_id === 'broken-off'));
  const { db } = door.database;
  const box = createSecretBox(masterKey);
  const log = pino({ level: 'silent' });
  // They answer no request, so that each of them breaks.
  const telemetry = {
    ...{ metrics, traces: undefined, readToken: () => undefined },
    probes: { answer: () => new Promise<void>(() => undefined), serve: () => undefined },
  };
  const coreDeps = { db, box, clock: systemClock, log, assertionKey: box.derive('assertion/ordering') };
  for (const handler of [createCoreHandler([], coreDeps, telemetry), createMetricsHandler(telemetry, log)]) {
    let ended = false;
    const server = createInternalServer((request, response) => {
      response.once('close', () => setImmediate(() => (ended = true)));
      handler(request, response);
    });
    await listen(server);
    onTestFinished(() => closeServer(server));
    await breakOff((server.address() as AddressInfo).port, '/healthz', 'any');
    await until(() => ended);
  }
  expect(written.mock.calls).toEqual([]);
});

test('F-36 an expectation that is not understood is 417 in our words, whatever the path', async () => {
  const before = await refusals('VALIDATION_ERROR');
  for (const path of ['/api/orders/list', '/api/oauth/token', '/healthz', '/nowhere']) {
    for (const method of ['GET', 'POST', 'HEAD']) {
      const body = method === 'POST' ? ['Content-Length: 5'] : [];
      const raw = await send([
        `${method} ${path} HTTP/1.1`,
        'Host: x',
        'Expect: foo',
        'X-Request-Id: mine-417',
        ...body,
      ]);
      expect(raw.headers.get('x-request-id')).toBe('mine-417');
      if (method !== 'HEAD')
        expect(JSON.parse(raw.body)).toMatchObject({ error: 'VALIDATION_ERROR', errors: [{ pointer: 'Expect' }] });
      await expectOwn(raw, 417, 'VALIDATION_ERROR');
    }
  }
  expect(await refusals('VALIDATION_ERROR')).toBe(before + 12);
  const problem = await send(['GET /healthz HTTP/1.1', 'Host: x', 'Expect: foo', 'Accept: application/problem+json']);
  expect([problem.status, problem.headers.get('content-type')]).toEqual([417, 'application/problem+json']);
  // HTTP/1.0 knows no expectations (RFC 9110 section 10.1.1).
  expect((await send(['GET /healthz HTTP/1.0', 'Expect: foo'])).status).toBe(200);
});

test('A-660 a target in absolute form means its path and query, and does not exist when it names another host than Host', async () => {
  const key = `X-Api-Key: ${door.asKey['x-api-key']}`;
  const at = (host: string, target: string): Promise<Raw> =>
    send([`GET ${target} HTTP/1.1`, `Host: ${host}`, 'X-Request-Id: same', key]);
  const target = '/api/orders/list?page=2&x=http://b/';
  for (const scheme of ['http', 'https', 'HTTP'])
    expect((await at('a.example:80', `${scheme}://A.example:80${target}`)).status).toBe(200);
  expect(upstream.seen.map((seen) => seen.target)).toEqual(new Array(3).fill(target));
  upstream.seen.length = 0;
  for (const path of ['', '/healthz', '/api/oauth/jwks', '/api//orders/list', '/nowhere']) {
    const plain = await at('a.example', path || '/');
    expect([path, (await at('a.example', `http://a.example${path}`)).body]).toEqual([path, plain.body]);
  }
  for (const [host, wrong] of [
    ['b.example', 'http://a.example/api/orders/list'],
    ['a.example', 'http://a.example:80/api/orders/list'],
    ['a.example', 'http://u@a.example/api/orders/list'],
    ['a.example', 'http:///api/orders/list'],
    ['a.example', 'ftp://a.example/api/orders/list'],
    ['a.example', 'http://b.example/healthz'],
    ['a.example', 'http://b.example/api/oauth/jwks'],
  ] as const)
    expect([wrong, JSON.parse((await at(host, wrong)).body).error]).toEqual([wrong, 'INVALID_ACTION']);
  expect(upstream.seen).toEqual([]);
});

test('F-36 CONNECT is refused like an operation that does not exist', async () => {
  for (const target of ['evil.example:443', '127.0.0.1:5432', 'x:1']) {
    const raw = await send([`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, 'Accept: application/problem+json']);
    expect([raw.status, JSON.parse(raw.body).code]).toEqual([404, 'INVALID_ACTION']);
    await expectOwn(raw, 404, 'INVALID_ACTION');
  }
  const wrong = await send(['CONNECT evil.example:443 HTTP/1.1', 'Host: a', 'Host: b']);
  expect(wrong.status).toBe(400);
  await expectOwn(wrong, 400, 'VALIDATION_ERROR');
  // The door lives on.
  expect((await sendRequest(door.url, 'GET', '/healthz')).status).toBe(200);
});

test('A-648 a CONNECT behind requests that wait for their answers ends their connection and each of them, and nothing else', async () => {
  const { answer } = upstream;
  upstream.answer = (req) => void req.resume();
  try {
    const key = `X-Api-Key: ${door.asKey['x-api-key']}`;
    const ids = ['first', 'second', 'third'];
    const get = (id: string): string =>
      ['GET /api/orders/list HTTP/1.1', 'Host: x', `X-Request-Id: ${id}`, key, '', ''].join('\r\n');
    const cut = () => lines.filter((line) => line.complete === false).map((line) => line.request_id);
    lines.length = 0;
    const tunnel = 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n';
    expect(await sendRaw(door.port, `${ids.map(get).join('')}${tunnel}`).catch(() => '')).toBe('');
    await until(() => cut().length === ids.length);
    expect(cut().toSorted()).toEqual(ids.toSorted());
    expect((await sendRequest(door.url, 'GET', '/healthz')).status).toBe(200);
  } finally {
    upstream.answer = answer;
  }
});

const broken: [string, string, number, string][] = [
  [
    'two lengths',
    'POST /api/order/create HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n',
    400,
    'VALIDATION_ERROR',
  ],
  [
    'a length that is none',
    'POST /api/order/create HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n',
    400,
    'VALIDATION_ERROR',
  ],
  ['a blank in a name', 'GET /api/orders/list HTTP/1.1\r\nHost: x\r\nX Y: z\r\n', 400, 'VALIDATION_ERROR'],
  [
    'headers above every bound',
    `GET /api/orders/list HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(40_000)}\r\n`,
    431,
    'HEADERS_TOO_LARGE',
  ],
];

test.each(broken)(
  'F-36 %s is refused by the parser with our headers, log and count',
  async (_name, head, status, code) => {
    const before = await refusals(code);
    const raw = parse(await sendRaw(door.port, `${head}\r\n`));
    expect(JSON.parse(raw.body)).toMatchObject({ success: false, error: code });
    await expectOwn(raw, status, code);
    expect(await refusals(code)).toBe(before + 1);
  },
);

test('F-36 what the parser refuses leaves in the dialect of its caller', async () => {
  const bad = 'POST /api/order/create HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine-400\r\n';
  const ending = 'Content-Length: x\r\n\r\n';
  const bearer = parse(await sendRaw(door.port, `${bad}Authorization: Bearer abc\r\n${ending}`));
  expect(JSON.parse(bearer.body)).toMatchObject({
    error: 'invalid_request',
    code: 'VALIDATION_ERROR',
    request_id: 'mine-400',
  });
  expect(bearer.headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`);
  await expectOwn(bearer, 400, 'VALIDATION_ERROR');
  const problem = parse(await sendRaw(door.port, `${bad}Accept: application/problem+json\r\n${ending}`));
  expect([problem.headers.get('content-type'), JSON.parse(problem.body).status]).toEqual([
    'application/problem+json',
    400,
  ]);
  const head = parse(await sendRaw(door.port, `HEAD /x HTTP/1.1\r\nHost: x\r\n${ending}`));
  expect([head.status, head.body]).toEqual([400, '']);
  const nothing = parse(await sendRaw(door.port, '\u0016\u0003\u0001 no HTTP at all\r\n\r\n'));
  await expectOwn(nothing, 400, 'VALIDATION_ERROR');
});

test.each(['GET', 'POST'])(
  'wrong bytes behind a %s that is being served: its answer comes, and then the connection ends',
  async (method) => {
    const body = method === 'POST' ? '{}' : '';
    const request = [
      `${method} ${method === 'POST' ? '/api/order/create' : '/api/orders/list'} HTTP/1.1`,
      'Host: x',
      ...Object.entries(door.asClient).map(([name, value]) => `${name}: ${value}`),
      ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    ].join('\r\n');
    const held = Promise.withResolvers<() => void>();
    upstream.answer = (_req, res) => held.resolve(() => void res.writeHead(200).end('{"success":true}'));
    const text = `${request}\r\n\r\n${body}no request\r\n\r\n`;
    const answering = sendRaw(door.port, text);
    // The gateway has read the wrong bytes with the same packet as the request.
    (await held.promise)();
    const answer = await answering;
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain('{"success":true}');
  },
);

/** Sends a head and a part of the body, and what breaks it once the request is being served; the answer to its end. */
const breakBody = async (head: readonly string[], breaking: string, isServed: () => boolean): Promise<Raw> => {
  const client = connect({ port: door.port, host: '127.0.0.1', allowHalfOpen: true });
  let answer = '';
  client.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  client.write([...head, 'Host: x', 'Transfer-Encoding: chunked', '', '5\r\n{"a":\r\n'].join('\r\n'));
  await until(isServed);
  if (breaking === '') client.end();
  else client.write(breaking);
  await once(client, 'end');
  client.destroy();
  return parse(answer);
};

const bodyBreaks = [
  { what: 'a wrong chunk', breaking: 'ZZ\r\n' },
  { what: 'the end of the connection', breaking: '' },
];

test.each(bodyBreaks)(
  'A-709 a request whose body breaks by $what has one line in the log, and one id',
  async ({ breaking }) => {
    const fields = [...Object.entries(door.asClient), ['Content-Type', 'application/json']];
    const head = ['POST /api/order/create HTTP/1.1', ...fields.map(([name, value]) => `${name}: ${value}`)];
    upstream.answer = () => undefined;
    upstream.seen.length = lines.length = 0;
    const counted = await Promise.all(['VALIDATION_ERROR', 'REQUEST_TIMEOUT'].map(refusals));
    const raw = await breakBody(head, breaking, () => upstream.seen.length === 1);
    const requestId = raw.headers.get('x-request-id') ?? '';
    expect([raw.status, raw.headers.get('connection'), JSON.parse(raw.body)]).toMatchObject([
      ...[400, 'close'],
      { error: 'VALIDATION_ERROR', request_id: requestId },
    ]);
    expect(upstream.seen[0]?.headers['x-request-id']).toBe(requestId);
    const ofRequest = () => lines.filter(({ msg }) => msg === 'request');
    await until(() => ofRequest().length > 0);
    const { db } = door.database;
    const deps = { db, box: createSecretBox(masterKey), clock: systemClock, actor: 'cli:ada' };
    const found = async () => (await searchAudit(deps, { filter: { requestId }, limit: 10 })).events;
    await until(async () => (await found()).length > 0);
    expect(await found()).toMatchObject([{ action: 'request.allowed', clientId: door.asClient['x-client-id'] }]);
    // Whatever fails behind the refusal, as the reading of the rest, has happened by the end of another request.
    await sendRequest(door.url, 'GET', '/healthz');
    await until(() => ofRequest().some(({ path }) => path === '/healthz'));
    expect(ofRequest().filter(({ path }) => path !== '/healthz')).toMatchObject([
      {
        ...{ request_id: requestId, route: 'order.create', status: 400, refusal: 'VALIDATION_ERROR', complete: true },
        ...{ caller: door.asClient['x-client-id'], upstream: 'ordering' },
      },
    ]);
    expect(await Promise.all(['VALIDATION_ERROR', 'REQUEST_TIMEOUT'].map(refusals))).toEqual([
      (counted[0] ?? 0) + 1,
      counted[1],
    ]);
  },
);

test.each(bodyBreaks)('A-709 the same at a path of the gateway itself, by $what', async ({ breaking }) => {
  lines.length = 0;
  const before = await Promise.all(['VALIDATION_ERROR', 'REQUEST_TIMEOUT'].map(refusals));
  const head = ['POST /api/oauth/token HTTP/1.1', 'Content-Type: application/x-www-form-urlencoded'];
  const invited = [...head, 'X-Request-Id: own-1'];
  const raw = await breakBody(invited, breaking, () => true);
  const ofRequest = () => lines.filter(({ request_id }) => request_id === 'own-1');
  await until(() => ofRequest().length > 0);
  expect([raw.status, raw.headers.get('x-request-id')]).toEqual([400, 'own-1']);
  await sendRequest(door.url, 'GET', '/healthz');
  await until(() => lines.some(({ path }) => path === '/healthz'));
  expect(ofRequest()).toMatchObject([{ status: 400, refusal: 'VALIDATION_ERROR', complete: true }]);
  expect(await Promise.all(['VALIDATION_ERROR', 'REQUEST_TIMEOUT'].map(refusals))).toEqual([
    (before[0] ?? 0) + 1,
    before[1],
  ]);
});

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createRateLimits } from '#src/gateway/limits/rate-limits.ts';
import { createMemoryKv } from '#src/platform/kv/index.ts';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  // The window of a second would stop a test long before that of a minute does.
  harness = await openHarness({ settings: { rate_minute_units: 600, rate_burst_units: 10_000 } });
  tenant = await harness.createTenant();
});

afterEach(() => {
  harness.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
  };
});

afterAll(() => harness.close());

type Headers = Record<string, string>;

const get = (headers: Headers, target = read, url = harness.url): Promise<Reply> =>
  sendRequest(url, 'GET', target, { headers });

const importMenu = (headers: Headers): Promise<Reply> =>
  sendRequest(harness.url, 'POST', '/api/menu/import', {
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{}',
  });

/** Of a member of the RateLimit list: `"minute";r=598;t=41`. */
const memberOf = (field: unknown, name: string): Record<string, number> => {
  const member = String(field)
    .split(', ')
    .find((part) => part.startsWith(`"${name}";`));
  return Object.fromEntries(
    (member ?? '')
      .split(';')
      .slice(1)
      .map((parameter) => {
        const [key = '', value] = parameter.split('=');
        return [key, Number(value)];
      }),
  );
};

const leftOf = (reply: Reply): number | undefined => memberOf(reply.headers.ratelimit, 'minute').r;

test('A-121 the 601st read in a minute is refused with Retry-After and retry_after, and nothing of it reaches the upstream', async () => {
  const headers = clientHeaders(await harness.createClient([tenant]));
  for (let i = 0; i < 600; i += 1) expect((await get(headers)).status).toBe(200);
  const seen = harness.upstream.seen.length;
  const refused = await get(headers);
  expect([refused.status, refused.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  expect(refused.json.retry_after).toBeGreaterThanOrEqual(1);
  expect(refused.json.retry_after).toBeLessThanOrEqual(60);
  expect(refused.headers['retry-after']).toBe(String(refused.json.retry_after));
  expect(memberOf(refused.headers.ratelimit, 'minute')).toEqual({ r: 0, t: refused.json.retry_after });
  expect(harness.upstream.seen.length).toBe(seen);
  expect((await get(clientHeaders(await harness.createClient([tenant])))).status).toBe(200);
});

test('A-121 an import costs 20, so the 31st in a minute is refused; what does not fit is not charged', async () => {
  const headers = clientHeaders(await harness.createClient([tenant]));
  expect(leftOf(await get(headers))).toBe(599);
  for (let i = 0; i < 29; i += 1) expect((await importMenu(headers)).status).toBe(200);
  expect((await importMenu(headers)).status).toBe(429);
  const after = await get(headers);
  expect([after.status, leftOf(after)]).toEqual([200, 18]);
});

test('a write costs 2, and the window of a second stops by itself and opens again', async () => {
  const door = await openHarness({ settings: { rate_minute_units: 600, rate_burst_units: 20 } });
  try {
    let headers: Record<string, string> = {};
    const create = (): Promise<Reply> =>
      sendRequest(door.url, 'POST', '/api/order/create', {
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{}',
      });
    let replies: Reply[] = [];
    // Requests of two windows pass more often: then another client tries to send all of them within one.
    await until(async () => {
      headers = clientHeaders(await door.createClient([await door.createTenant()]));
      replies = await Promise.all(Array.from({ length: 15 }, create));
      return replies.filter(({ status }) => status === 200).length === 10;
    });
    const refused = replies.find(({ status }) => status === 429);
    expect(refused?.headers['retry-after']).toBe('1');
    await expect.poll(async () => (await create()).status).toBe(200);
  } finally {
    await door.close();
  }
});

test('A-122 headers and tokens of one client use one budget, and a key has its own', async () => {
  const client = await harness.createClient([tenant]);
  const tokens = [await tokenOf(harness.url, client), await tokenOf(harness.url, client, { scope: 'read:orders' })];
  const left = [];
  for (const headers of [clientHeaders(client), ...tokens.map(bearer), clientHeaders(client)]) {
    left.push(leftOf(await get(headers)));
  }
  expect(left).toEqual([599, 598, 597, 596]);
  const { value: api_key } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  expect(leftOf(await get({ 'x-api-key': api_key }))).toBe(599);
});

test('A-123 every answer from the charge on carries both fields as structured fields that agree with /whoami', async () => {
  const headers = clientHeaders(await harness.createClient([tenant]));
  const [first, whoami] = [await get(headers), await get(headers, '/api/whoami')];
  // RFC 9651: a list of strings with integer parameters.
  for (const reply of [first, whoami]) {
    expect(reply.headers['ratelimit-policy']).toBe('"minute";q=600;w=60, "burst";q=10000;w=1');
    expect(reply.headers.ratelimit).toMatch(/^"minute";r=\d{1,15};t=\d{1,15}, "burst";r=\d{1,15};t=\d{1,15}$/);
  }
  expect(whoami.json.rate).toEqual(
    [
      { policy: 'minute', quota: 600, window_seconds: 60 },
      { policy: 'burst', quota: 10_000, window_seconds: 1 },
    ].map((rate) => {
      const { r: remaining, t: reset_seconds } = memberOf(whoami.headers.ratelimit, rate.policy);
      return { ...rate, remaining, reset_seconds };
    }),
  );
  expect(leftOf(whoami)).toBe(598);
});

test('A-123 refusals after the charge, errors of the upstream and streamed answers carry the fields too, once', async () => {
  const client = await harness.createClient([tenant]);
  const headers = clientHeaders(client);
  const unwanted = await sendRequest(harness.url, 'POST', '/api/order/create', {
    headers: { ...headers, 'content-type': 'text/plain' },
    body: 'x',
  });
  expect([unwanted.status, leftOf(unwanted)]).toEqual([415, 598]);
  harness.upstream.answer = (_req, res) => {
    res.writeHead(404, { 'content-type': 'text/plain', ratelimit: '"foreign";r=1;t=1', 'ratelimit-policy': 'x' });
    res.end('no');
  };
  const missing = await get(headers);
  expect([missing.status, leftOf(missing)]).toEqual([404, 597]);
  expect(missing.headers.ratelimit).not.toContain('foreign');
  harness.upstream.answer = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/plain', ratelimit: '"foreign";r=1;t=1' });
    res.write('one ');
    setImmediate(() => res.end('two'));
  };
  const streamed = await get(bearer(await tokenOf(harness.url, client)));
  expect([streamed.status, streamed.text, leftOf(streamed)]).toEqual([200, 'one two', 596]);
  expect(streamed.headers.ratelimit).not.toContain('foreign');
});

test('what fails before step 8 is not charged and carries no fields', async () => {
  const client = await harness.createClient([tenant], ['read:orders']);
  const headers = clientHeaders(client);
  const wrong = { ...headers, 'x-client-secret': 'wrong' };
  const version = { ...headers, 'x-api-version': '2' };
  for (const [given, target, status] of [
    [wrong, read, 401],
    [version, read, 400],
    [headers, '/api/nothing', 404],
    [headers, '/api/menu/categories', 403],
  ] as const) {
    const reply = await get(given, target);
    expect([reply.status, reply.headers.ratelimit]).toEqual([status, undefined]);
  }
  expect(leftOf(await get(headers))).toBe(599);
});

test('A-057 429 is an envelope, or a problem when asked for, for Bearer callers as well', async () => {
  const door = await openHarness({ settings: { rate_minute_units: 20, rate_burst_units: 20 } });
  try {
    const client = await door.createClient([await door.createTenant()]);
    const headers = bearer(await tokenOf(door.url, client));
    for (let i = 0; i < 20; i += 1) await get(headers, read, door.url);
    const envelope = await get(headers, read, door.url);
    expect([envelope.status, envelope.json.success, envelope.json.error]).toEqual([429, false, 'RATE_LIMIT_EXCEEDED']);
    expect(envelope.headers['www-authenticate']).toBeUndefined();
    const problem = await get({ ...headers, accept: 'application/problem+json' }, read, door.url);
    expect([problem.status, problem.json.code, problem.json.status]).toEqual([429, 'RATE_LIMIT_EXCEEDED', 429]);
    expect(problem.json.retry_after).toBeGreaterThanOrEqual(1);
    expect(problem.headers['content-type']).toBe('application/problem+json');
  } finally {
    await door.close();
  }
});

test('a window opens with its first charge and ends after its seconds, not with the minute of a clock', () => {
  let nowMs = 5_000;
  const limits = createRateLimits({
    kv: createMemoryKv(),
    policies: [{ name: 'minute', quota: 20, windowSeconds: 60 }],
    elapsedMs: () => nowMs,
  });
  const charge = (units: number) => {
    const standing = limits.charge('opc_1', units);
    if (standing instanceof Promise) throw new Error('memory decides at once');
    const [limit] = standing.limits;
    return [limit?.remaining, limit?.resetSeconds, standing.retryAfterSeconds];
  };
  expect(charge(1)).toEqual([19, 60, undefined]);
  nowMs += 59_500;
  expect(charge(19)).toEqual([0, 1, undefined]);
  expect(charge(1)).toEqual([0, 1, 1]);
  nowMs += 499;
  expect(charge(1)).toEqual([0, 1, 1]);
  nowMs += 1;
  expect(charge(1)).toEqual([19, 60, undefined]);
});

test('A-215 own limits replace the defaults of one caller, and what was used of a running window stays used when they change', () => {
  let nowMs = 0;
  const limits = createRateLimits({
    kv: createMemoryKv(),
    policies: [
      { name: 'minute', quota: 20, windowSeconds: 60 },
      { name: 'burst', quota: 20, windowSeconds: 1 },
    ],
    elapsedMs: () => nowMs,
  });
  const charge = (callerId: string, units: number, own?: { minute?: number; burst?: number }) => {
    const standing = limits.charge(callerId, units, own);
    if (standing instanceof Promise) throw new Error('memory decides at once');
    return [standing.policyText, standing.limits.map(({ remaining }) => remaining), standing.retryAfterSeconds];
  };
  const [defaults, own] = ['"minute";q=20;w=60, "burst";q=20;w=1', '"minute";q=50;w=60, "burst";q=20;w=1'];
  expect(charge('opc_1', 20)).toEqual([defaults, [0, 0], undefined]);
  nowMs += 1_000;
  expect(charge('opc_1', 10)).toEqual([defaults, [0, 20], 59]);
  expect(charge('opc_1', 10, { minute: 50 })).toEqual([own, [20, 10], undefined]);
  expect(charge('opc_1', 11, { minute: 50 })).toEqual([own, [20, 10], 1]);
  expect(charge('opc_2', 20)).toEqual([defaults, [0, 0], undefined]);
  expect(charge('opc_1', 1)).toEqual([defaults, [0, 10], 59]);
  // A limit below the cost of a request has no room for it, with or without an open window.
  expect(charge('opc_3', 2, { burst: 1 })).toEqual(['"minute";q=20;w=60, "burst";q=1;w=1', [20, 1], 1]);
  nowMs += 59_000;
  expect(charge('opc_1', 20)).toEqual([defaults, [0, 0], undefined]);
});

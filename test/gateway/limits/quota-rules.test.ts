/** What counts for a quota and for the use of a credential, and what does not (interface 20.3, 20.6 and 20.8). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { clientHeaders, type Door, type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';
import { openStoreLine, type StoreLine } from '../harness/store-line.ts';

let harness: Harness;
let tenant: string;
let second: Door;
let answer: (req: IncomingMessage, res: ServerResponse) => void;

beforeAll(async () => {
  harness = await openHarness({ settings: { auth_check: 'on' } });
  answer = harness.upstream.answer;
  tenant = await harness.createTenant();
  second = await harness.openDoor();
});

afterEach(() => {
  harness.upstream.answer = answer;
});

afterAll(() => harness?.close());

const get = (headers: Headers, url = harness.url, target = read): Promise<Reply> =>
  sendRequest(url, 'GET', target, { headers });

type Limits = Parameters<Harness['credentials']['setLimits']>[2];

const policiesOf = (reply: Reply): string => String(reply.headers['ratelimit-policy']);

const limitedClient = async (limits: Limits, held?: string[]): Promise<{ id: string; headers: Headers }> => {
  const client = await harness.createClient([tenant], held);
  await harness.credentials.setLimits('client', client.client_id, limits);
  return { id: client.client_id, headers: clientHeaders(client) };
};

/** Units of the day that are left, as the answer says. */
const leftOf = (reply: Reply): number => Number(/"day";r=(\d+)/.exec(String(reply.headers.ratelimit))?.[1]);

const countAccepted = async (times: number, send: (i: number) => Promise<Reply>): Promise<number> => {
  let accepted = 0;
  for (let i = 0; i < times; i += 1) if ((await send(i)).status === 200) accepted += 1;
  return accepted;
};

test('A-451 a rotated key goes on with the quotas of the one before, at every gateway, and both spend from the same', async () => {
  const first = await harness.credentials.createApiKey({ tenant, name: 'till' });
  await harness.credentials.setLimits('key', first.keyId, { day: 20, month: 1_000 });
  const asFirst = { 'x-api-key': first.value };
  await until(async () => policiesOf(await get(asFirst)).includes('"day";q=20'));
  let used = 20 - leftOf(await get(asFirst));
  const next = await harness.credentials.rotateApiKey(first.keyId, 24);
  const asNext = { 'x-api-key': next.value };
  // Requests in turn with both keys at both gateways: 20 units in all.
  const urls = [harness.url, second.url];
  const send = (i: number) => get(i % 2 === 0 ? asFirst : asNext, urls[(i >> 1) % 2]);
  await until(async () => {
    used += await countAccepted(4, send);
    return used >= 20;
  });
  expect(used).toBe(20);
  const third = await harness.credentials.rotateApiKey(next.keyId, 24);
  for (const value of [first.value, next.value, third.value]) {
    for (const url of urls) {
      const refused = await get({ 'x-api-key': value }, url);
      expect([refused.status, refused.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    }
  }
  const { rows } = await harness.database.pool.query(
    "select caller, leased from gateway.quota_leases where caller = any ($1) and period = 'day'",
    [[first.keyId, next.keyId, third.keyId]],
  );
  expect(rows).toEqual([{ caller: first.keyId, leased: 20 }]);
  // A larger quota of the successor adds to what is left, for it alone.
  await harness.credentials.setLimits('key', third.keyId, { day: 23 });
  await until(async () => (await get({ 'x-api-key': third.value })).status === 200);
  expect(await countAccepted(5, () => get({ 'x-api-key': third.value }))).toBe(2);
  expect((await get(asFirst)).status).toBe(429);
});

test('A-451 units that a key and its successor hold when a gateway stops are returned', async () => {
  const first = await harness.credentials.createApiKey({ tenant, name: 'till' });
  await harness.credentials.setLimits('key', first.keyId, { day: 1_000 });
  const next = await harness.credentials.rotateApiKey(first.keyId, 24);
  const door = await harness.openDoor();
  for (const value of [first.value, next.value])
    expect(await countAccepted(3, () => get({ 'x-api-key': value }, door.url))).toBe(3);
  await door.close();
  const { rows } = await harness.database.pool.query('select leased from gateway.quota_leases where caller = $1', [
    first.keyId,
  ]);
  expect(rows).toEqual([{ leased: 6 }]);
});

test('A-452 units that were used before the quota was set do not count', async () => {
  const client = await harness.createClient([tenant]);
  const headers = clientHeaders(client);
  expect(await countAccepted(4, () => get(headers))).toBe(4);
  await harness.credentials.setLimits('client', client.client_id, { day: 5 });
  await until(async () => (await get(headers)).headers['ratelimit-policy']?.includes('"day"') === true);
  expect(await countAccepted(8, () => get(headers))).toBe(4);
});

test('A-452 a request that is refused before the limits, or by one of them, costs nothing of a quota; one that the service refuses does', async () => {
  const { headers } = await limitedClient({ day: 1_000, minute: 8 }, ['read:orders']);
  let counted = 0;
  const count = (reply: Reply): Reply => {
    counted += 1;
    return reply;
  };
  expect(leftOf(count(await get(headers)))).toBe(999);
  expect((await get(headers, harness.url, '/api/menu/products')).status).toBe(403);
  expect((await get(headers, harness.url, '/api/nowhere')).status).toBe(404);
  expect((await get({ ...headers, 'x-client-secret': 'wrong' })).status).toBe(401);
  harness.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(404).end();
  };
  expect(count(await get(headers)).status).toBe(404);
  harness.upstream.answer = answer;
  expect(leftOf(count(await get(headers)))).toBe(1_000 - counted);
  let refused = 0;
  await until(async () => {
    const reply = await get(headers);
    if (reply.status === 429) refused += 1;
    else count(reply);
    return refused === 3;
  });
  await harness.credentials.setLimits('client', headers['x-client-id'] ?? '', { minute: 1_000 });
  let last: Reply | undefined;
  await until(async () => {
    last = await get(headers);
    if (last.status === 200) count(last);
    return last.status === 200;
  });
  expect(leftOf(last as Reply)).toBe(1_000 - counted);
});

test('A-452 a request that a quota refuses costs units of the minute, so a caller that does not stop is slowed down', async () => {
  const { headers } = await limitedClient({ day: 2, minute: 10 });
  const texts: string[] = [];
  await until(async () => {
    texts.push((await get(headers)).text);
    return /Too many requests/.test(texts.at(-1) ?? '');
  });
  const ofDay = texts.filter((text) => /quota of 2 units for this day/.test(text)).length;
  // Ten units of the minute: two accepted requests, and eight that the day refused. A minute may have ended meanwhile.
  expect(ofDay).toBeGreaterThanOrEqual(8);
  expect(texts.filter((text) => text.includes('"success":true'))).toHaveLength(2);
});

test('A-452 while the store is away a gateway spends what it holds, then 503; the quota is exact when it is back', async () => {
  const { id, headers } = await limitedClient({ day: 200 });
  const line: StoreLine = await openStoreLine(harness.database.url);
  const door = await harness.openDoor({ pool: line.pool });
  const leased = async (): Promise<number> =>
    Number(
      (await harness.database.pool.query('select leased from gateway.quota_leases where caller = $1', [id])).rows[0]
        ?.leased,
    );
  try {
    let accepted = await countAccepted(1, () => get(headers, door.url));
    expect(accepted).toBe(1);
    await line.cut();
    const held = await leased();
    let last: Reply | undefined;
    await until(async () => {
      last = await get(headers, door.url);
      if (last.status === 200) accepted += 1;
      return last.status !== 200;
    });
    expect([last?.status, last?.json.error]).toEqual([503, 'OVERLOADED']);
    expect(last?.headers['retry-after']).toBeDefined();
    expect(accepted).toBeLessThanOrEqual(held);
    await line.restore();
    await until(async () => {
      const reply = await get(headers, door.url);
      if (reply.status === 200) accepted += 1;
      return reply.status === 429;
    });
    expect(accepted).toBeLessThanOrEqual(200);
    expect(accepted).toBeGreaterThanOrEqual(190);
    expect(await leased()).toBe(200);
  } finally {
    await door.close();
    await line.close();
  }
});

test('A-456 use is kept 400 days, and older use is removed by itself', async () => {
  const { keyId } = await harness.credentials.createApiKey({ tenant, name: 'old' });
  const day = (ago: number): string =>
    new Date(Math.floor(harness.clock.now().getTime() / 86_400_000 - ago) * 86_400_000).toISOString();
  for (const ago of [0, 398, 402, 900])
    await harness.database.pool.query(
      `insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere) values ($1, $2, 1, 1, 0, 0)`,
      [keyId, day(ago)],
    );
  await harness.database.pool.query(
    `insert into gateway.quota_leases (caller, period, starts, leased, granted)
     values ($1, 'day', $2, 1, 1), ($1, 'month', $3, 1, 1)`,
    [keyId, day(100), day(69)],
  );
  // A gateway removes old days when it starts, and then each hour.
  const door = await harness.openDoor();
  const daysOf = async (): Promise<string[]> =>
    (
      await harness.database.pool.query('select day from gateway.caller_usage where caller = $1 order by day', [keyId])
    ).rows.map((row: { day: Date }) => row.day.toISOString());
  await until(async () => (await daysOf()).length === 2);
  expect(await daysOf()).toEqual([day(398), day(0)]);
  const leases = async (): Promise<object[]> =>
    (await harness.database.pool.query('select period from gateway.quota_leases where caller = $1', [keyId])).rows;
  // They are removed by a statement of their own.
  await until(async () => (await leases()).length === 1);
  expect(await leases()).toEqual([{ period: 'month' }]);
  await door.close();
});

test('A-457 a check of another proxy counts for the running requests of its caller while it runs, and no longer', async () => {
  const { headers } = await limitedClient({ concurrency: 1 });
  const check = () =>
    sendRequest(harness.url, 'GET', '/auth/check', {
      headers: { ...headers, 'x-forwarded-method': 'GET', 'x-forwarded-uri': read },
    });
  for (let i = 0; i < 5; i += 1) expect((await check()).status).toBe(200);
  const held: ServerResponse[] = [];
  harness.upstream.answer = (req, res) => {
    req.resume();
    held.push(res);
  };
  const running = get(headers);
  await until(() => held.length === 1);
  const refused = await check();
  expect([refused.status, refused.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  expect(String(refused.headers.ratelimit)).toContain('"concurrency";r=0');
  for (const res of held) answer(res.req, res);
  expect((await running).status).toBe(200);
  await until(async () => (await check()).status === 200);
});

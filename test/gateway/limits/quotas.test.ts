import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '#src/platform/clock.ts';
import { statementsOf } from '../../support/statements-of.ts';
import { isWithinASecond, until } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Door,
  type Harness,
  openHarness,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let second: Door;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  second = await harness.openDoor();
  // To noon, so that no day or month ends by itself during a test.
  harness.clock.move(((secondsToMidnight() + 43_200) % 86_400) * 1_000);
});

afterAll(() => harness.close());

const get = (headers: Headers, url = harness.url, target = read): Promise<Reply> =>
  sendRequest(url, 'GET', target, { headers });

type Limits = Parameters<Harness['credentials']['setLimits']>[2];

const limitedClient = async (limits: Limits): Promise<{ id: string; headers: Headers; token: Headers }> => {
  const client = await harness.createClient([tenant]);
  await harness.credentials.setLimits('client', client.client_id, limits);
  const token = bearer(await tokenOf(harness.url, client));
  return { id: client.client_id, headers: clientHeaders(client), token };
};

/** Of a member of the RateLimit list: `"day";r=9;t=3600`. */
const memberOf = (field: unknown, name: string): Record<string, number> | undefined => {
  const member = String(field)
    .split(', ')
    .find((part) => part.startsWith(`"${name}";`));
  if (member === undefined) return undefined;
  return Object.fromEntries(
    member
      .split(';')
      .slice(1)
      .map((pair) => [pair.split('=')[0], Number(pair.split('=')[1])]),
  );
};

const secondsToMidnight = (): number => {
  const now = harness.clock.now();
  return Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1) - now.getTime()) / 1000);
};

const secondsToNextMonth = (): number => {
  const now = harness.clock.now();
  return Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime()) / 1000);
};

const statusesOf = async (count: number, send: (i: number) => Promise<Reply>): Promise<number[]> => {
  const statuses: number[] = [];
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < count) {
      sent += 1;
      statuses.push((await send(sent)).status);
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  return statuses;
};

const accepted = (statuses: readonly number[]): number => statuses.filter((status) => status === 200).length;

test('A-220 limits that are set, changed and cleared hold on every gateway within a second', async () => {
  const { value, keyId } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const headers = { 'x-api-key': value };
  const policyAt = async (url: string) => memberOf((await get(headers, url)).headers['ratelimit-policy'], 'day')?.q;
  const expectDay = async (quota: number | undefined): Promise<void> => {
    for (const url of [harness.url, second.url]) await isWithinASecond(() => policyAt(url), quota);
  };
  await expectDay(undefined);
  await harness.credentials.setLimits('key', keyId, { day: 1_000 });
  await expectDay(1_000);
  expect(await harness.credentials.setLimits('key', keyId, { month: 5_000 })).toEqual({ day: 1_000, month: 5_000 });
  await harness.credentials.setLimits('key', keyId, { day: 2_000 });
  await expectDay(2_000);
  const whoami = await get(headers, harness.url, '/api/whoami');
  expect(whoami.json.credential.limits).toEqual({
    minute: null,
    burst: null,
    day: 2_000,
    month: 5_000,
    concurrency: null,
  });
  expect(whoami.json.rate.map(({ policy }: { policy: string }) => policy)).toEqual(
    expect.arrayContaining(['day', 'month']),
  );
  await harness.credentials.setLimits('key', keyId, { day: null, month: null });
  await expectDay(undefined);
  const { rows } = await harness.database.pool.query(
    `select details::jsonb -> 'limits' as limits from gateway.audit_events
     where action = 'key.limits_changed' and credential_id = $1 order by seq`,
    [keyId],
  );
  expect(rows.map(({ limits }) => limits)).toEqual([
    { day: 1_000 },
    { day: 1_000, month: 5_000 },
    { day: 2_000, month: 5_000 },
    {},
  ]);
});

test('A-221 a day that is used up is 429 until midnight UTC, with the quota in both fields; the next day it is 200', async () => {
  const { headers, token } = await limitedClient({ day: 10, month: 1_000 });
  for (let i = 1; i <= 10; i += 1) {
    const reply = await get(i % 2 === 0 ? headers : token);
    expect([reply.status, memberOf(reply.headers.ratelimit, 'day')?.r]).toEqual([200, 10 - i]);
    expect(memberOf(reply.headers['ratelimit-policy'], 'day')).toEqual({ q: 10, w: 86_400 });
    expect(memberOf(reply.headers.ratelimit, 'minute')).toBeDefined();
  }
  const seen = harness.upstream.seen.length;
  const refused = await get(token);
  expect([refused.status, refused.json.error]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  expect(refused.json.message).toMatch(/10 units for this day \(UTC\).*\d{4}-\d\d-\d\dT00:00:00Z/);
  expect(Math.abs(Number(refused.headers['retry-after']) - secondsToMidnight())).toBeLessThan(5);
  expect(refused.json.retry_after).toBe(Number(refused.headers['retry-after']));
  expect(memberOf(refused.headers.ratelimit, 'day')?.r).toBe(0);
  expect(memberOf(refused.headers.ratelimit, 'month')?.r).toBe(990);
  expect(harness.upstream.seen.length).toBe(seen);
  harness.clock.move((secondsToMidnight() + 1) * 1000);
  expect((await get(headers)).status).toBe(200);
});

test('A-668 a gateway whose clock was a day ahead spends from the quota of today once its clock is right', async () => {
  const { headers } = await limitedClient({ day: 5 });
  expect(accepted(await statusesOf(6, () => get(headers)))).toBe(5);
  harness.clock.move(dayMs);
  expect((await get(headers)).status).toBe(200);
  harness.clock.move(-dayMs);
  expect((await get(headers)).status).toBe(429);
});

test('A-221 a month that is used up is 429 until the first of the next month, whatever is left of the day', async () => {
  const { headers } = await limitedClient({ day: 100, month: 3 });
  expect(accepted(await statusesOf(3, () => get(headers)))).toBe(3);
  const refused = await get(headers);
  expect(refused.status).toBe(429);
  expect(Math.abs(Number(refused.headers['retry-after']) - secondsToNextMonth())).toBeLessThan(5);
  expect(memberOf(refused.headers.ratelimit, 'day')?.r).toBe(97);
  harness.clock.move((secondsToNextMonth() + 1) * 1000);
  await until(async () => (await get(headers)).status === 200);
});

test('A-221 a larger quota adds to what is left, and a smaller one counts what was taken before', async () => {
  const { id, headers } = await limitedClient({ day: 5 });
  expect(accepted(await statusesOf(8, () => get(headers)))).toBe(5);
  await harness.credentials.setLimits('client', id, { day: 8 });
  await until(async () => (await get(headers)).status === 200);
  expect(accepted(await statusesOf(6, () => get(headers)))).toBe(2);
  const other = await limitedClient({ day: 1_000 });
  expect(accepted(await statusesOf(10, () => get(other.headers)))).toBe(10);
  await harness.credentials.setLimits('client', other.id, { day: 12 });
  await expect.poll(async () => memberOf((await get(other.headers)).headers['ratelimit-policy'], 'day')?.q).toBe(12);
  await until(async () => (await get(other.headers)).status === 429);
  const { rows } = await harness.database.pool.query(
    "select leased from gateway.quota_leases where caller = $1 and period = 'day'",
    [other.id],
  );
  // Requests between the change and its arrival were taken under the former quota.
  expect(Number(rows[0]?.leased)).toBeGreaterThanOrEqual(12);
  expect(Number(rows[0]?.leased)).toBeLessThan(40);
});

test('A-222 two gateways together let through the whole quota and never more', async () => {
  const { id, headers } = await limitedClient({ day: 500, month: 100_000 });
  const urls = [harness.url, second.url];
  const statuses = await statusesOf(800, (i) => get(headers, urls[i % 2]));
  let through = accepted(statuses);
  expect(through).toBeLessThanOrEqual(500);
  expect(through).toBeGreaterThanOrEqual(480);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  // What one gateway holds goes back after some seconds, and the other one gets it.
  await until(async () => {
    through += accepted(await statusesOf(2, (i) => get(headers, urls[i % 2])));
    return through >= 500;
  });
  expect(accepted(await statusesOf(20, (i) => get(headers, urls[i % 2])))).toBe(0);
  expect(through).toBe(500);
  const { rows } = await harness.database.pool.query(
    "select leased from gateway.quota_leases where caller = $1 and period = 'day'",
    [id],
  );
  expect(rows).toEqual([{ leased: 500 }]);
});

test('A-222 a gateway that stops returns what it holds, and one that starts goes on counting', async () => {
  const { id, headers } = await limitedClient({ day: 1_000 });
  const door = await harness.openDoor();
  expect(accepted(await statusesOf(7, () => get(headers, door.url)))).toBe(7);
  const leased = async (): Promise<unknown> =>
    (await harness.database.pool.query('select leased from gateway.quota_leases where caller = $1', [id])).rows[0]
      ?.leased;
  expect(await leased()).toBeGreaterThan(7);
  await door.close();
  expect(await leased()).toBe(7);
  const again = await harness.openDoor();
  expect(memberOf((await get(headers, again.url)).headers.ratelimit, 'day')?.r).toBe(992);
  await again.close();
  expect(await leased()).toBe(8);
});

test('A-223 under a large quota 500 requests ask the store three times at most for units', async () => {
  const { headers } = await limitedClient({ day: 1_000_000, month: 10_000_000 });
  await get(headers);
  const statements = await statementsOf(() => statusesOf(500, () => get(headers)));
  expect(statements.filter(({ text }) => text.includes('gateway.quota_leases')).length).toBeLessThanOrEqual(3);
});

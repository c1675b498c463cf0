import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, runWithInput, startProgram } from '../support/program.ts';
import { hasRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { isWithinASecond, until } from '../support/until.ts';

/** Small, so that even a machine that has other work uses it up well within the window of 60 s. */
const quota = 60;
const redisWaitMs = 1_000;

describe.skipIf(!hasRedis)('two gateway processes, one PostgreSQL, one Redis', () => {
  let database: TestDatabase;
  let redis: TestRedis;
  let env: Record<string, string>;
  const gateways: RunningProgram[] = [];
  const upstream = createServer((req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
  });

  beforeAll(async () => {
    database = await createTestDatabase();
    redis = await startRedis();
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as AddressInfo;
    env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      // Exact figures are asked for, on a machine that may be busy.
      ORDERPASS_REDIS_WAIT_MS: String(redisWaitMs),
      ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
      ORDERPASS_ROLE: 'gateway',
      ORDERPASS_ORIGIN: `http://localhost:${await freePort()}`,
      ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${port}`,
      ORDERPASS_RATE_MINUTE_UNITS: String(quota),
      ORDERPASS_RATE_BURST_UNITS: '100000',
    };
    gateways.push(...(await Promise.all([startProgram(env), startProgram(env)])));
    await until(() => allSay('up'));
  });

  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await redis?.kill();
    await new Promise((resolve) => upstream.close(resolve));
    await database?.drop();
  });

  const allSay = async (state: string): Promise<boolean> => {
    const said = await Promise.all(
      gateways.map(async ({ url }) => {
        const response = await fetch(`${url}/readyz`);
        const { shared_state } = (await response.json()) as { shared_state: string };
        return response.ok && shared_state === state;
      }),
    );
    return said.every(Boolean);
  };

  const urlOf = (index: number): string => gateways[index % 2]?.url ?? '';

  type Caller = { headers: Record<string, string>; token: Record<string, string> };

  const newCaller = async (): Promise<Caller> => {
    const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
    const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
    const { client_id, client_secret } = client as { client_id: string; client_secret: string };
    const issued = await fetch(`${urlOf(0)}/api/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }),
    });
    const { access_token } = (await issued.json()) as { access_token: string };
    return {
      headers: { 'x-client-id': client_id, 'x-client-secret': client_secret },
      token: { authorization: `Bearer ${access_token}` },
    };
  };

  const sendRequest = async (url: string, headers: Record<string, string>): Promise<number> => {
    const response = await fetch(`${url}/api/orders/list`, { headers });
    await response.arrayBuffer();
    return response.status;
  };

  /** A gateway that waited for Redis would need `redisWaitMs` each time; a busy machine takes as long only now and then. */
  const isAnsweredBeforeRedisCould = async (url: string, headers: Record<string, string>): Promise<boolean> => {
    const startedAt = performance.now();
    expect(await sendRequest(url, headers)).toBe(200);
    return performance.now() - startedAt < redisWaitMs / 2;
  };

  /** Calls at both in turn, by headers and by token, until `calls` are made; how many passed. */
  const countPassed = async ({ headers, token }: Caller, calls: number): Promise<number> => {
    let passed = 0;
    for (let i = 0; i < calls; i += 1) {
      const status = await sendRequest(urlOf(i), i % 3 === 0 ? token : headers);
      if (status === 200) passed += 1;
      else expect(status).toBe(429);
    }
    return passed;
  };

  /** It reaches both within a second. */
  const revokeEverywhere = async (headers: Record<string, string>): Promise<void> => {
    const token = String(headers.authorization).slice('Bearer '.length);
    const statuses = () => Promise.all([sendRequest(urlOf(0), headers), sendRequest(urlOf(1), headers)]);
    expect(await statuses()).toEqual([200, 200]);
    await runWithInput(['token', 'revoke'], env, token);
    await isWithinASecond(statuses, [401, 401]);
  };

  test('A-122 headers and tokens of one client on two gateways have one budget', async () => {
    expect(await countPassed(await newCaller(), quota + 40)).toBe(quota);
  });

  test('A-125 a restaurant made by the command line is described by its name, time zone and currency', async () => {
    const { headers } = await newCaller();
    const response = await fetch(`${urlOf(1)}/api/whoami`, { headers });
    const { credential } = (await response.json()) as { credential: { restaurants: Record<string, unknown>[] } };
    expect(credential.restaurants).toMatchObject([
      { name: 'Osteria', time_zone: 'UTC', currency: 'EUR', api_enabled: true },
    ]);
  });

  test('a killed Redis lets no caller in and locks no caller out; revocations arrive, limits go on per process and are shared again', async () => {
    const before = await newCaller();
    const used = await newCaller();
    expect(await countPassed(used, quota + 10)).toBe(quota);
    await redis.kill();
    await until(() => allSay('down'));
    // Used up is used up, at whichever gateway; wrong credentials stay wrong; everybody else goes on.
    for (let i = 0; i < 4; i += 1) expect(await sendRequest(urlOf(i), used.headers)).toBe(429);
    for (const url of [urlOf(0), urlOf(1)]) {
      expect(await sendRequest(url, { ...before.headers, 'x-client-secret': 'wrong' })).toBe(401);
      expect(await sendRequest(url, { authorization: 'Bearer garbage' })).toBe(401);
      await until(() => isAnsweredBeforeRedisCould(url, before.headers));
    }
    await revokeEverywhere((await newCaller()).token);
    const alone = await newCaller();
    const passed = await countPassed(alone, 2 * quota + 40);
    expect(passed).toBe(2 * quota);
    await redis.start();
    await until(() => allSay('up'));
    for (let i = 0; i < 2; i += 1) expect(await sendRequest(urlOf(i), alone.headers)).toBe(429);
    expect(await sendRequest(urlOf(0), before.headers)).toBe(200);
    expect(await countPassed(await newCaller(), quota + 40)).toBe(quota);
  });
});

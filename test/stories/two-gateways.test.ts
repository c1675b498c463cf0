import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, runWithInput, startProgram } from '../support/program.ts';
import { isWithinASecond, until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let restuid: string;
const gateways: (RunningProgram & { metricsUrl: string })[] = [];
const programs: RunningProgram[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    // These tests ask without a pause; limits have their own.
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
    ORDERPASS_RATE_FAILURES_MAX: '1000000',
  };
  const core = String(await freePort());
  const upstreams = `ordering=http://127.0.0.1:${core}`;
  programs.push(await startProgram({ ...env, ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: core }));
  for (let count = 0; count < 2; count += 1) {
    const port = String(await freePort());
    const gateway = await startProgram({
      ...{ ...env, ORDERPASS_ROLE: 'gateway', ORDERPASS_UPSTREAMS: upstreams, ORDERPASS_INTERNAL_PORT: port },
    });
    programs.push(gateway);
    gateways.push({ ...gateway, metricsUrl: `http://127.0.0.1:${port}/metrics` });
  }
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Osteria'], env)).restuid);
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await database?.drop();
});

type Client = { client_id: string; client_secret: string };

/** The public part of a secret names it. */
const secretId = (secret: string): string => secret.slice(0, secret.indexOf('_', 4));

const newClient = async (): Promise<Client> => {
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  return made as unknown as Client;
};

const tokenOf = async ({ client_id, client_secret }: Client): Promise<string> => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const answer = await fetch(`${gateways[0]?.url}/api/oauth/token`, { method: 'POST', body });
  return ((await answer.json()) as { access_token: string }).access_token;
};

const statuses = (headers: Record<string, string>): Promise<number[]> =>
  Promise.all(gateways.map(async ({ url }) => (await fetch(`${url}/api/orders/list`, { headers })).status));

/**
 * Asks both without a pause from before the change is committed; ms from its commit to the start of the last request that
 * either accepts. The start counts, because a gateway decides after that, however late a busy machine lets it answer.
 */
const acceptedAfter = async (headers: Record<string, string>, change: () => Promise<unknown>): Promise<number> => {
  expect(await statuses(headers)).toEqual([200, 200]);
  let lastAcceptedAt = 0;
  let done = false;
  const asking = gateways.map(async ({ url }) => {
    while (!done) {
      const askedAt = performance.now();
      const { status } = await fetch(`${url}/api/orders/list`, { headers });
      if (status === 200) lastAcceptedAt = askedAt;
    }
  });
  try {
    await change();
    const changedAt = performance.now();
    await until(async () => (await statuses(headers)).every((status) => status === 401));
    return Math.max(0, lastAcceptedAt - changedAt);
  } finally {
    done = true;
    await Promise.all(asking);
  }
};

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

test('A-022 a revoked token, secret, key or client, and tokens from before a time, reach both processes within 1 s', async () => {
  const client = await newClient();
  const token = await tokenOf(client);
  const byHeaders = { 'x-client-id': client.client_id, 'x-client-secret': client.client_secret };
  const inTime = async (headers: Record<string, string>, change: () => Promise<unknown>): Promise<void> =>
    expect(await acceptedAfter(headers, change)).toBeLessThan(1_000);
  await inTime(bearer(token), () => runWithInput(['token', 'revoke'], env, token));
  // Of whole seconds: a token of the second in which the others end would end with them.
  const old = await tokenOf(client);
  await inTime(bearer(old), () => runJson(['client', 'revoke-tokens', '--client-id', client.client_id], env));
  const key = await runJson(['key', 'create', '--restaurant', restuid, '--name', 'Till'], env);
  await inTime({ 'x-api-key': String(key.api_key) }, () =>
    runJson(['key', 'revoke', '--key-id', String(key.key_id)], env),
  );
  const second = await runJson(
    ['client', 'rotate-secret', '--client-id', client.client_id, '--overlap-hours', '24'],
    env,
  );
  const retire = ['client', 'retire-secret', '--client-id', client.client_id, '--force', '--secret-id'];
  await inTime(byHeaders, () => runJson([...retire, secretId(client.client_secret)], env));
  const bySecond = { 'x-client-id': client.client_id, 'x-client-secret': String(second.client_secret) };
  await inTime(bySecond, () => runJson(['client', 'disable', '--client-id', client.client_id], env));
});

/** For each gateway: revocations that reached it, and those that did within a second, which a busy machine may prevent. */
const readLags = (): Promise<{ within: number; all: number }[]> =>
  Promise.all(
    gateways.map(async ({ metricsUrl }) => {
      const figures = await (await fetch(metricsUrl)).text();
      const bucket = (le: string): number =>
        Number(new RegExp(`^orderpass_revocation_lag_seconds_bucket\\{le="${le}"\\} (\\d+)$`, 'm').exec(figures)?.[1]);
      return { within: bucket('1'), all: bucket('\\+Inf') };
    }),
  );

test('A-022 both processes export how long each revocation took to reach them, and how many took less than a second', async () => {
  const client = await newClient();
  const lagsBefore = await readLags();
  for (let count = 0; count < 5; count += 1) {
    const token = await tokenOf(client);
    const body = new URLSearchParams({
      ...{ client_id: client.client_id, client_secret: client.client_secret },
      token,
    });
    const answer = await fetch(`${gateways[count % 2]?.url}/api/oauth/revoke`, { method: 'POST', body });
    expect(answer.status).toBe(200);
    await until(async () => (await statuses(bearer(token))).every((status) => status === 401));
  }
  for (const [index, { within, all }] of (await readLags()).entries()) {
    expect(all - (lagsBefore[index]?.all ?? 0)).toBe(5);
    expect(within).toBeLessThanOrEqual(all);
  }
});

test('/metrics tells requests by route and status, refusals and tokens; never on the public listener, never a value', async () => {
  const client = await newClient();
  const token = await tokenOf(client);
  expect(await statuses(bearer(token))).toEqual([200, 200]);
  expect(await statuses(bearer('a.b.c'))).toEqual([401, 401]);
  for (const { url, metricsUrl } of gateways) {
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    const answer = await fetch(metricsUrl);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    const figures = await answer.text();
    for (const line of [
      /^orderpass_requests_total\{route="[a-z.-]+",status="2xx"\} \d+$/m,
      /^orderpass_requests_total\{route="[a-z.-]+",status="4xx"\} \d+$/m,
      /^orderpass_refusals_total\{code="INVALID_AUTH"\} \d+$/m,
      /^orderpass_request_duration_seconds_count\{route="[a-z.-]+"\} \d+$/m,
      /^orderpass_audit_waiting \d+$/m,
      /^orderpass_upstream_addresses_out 0$/m,
      /^process_cpu_seconds_total /m,
    ]) {
      expect(figures).toMatch(line);
    }
    for (const value of [token, client.client_id, client.client_secret]) expect(figures).not.toContain(value);
  }
  const first = await (await fetch(String(gateways[0]?.metricsUrl))).text();
  expect(first).toMatch(/^orderpass_tokens_total\{outcome="issued"\} \d+$/m);
});

test('A-022 a token of one gateway opens the other, and a client that is disabled is refused by both within a second', async () => {
  const [left = '', right = ''] = gateways.map(({ url }) => url);
  const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  const issued = await fetch(`${left}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: String(client.client_id),
      client_secret: String(client.client_secret),
    }),
  });
  expect(issued.status).toBe(200);
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const read = async (url: string): Promise<number> =>
    (await fetch(`${url}/api/orders/list`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await read(left), await read(right)]).toEqual([200, 200]);

  await runJson(['client', 'disable', '--client-id', String(client.client_id)], env);
  await isWithinASecond(() => Promise.all([read(left), read(right)]), [401, 401]);
});

test('the core answers only the gateway', async () => {
  const [core] = programs as [RunningProgram];
  const response = await fetch(`${core.url}/api/orders/list`, { headers: { 'x-api-key': 'opk_anything' } });
  expect(response.status).toBe(401);
});

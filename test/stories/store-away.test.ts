import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { type Embedded, startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { signalOne } from '../support/signal.ts';
import { until } from '../support/until.ts';

let folder: string;
let store: Embedded;
let env: Record<string, string>;
let client: { client_id: string; client_secret: string };
const gateways: RunningProgram[] = [];
const upstream = createServer((req, res) => {
  req.resume();
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orderpass-store-away-'));
  // Started by root, the server runs as a user that must be able to enter.
  await chmod(folder, 0o755);
  store = await startEmbedded({ dataDir: join(folder, 'data'), log: pino({ level: 'silent' }) });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  env = {
    DATABASE_URL: connectionUrl(store.connection),
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    ORDERPASS_RATE_MINUTE_UNITS: '1000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000',
  };
  gateways.push(await startProgram(env));
  gateways.push(await startProgram(env));
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  client = made as unknown as typeof client;
});

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  upstream.close();
  await store?.stop();
  await rm(folder, { recursive: true, force: true });
});

const form = (more: Record<string, string>): URLSearchParams => new URLSearchParams({ ...client, ...more });

const askForToken = (gateway = gateways[0]): Promise<Response> =>
  fetch(`${gateway?.url}/api/oauth/token`, { method: 'POST', body: form({ grant_type: 'client_credentials' }) });

/** While connections are being made anew the endpoint may ask for another try. */
const newToken = async (): Promise<string> => {
  let answer = await askForToken();
  await until(async () => {
    if (answer.status !== 503) return true;
    answer = await askForToken();
    return false;
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { access_token: string }).access_token;
};

const ask = (token: string): Promise<Response[]> =>
  Promise.all(
    gateways.map(({ url }) => fetch(`${url}/api/orders/list`, { headers: { authorization: `Bearer ${token}` } })),
  );

const statusesOf = async (token: string): Promise<number[]> => (await ask(token)).map(({ status }) => status);

type Revoked = { token: string; atMs: number };

const revoke = async (token: string): Promise<Revoked> => {
  const answer = await fetch(`${gateways[0]?.url}/api/oauth/revoke`, { method: 'POST', body: form({ token }) });
  expect(answer.status).toBe(200);
  return { token, atMs: performance.now() };
};

/** Every gateway refuses it within a second. */
const statusesOfRevoked = async ({ token, atMs }: Revoked): Promise<number[]> => {
  // An acceptance counts from when it was asked for, which is before it is seen here.
  const isOver = performance.now() - atMs > 1_000;
  const statuses = await statusesOf(token);
  if (isOver) for (const status of statuses) expect([401, 503]).toContain(status);
  return statuses;
};

/** Both work at both, until one is revoked. */
const takeTokens = async (): Promise<{ alive: string; revoked: Revoked }> => {
  const [alive, other] = [await newToken(), await newToken()];
  expect([await statusesOf(alive), await statusesOf(other)].flat()).toEqual([200, 200, 200, 200]);
  return { alive, revoked: await revoke(other) };
};

/** The server's own process and all that it has started. */
const serverPids = (): number[] => {
  const main = Number(readFileSync(join(folder, 'data/postgres/postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const parentOf = (pid: string): number => {
    try {
      return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
    } catch {
      return 0;
    }
  };
  const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === main);
  return [main, ...others.map(Number)];
};

const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids) signalOne(pid, signal);
};

/** How both treat a token that lives and one that was revoked a moment before the store went away. */
const watchWhileAway = async (alive: string, revoked: Revoked): Promise<void> => {
  await until(async () => {
    const ofAlive = await statusesOf(alive);
    await statusesOfRevoked(revoked);
    return performance.now() - revoked.atMs > 3_000 && ofAlive.every((status) => status === 503);
  });
  for (const answer of await ask(alive)) {
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await answer.json()).toMatchObject({ error: 'OVERLOADED' });
  }
  const issued = await askForToken(gateways[1]);
  expect([issued.status, ((await issued.json()) as { error: string }).error]).toEqual([503, 'temporarily_unavailable']);
};

const watchReturn = async (alive: string, revoked: Revoked): Promise<void> => {
  await until(async () => {
    await statusesOfRevoked(revoked);
    return (await statusesOf(alive)).every((status) => status === 200);
  });
  await until(async () => (await statusesOfRevoked(revoked)).every((status) => status === 401));
  expect(await statusesOf(await newToken())).toEqual([200, 200]);
};

// Which processes belong to the server is read from /proc.
const onLinux = test.skipIf(process.platform !== 'linux');

onLinux(
  'with a hanging store two gateways let no revoked caller in and answer the others 503, and recover by themselves',
  async () => {
    const { alive, revoked } = await takeTokens();
    const pids = serverPids();
    signalAll(pids, 'SIGSTOP');
    try {
      await watchWhileAway(alive, revoked);
    } finally {
      signalAll(pids, 'SIGCONT');
    }
    await watchReturn(alive, revoked);
  },
);

onLinux(
  'a store that is killed under two gateways: the same, and everything that was acknowledged is there afterwards',
  async () => {
    const { alive, revoked } = await takeTokens();
    signalAll(serverPids().slice(0, 1), 'SIGKILL');
    await watchReturn(alive, revoked);
  },
);

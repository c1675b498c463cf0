import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { programCommit, programVersion } from '#src/platform/files/release.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningProgram, runCommand, runJson, runWithInput, startProgram } from '../../support/program.ts';
import { signalOne } from '../../support/signal.ts';
import { isWithinASecond, until } from '../../support/until.ts';

const count = 3;
const minuteUnits = 600;

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let metricsUrl: string;
let restuid: string;

/** Requests for `/api/orders/list?hold=1` wait here until they are released. */
const held: ServerResponse[] = [];
const upstream = createServer((req, res) => {
  req.resume();
  if (req.url?.includes('hold=1') === true) held.push(res);
  else answer(res);
});
const answer = (res: ServerResponse): void => {
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
};
const release = (): void => {
  for (const res of held.splice(0)) answer(res);
};

const start = async (more: Record<string, string> = {}): Promise<void> => {
  const internalPort = String(await freePort());
  metricsUrl = `http://127.0.0.1:${internalPort}/metrics`;
  const own = { PORT: String(await freePort()), ORDERPASS_INTERNAL_PORT: internalPort };
  program = await startProgram({ ...env, ...own, ...more });
};

beforeAll(async () => {
  database = await createTestDatabase();
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_PROCESSES: String(count),
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${port}`,
    ORDERPASS_LOG_LEVEL: 'info',
    ORDERPASS_RATE_MINUTE_UNITS: String(minuteUnits),
    ORDERPASS_RATE_BURST_UNITS: '1000000',
  };
  await start();
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Osteria'], env)).restuid);
});

afterEach(release);

afterAll(async () => {
  await program?.stop();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
  await database?.drop();
});

type Caller = { client_id: string; token: string };

const newCaller = async (minute?: number): Promise<Caller> => {
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  const { client_id = '', client_secret = '' } = made;
  if (minute !== undefined) await runJson(['client', 'limits', client_id, '--minute', String(minute)], env);
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const issued = await fetch(`${program.url}/api/oauth/token`, { method: 'POST', body });
  return { client_id, token: ((await issued.json()) as { access_token: string }).access_token };
};

/** A connection of its own, as that of one client. */
const connect = () => new Agent({ keepAlive: true, maxSockets: 1 });

/** `policy`: the field RateLimit-Policy. */
type Called = { status: number; id: string; policy: string };

const call = (token: string, { agent, query = '' }: { agent?: Agent; query?: string } = {}): Promise<Called> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    // Without an agent each request has a new connection.
    request(`${program.url}/api/orders/list${query}`, { agent: agent ?? false, headers }, (res) => {
      res.resume();
      res.once('error', reject);
      res.once('end', () => {
        const { 'x-request-id': id, 'ratelimit-policy': policy } = res.headers;
        resolve({ status: res.statusCode ?? 0, id: String(id), policy: String(policy) });
      });
    })
      .once('error', reject)
      .end();
  });

type Line = { pid: number; request_id?: string; msg: string };

const lines = (): Line[] =>
  program
    .errors()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);

/** The process that answered a request, by its line in the access log. */
const processOf = async (id: string): Promise<number> => {
  await until(() => lines().some((line) => line.request_id === id));
  return lines().find((line) => line.request_id === id)?.pid ?? 0;
};

const processes = (): number[] => {
  const { pid } = program.child;
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
};

type Client = { agent: Agent; pid: number };

/** Clients with a connection each, and the process that has it. */
const newClients = (token: string, wanted: number): Promise<Client[]> =>
  Promise.all(
    Array.from({ length: wanted }, async () => {
      const agent = connect();
      const { id, status } = await call(token, { agent });
      expect(status).toBe(200);
      return { agent, pid: await processOf(id) };
    }),
  );

const readiness = async (): Promise<{ status: string; processes: string }> =>
  (await (await fetch(`${program.url}/readyz`)).json()) as { status: string; processes: string };

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(metricsUrl)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
};

const allServe = (): Promise<void> =>
  until(async () => (await metric('orderpass_processes')) === count && (await readiness()).processes === 'ok');

const answered = 'orderpass_requests_total{route="orders.list",status="2xx"}';

test('A-230 several processes answer behind one port, and SIGHUP reaches each', async () => {
  const { token } = await newCaller();
  const clients = await newClients(token, 3 * count);
  expect(new Set(clients.map(({ pid }) => pid))).toEqual(new Set(processes()));
  expect(processes()).toHaveLength(count);
  expect(await readiness()).toMatchObject({ status: 'ok', processes: 'ok', shared_state: 'up' });
  signalOne(program.child.pid, 'SIGHUP');
  await until(() => new Set(lines().flatMap(({ msg, pid }) => (msg.includes('SIGHUP') ? [pid] : []))).size === count);
});

test('A-283 the metrics of several processes name the release once', async () => {
  await allServe();
  expect(await metric(`orderpass_build_info{version="${programVersion}",commit="${programCommit ?? ''}"}`)).toBe(1);
});

test('A-231 only requests of a killed process fail, others take its connections, and a new process replaces it', async () => {
  // The calls go on until a new process serves, however long its start takes: they must not meet the limit of a minute.
  const { token } = await newCaller(1_000_000);
  const clients = await newClients(token, 3 * count);
  const victim = clients[0]?.pid;
  const running = clients.map(async ({ agent, pid }) => {
    const failed = await call(token, { agent, query: '?hold=1' }).then(
      ({ status }) => status !== 200,
      () => true,
    );
    return { pid, failed };
  });
  await until(() => held.length === clients.length);
  // Each has a new connection. Those that the process held when it was killed may fail: one in each of the two rows.
  const statuses: (number | string)[] = [];
  let done = false;
  const others = Array.from({ length: 2 }, async () => {
    while (!done)
      statuses.push(
        await call(token).then(
          ({ status }) => status,
          (error: NodeJS.ErrnoException) => String(error.code),
        ),
      );
  });
  signalOne(victim, 'SIGKILL');
  await until(() => !processes().includes(victim ?? 0));
  release();
  for (const { pid, failed } of await Promise.all(running)) expect(failed).toBe(pid === victim);
  await allServe();
  done = true;
  await Promise.all(others);
  const failures = statuses.filter((status) => status !== 200);
  expect(failures.length, failures.join(' ')).toBeLessThanOrEqual(2);
  expect(statuses.length).toBeGreaterThan(20);
  expect(await metric('orderpass_process_restarts_total')).toBe(1);
});

test('A-232 one page of metrics sums all processes, never falls, and does not wait for a process that hangs', async () => {
  const { token } = await newCaller();
  const before = await metric(answered);
  const clients = await newClients(token, 4 * count);
  expect(new Set(clients.map(({ pid }) => pid)).size).toBe(count);
  await until(async () => (await metric(answered)) === before + clients.length);
  const [hanging = 0, dying = 0] = processes();
  signalOne(hanging, 'SIGSTOP');
  try {
    const startedAt = performance.now();
    expect(await metric(answered)).toBe(before + clients.length);
    // Below the 20 s after which a process that hangs is killed.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  } finally {
    signalOne(hanging, 'SIGCONT');
  }
  signalOne(dying, 'SIGKILL');
  await until(() => !processes().includes(dying));
  expect(await metric(answered)).toBe(before + clients.length);
  expect((await (await fetch(metricsUrl.replace('/metrics', '/api/order'))).json()) as object).toMatchObject({
    error: 'NOT_FOUND',
  });
  await allServe();
});

test('A-531 the readiness of all processes waits 2.5 s for one that hangs, and names it', async () => {
  await allServe();
  const [hanging = 0] = processes();
  signalOne(hanging, 'SIGSTOP');
  try {
    const startedAt = performance.now();
    const gathered = await fetch(metricsUrl.replace('/metrics', '/readyz'));
    // Below the 20 s after which a process that hangs is killed.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect([gathered.status, await gathered.json()]).toMatchObject([
      200,
      { status: 'degraded', processes_ready: count - 1, processes_silent: [hanging] },
    ]);
  } finally {
    signalOne(hanging, 'SIGCONT');
  }
  await allServe();
  expect(await (await fetch(metricsUrl.replace('/metrics', '/readyz'))).json()).not.toHaveProperty('processes_silent');
});

test('A-231 a process that hangs is killed, and a new process replaces it', async () => {
  const [hanging = 0] = processes();
  signalOne(hanging, 'SIGSTOP');
  await until(() => !processes().includes(hanging), 180_000);
  await allServe();
  expect(program.errors()).toContain('a process does not answer and is killed');
});

test('A-233 a limit holds over all processes within 5 % without Redis, one after the other and at once', async () => {
  const clients = await newClients((await newCaller()).token, 4 * count);
  const passedOf = async (token: string, parallel: number, calls: number): Promise<number> => {
    const agents = clients.slice(0, parallel).map(({ agent }) => agent);
    const found = await Promise.all(
      agents.map(async (agent) => {
        let passed = 0;
        for (let i = 0; i < calls / parallel; i += 1) if ((await call(token, { agent })).status === 200) passed += 1;
        return passed;
      }),
    );
    return found.reduce((sum, one) => sum + one, 0);
  };
  for (const parallel of [4 * count, count]) {
    const passed = await passedOf((await newCaller()).token, parallel, minuteUnits + 120);
    expect(passed).toBeGreaterThanOrEqual(0.95 * minuteUnits);
    expect(passed).toBeLessThanOrEqual(1.05 * minuteUnits);
  }
});

test('A-234 a revoked token is refused by each process within a second', async () => {
  const { token } = await newCaller();
  const clients = await newClients(token, 3 * count);
  const one = [...new Map(clients.map((client) => [client.pid, client])).values()];
  expect(one).toHaveLength(count);
  const statuses = (): Promise<number[]> =>
    Promise.all(one.map(async ({ agent }) => (await call(token, { agent })).status));
  expect(await statuses()).toEqual(one.map(() => 200));
  await runWithInput(['token', 'revoke'], env, token);
  await isWithinASecond(
    statuses,
    one.map(() => 401),
  );
});

test('A-459 running requests of a caller count over all processes without Redis, and each process applies a change of limits', async () => {
  const { client_id, token } = await newCaller();
  const clients = await newClients(token, 4 * count);
  expect(new Set(clients.map(({ pid }) => pid)).size).toBe(count);
  await runJson(['client', 'limits', client_id, '--concurrency', '5', '--minute', '100000'], env);
  // Each process knows the bound as soon as its answer names it.
  for (const { agent } of clients) await until(async () => (await call(token, { agent })).policy.includes('q=5;qu='));
  const calls = clients.map(({ agent }) => call(token, { agent, query: '?hold=1' }));
  let refused = 0;
  for (const one of calls)
    void one.then(({ status }) => {
      if (status === 429) refused += 1;
    });
  await until(() => refused === clients.length - 5);
  // Those that are not refused may still be on their way.
  await until(() => held.length === 5);
  release();
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(5);
  for (const { agent } of clients) await until(async () => (await call(token, { agent })).status === 200);
});

test('A-235 SIGTERM ends all processes after their running requests; wrong settings and failed starts end the program', async () => {
  const { token } = await newCaller();
  const clients = await newClients(token, 3 * count);
  const running = clients.map(({ agent }) => call(token, { agent, query: '?hold=1' }));
  await until(() => held.length === clients.length);
  const all = processes();
  const exited = new Promise((resolve) => program.child.once('exit', resolve));
  signalOne(program.child.pid, 'SIGTERM');
  // A connection that comes at this moment may wait until the end.
  const waits = new Promise<boolean>((resolve) => setTimeout(resolve, 1_000, true));
  await until(() => {
    const refused = call(token).then(
      () => false,
      () => true,
    );
    return Promise.race([refused, waits]);
  });
  release();
  for (const { status } of await Promise.all(running)) expect(status).toBe(200);
  expect(await exited).toBe(0);
  for (const pid of all) expect(signalOne(pid, 'SIGCONT')).toBe(false);
  // A start reads the settings as `config check` does.
  const refusalOf = async (wrong: Record<string, string>): Promise<string> => {
    const { code, stderr } = await runCommand(['config', 'check'], { ...env, ...wrong });
    return `ended with ${code}: ${stderr}`;
  };
  for (const wrong of ['0', '1.5', 'many', '65'])
    expect(await refusalOf({ ORDERPASS_PROCESSES: wrong })).toMatch(
      /^ended with 1[\s\S]*processes \(ORDERPASS_PROCESSES\): must be auto or a number from 1 to 64/,
    );
  expect(await refusalOf({ ORDERPASS_ROLE: 'all' })).toMatch(/^ended with 1[\s\S]*role all runs in one process/);
  expect(await refusalOf({ PORT: '0' })).toMatch(/^ended with 1[\s\S]*several processes need a fixed port/);
  const { port } = upstream.address() as AddressInfo;
  await expect(start({ PORT: String(port) })).rejects.toThrow(/ended with 1[\s\S]*EADDRINUSE/);
});

test('A-461 the bounds on the connections and the waiting requests of an upstream hold for each process by itself', async () => {
  await start({ ORDERPASS_UPSTREAM_CONNECTIONS_MAX: '1', ORDERPASS_UPSTREAM_WAITING_MAX: '0' });
  await allServe();
  const { token } = await newCaller();
  const clients: Client[] = [];
  // One after the other: at once they would need more connections than a process may have.
  const withTwo = (): number[] => processes().filter((pid) => clients.filter((one) => one.pid === pid).length > 1);
  while (withTwo().length < count) clients.push(...(await newClients(token, 1)));
  const codes: number[] = [];
  const calls = clients.map(async ({ agent, pid }) => {
    const { status } = await call(token, { agent, query: '?hold=1' });
    codes.push(status);
    return { pid, status };
  });
  await until(() => codes.length === clients.length - count);
  expect(new Set(codes)).toEqual(new Set([503]));
  await until(() => held.length === count);
  release();
  const passed = (await Promise.all(calls)).filter(({ status }) => status === 200);
  expect(new Set(passed.map(({ pid }) => pid))).toEqual(new Set(processes()));
  expect(passed).toHaveLength(count);
});

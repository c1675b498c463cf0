/**
 * A fleet behind HAProxy: every gateway, core and worker is restarted in turn, as an update does it, while callers read,
 * write, get tokens and receive webhooks. TEST_FLEET_ROUNDS is the number of rounds over all processes (default 1).
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { hasHaproxy, type LoadBalancer, startHaproxy } from './haproxy.ts';

const rounds = Number(process.env.TEST_FLEET_ROUNDS ?? 1);
/** A start takes seconds on a machine that has other work. */
const timeoutMs = 240_000 + rounds * 240_000;

if (!hasHaproxy) process.stderr.write('skipped: haproxy is not installed (Debian: apt-get install haproxy)\n');

/** Longer than HAProxy and gateways need to notice, also on a busy machine. */
const drainMs = '3000';

type Member = { readyUrl: string; env: Record<string, string>; program: RunningProgram };

let database: TestDatabase;
let receiver: WebhookReceiver;
let balancer: LoadBalancer;
let client: Record<string, string>;
let metricsUrls: string[] = [];
let folder: string;
const members: Member[] = [];

const startMember = async (env: Record<string, string>): Promise<Member> => {
  const port = String(await freePort());
  const own = { ...env, ORDERPASS_INTERNAL_PORT: port, ORDERPASS_DRAIN_MS: drainMs };
  const member = { readyUrl: `http://127.0.0.1:${port}/readyz`, env: own, program: await startProgram(own) };
  members.push(member);
  return member;
};

/** The table of the program, with checks that tell gateways of a core that drains before its port closes. */
const writeRoutes = (): string => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-fleet-'));
  const file = join(folder, 'routes.json');
  const table = JSON.parse(readFileSync(new URL('../../config/routes.json', import.meta.url), 'utf8')) as object;
  const health = { path: '/readyz', intervalMs: 500, unhealthyAfter: 1 };
  writeFileSync(file, JSON.stringify({ ...table, upstreams: { ordering: { health } } }));
  return file;
};

const internalOf = ({ env }: Member): string => `http://127.0.0.1:${env.ORDERPASS_INTERNAL_PORT}`;

beforeAll(async () => {
  if (!hasHaproxy) return;
  database = await createTestDatabase();
  receiver = await startReceiver();
  const env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_RATE_MINUTE_UNITS: '10000000',
    ORDERPASS_RATE_BURST_UNITS: '10000000',
  };
  const cores = [
    await startMember({ ...env, ORDERPASS_ROLE: 'ordering' }),
    await startMember({ ...env, ORDERPASS_ROLE: 'ordering' }),
  ];
  for (const role of ['worker', 'worker']) await startMember({ ...env, ORDERPASS_ROLE: role });
  const routesFile = writeRoutes();
  const gateways: Member[] = [];
  for (let count = 0; count < 2; count += 1) {
    gateways.push(
      await startMember({
        ...env,
        ORDERPASS_ROLE: 'gateway',
        PORT: String(await freePort()),
        ORDERPASS_ORIGIN: 'http://localhost:4000',
        ORDERPASS_ROUTES_FILE: routesFile,
        ORDERPASS_UPSTREAMS: `ordering=${cores.map(internalOf).join('|')}`,
      }),
    );
  }
  metricsUrls = gateways.map((gateway) => `${internalOf(gateway)}/metrics`);
  balancer = await startHaproxy(gateways.map(({ env: own }) => `127.0.0.1:${own.PORT}`));
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const of = ['--restaurant', String(restuid)];
  await runJson(['notifications', 'set', ...of, '--customers', 'on'], env);
  await runJson(['endpoint', 'create', ...of, '--url', receiver.url, '--kinds', 'customers'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', ...of], env);
  client = { client_id: String(made.client_id), client_secret: String(made.client_secret) };
});

afterAll(async () => {
  await balancer?.close();
  await Promise.all(members.map(({ program }) => program.stop()));
  await receiver?.close();
  await database?.drop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

const kinds = ['GET', 'HEAD', 'keyed POST', 'POST', 'token'] as const;
type Kind = (typeof kinds)[number];
type Answered = { kind: Kind; status: number; text: string };

const created: string[] = [];
let count = 0;

const send = async (kind: Kind): Promise<Answered> => {
  if (kind === 'token') {
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...client });
    const answer = await fetch(`${balancer.url}/api/oauth/token`, { method: 'POST', body });
    return { kind, status: answer.status, text: await answer.text() };
  }
  const headers = { 'x-client-id': client.client_id ?? '', 'x-client-secret': client.client_secret ?? '' };
  if (kind === 'GET' || kind === 'HEAD') {
    const answer = await fetch(`${balancer.url}/api/orders/list`, { method: kind, headers });
    return { kind, status: answer.status, text: await answer.text() };
  }
  count += 1;
  // Two customers cannot have one address, so a second effect of a request would be refused.
  const email = `guest-${count}@example.com`;
  const answer = await fetch(`${balancer.url}/api/customer/create`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      ...(kind === 'keyed POST' && { 'idempotency-key': `key-${count}` }),
    },
    body: JSON.stringify({ email }),
  });
  if (answer.status === 200) created.push(email);
  return { kind, status: answer.status, text: await answer.text() };
};

const isReady = async (url: string): Promise<boolean> => (await fetch(url).catch(() => undefined))?.status === 200;

/** Every gateway uses every core again. */
const areCoresUsed = async (): Promise<boolean> => {
  const pages = await Promise.all(metricsUrls.map(async (url) => (await fetch(url)).text()));
  const used = /^orderpass_upstream_address_state\{.*state="in_use"\} 1$/gm;
  return pages.every((page) => page.match(used)?.length === 2);
};

const restart = async (member: Member): Promise<void> => {
  const exited = new Promise((resolve) => member.program.child.once('exit', resolve));
  member.program.child.kill('SIGTERM');
  expect(await exited).toBe(0);
  member.program = await startProgram(member.env);
  await until(() => isReady(member.readyUrl));
  // The next one is stopped only when HAProxy and the gateways send requests here again.
  if (member.env.ORDERPASS_ROLE === 'worker') return;
  await until(areCoresUsed);
  await until(async () => (await balancer.upCount()) === 2);
};

test.runIf(hasHaproxy)(
  'A-250 a rolling restart of gateways, cores and workers under load loses no request, and neither loses nor doubles a delivery',
  async () => {
    const answers: Answered[] = [];
    let isDone = false;
    const callers = kinds.map(async (kind) => {
      while (!isDone) answers.push(await send(kind));
    });
    try {
      await until(() => answers.length > 50);
      for (let round = 0; round < rounds; round += 1) {
        for (const member of members) {
          await restart(member);
          const before = answers.length;
          await until(() => answers.length > before + 50);
        }
      }
    } finally {
      isDone = true;
      await Promise.all(callers);
    }
    const emailsReceived = () => receiver.received.map(({ body }) => String(JSON.parse(body).customer.email));
    await until(() => new Set(emailsReceived()).size === created.length);
    const counts = Object.groupBy(answers, ({ kind }) => kind);
    const figures = kinds.map((kind) => `${kind} ${counts[kind]?.length ?? 0}`).join(', ');
    process.stdout.write(`${rounds * members.length} restarts: ${figures}; ${created.length} webhooks\n`);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(emailsReceived().toSorted()).toEqual(created.toSorted());
  },
  timeoutMs,
);

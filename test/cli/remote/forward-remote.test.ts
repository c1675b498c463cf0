import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { openListen } from '../open-listen.ts';

let database: TestDatabase;
let gatewayEnv: Record<string, string>;
let gateway: RunningProgram;
const programs: RunningProgram[] = [];
let client: Record<string, string>;
let apiKey: string;
let endpoint: string;
/** Where the endpoint really leads. */
let receiver: WebhookReceiver;
/** The developer's machine. */
let local: WebhookReceiver;
const closers: (() => Promise<unknown>)[] = [];

/** What the developer has: a credential, and neither the store nor the master key. */
const asClient = (): Record<string, string> => ({
  ORDERPASS_CLIENT_ID: client['x-client-id'] ?? '',
  ORDERPASS_CLIENT_SECRET: client['x-client-secret'] ?? '',
});

beforeAll(async () => {
  database = await createTestDatabase();
  [receiver, local] = [await startReceiver(), await startReceiver()];
  const [core, port] = [String(await freePort()), String(await freePort())];
  const env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${core}`,
  };
  programs.push(
    await startProgram({ ...env, ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: core }),
    await startProgram({ ...env, ORDERPASS_ROLE: 'worker' }),
  );
  gatewayEnv = { ...env, ORDERPASS_ROLE: 'gateway', PORT: port };
  gateway = await startProgram(gatewayEnv);
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const ofRestaurant = ['--restaurant', String(restuid)];
  await runJson(['notifications', 'set', ...ofRestaurant, '--customers', 'on'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', ...ofRestaurant], env);
  client = { 'x-client-id': String(made.client_id), 'x-client-secret': String(made.client_secret) };
  apiKey = String((await runJson(['key', 'create', ...ofRestaurant], env)).api_key);
  const { endpoint: created } = (await call('/webhook/create', { url: receiver.url, kinds: ['customers'] })) as {
    endpoint: { uid: string };
  };
  endpoint = created.uid;
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  local.behave(status(204));
  local.received.splice(0);
});

afterAll(async () => {
  await Promise.all([gateway, ...programs].map((program) => program?.stop()));
  await Promise.all([receiver?.close(), local?.close()]);
  await database?.drop();
});

const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
  const headers = { ...client, 'content-type': 'application/json' };
  const answer = await fetch(`${gateway.url}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const json = (await answer.json()) as Record<string, unknown>;
  if (answer.status !== 200) throw new Error(JSON.stringify(json));
  return json;
};

/** Makes a customer and changes it `changes` times, each an event. */
const makeEvents = async (email: string, changes: number): Promise<void> => {
  const { customer } = (await call('/customer/create', { email })) as { customer: { uid: string } };
  for (let change = 1; change <= changes; change += 1)
    await call('/customer/update', { uid: customer.uid, phone: `+39055${change}` });
};

const startListen = async (args: readonly string[], env: Record<string, string>) => {
  const listening = await openListen(args, env);
  closers.push(listening.stop);
  return listening;
};

const target = (): string[] => ['--url', gateway.url, '--endpoint', endpoint, '--forward-to', local.url];

const secretIn = (text: string): string => /Signing secret of this run: (whsec_\S+)/.exec(text)?.[1] ?? '';

const verifyAll = (secret: string): void => {
  for (const { headers, body } of local.received) new Webhook(secret).verify(body, headers as Record<string, string>);
};

test('listen with --url forwards the events of the remote server, signed with the printed secret, even after the server was away', async () => {
  await makeEvents('before@example.com', 1);
  await until(() => receiver.received.length === 2);
  // The time of an event has whole seconds.
  await until(() => Date.now() - (receiver.received[1]?.at ?? 0) > 1_100);
  const listening = await startListen(target(), asClient());
  await makeEvents('ada@example.com', 2);
  await until(() => listening.lines.length === 3);
  const secret = secretIn(listening.errors());
  verifyAll(secret);
  expect(local.received.map(({ body }) => (JSON.parse(body) as { seq: number }).seq)).toEqual([1, 2, 3]);
  await until(() => receiver.received.length === 5);
  expect(new Set(local.received.map(({ body }) => body))).toEqual(
    new Set(receiver.received.slice(2).map(({ body }) => body)),
  );

  await gateway.stop();
  await until(() => listening.errors().includes('cannot be read now'));
  gateway = await startProgram(gatewayEnv);
  await makeEvents('eva@example.com', 0);
  await until(() => listening.lines.length === 4);
  verifyAll(secret);
  expect(await listening.stop()).toBe(0);
});

test('A-671 listen goes on after a limit and an internal error of a server with old statuses, which are 200', async () => {
  const refusals: string[] = [];
  const between = createServer(async ({ url = '', headers }, response) => {
    const error = url.startsWith('/api/events/list') ? refusals.shift() : undefined;
    response.setHeader('content-type', 'application/json');
    if (error !== undefined) return void response.end(JSON.stringify({ success: false, error, message: 'Later' }));
    const { 'x-client-id': id = '', 'x-client-secret': secret = '' } = headers;
    const credential = { 'x-client-id': String(id), 'x-client-secret': String(secret) };
    const answer = await fetch(gateway.url + url, { headers: credential });
    response.writeHead(answer.status).end(await answer.text());
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => between.close(resolve)));
  const { port } = between.address() as { port: number };
  const remote = ['--url', `http://127.0.0.1:${port}`, '--endpoint', endpoint, '--forward-to', local.url];
  const listening = await startListen(remote, asClient());
  refusals.push('RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR');
  await until(() => refusals.length === 0);
  await makeEvents('old@example.com', 0);
  await until(() => listening.lines.length > 0);
  expect(local.received.map(({ body }) => (JSON.parse(body) as { event: string }).event)).toEqual(['customer.changed']);
  expect(await listening.stop()).toBe(0);
});

test('replay with --url sends the last events, oldest first, by an API key and with a secret that the developer names', async () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await makeEvents('zoe@example.com', 3);
  await until(() => receiver.received.at(-1)?.body.includes('"phone":"+390553"') === true);
  const replayed = await runCommand(['replay', '--last', '3', ...target()], {
    ORDERPASS_API_KEY: apiKey,
    ORDERPASS_WEBHOOK_SECRET: secret,
  });
  expect(replayed).toMatchObject({ code: 0, stderr: expect.not.stringContaining(secret) });
  expect(local.received.map(({ body }) => body)).toEqual(receiver.received.slice(-3).map(({ body }) => body));
  verifyAll(secret);
  expect(local.received[0]?.headers['x-orderpass-signature']).toMatch(/^[0-9a-f]{64}$/);
});

test('A-358 after a login, replay and listen take the events of that server without --url on a machine that has no installation', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'orderpass-login-'));
  closers.push(async () => rmSync(elsewhere, { recursive: true }));
  mkdirSync(join(elsewhere, 'orderpass'));
  const servers = { [gateway.url]: { api_key: apiKey } };
  const file = join(elsewhere, 'orderpass/logins.json');
  writeFileSync(file, JSON.stringify({ current: gateway.url, servers }), { mode: 0o600 });
  await makeEvents('login@example.com', 1);
  await until(() => receiver.received.at(-1)?.body.includes('login@example.com') === true);
  const env = { XDG_CONFIG_HOME: elsewhere, ORDERPASS_DATA_DIR: join(elsewhere, 'none') };
  const replayed = await runCommand(['replay', '--last', '1', '--endpoint', endpoint, '--forward-to', local.url], env);
  expect([replayed.code, local.received.length]).toEqual([0, 1]);
  const listening = await startListen(['--endpoint', endpoint, '--forward-to', local.url], env);
  await makeEvents('listening@example.com', 0);
  // Events of the second in which it started come too.
  await until(() => local.received.some(({ body }) => body.includes('listening@example.com')));
  expect(await listening.stop()).toBe(0);
  expect(existsSync(join(elsewhere, 'none'))).toBe(false);
});

test('a remote server is asked with a credential of the environment, over https only, and the credential is never forwarded', async () => {
  const without = await runCommand(['replay', ...target()], {});
  expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('ORDERPASS_API_KEY') });
  const clear = await runCommand(
    ['replay', '--url', 'http://elsewhere.example', '--endpoint', endpoint, '--forward-to', local.url],
    asClient(),
  );
  expect(clear).toMatchObject({ code: 2, stderr: expect.stringContaining('https://') });
  const weak = await runCommand(['replay', ...target()], { ...asClient(), ORDERPASS_WEBHOOK_SECRET: 'short' });
  expect(weak).toMatchObject({ code: 2, stderr: expect.stringContaining('ORDERPASS_WEBHOOK_SECRET') });

  const refused = await runCommand(['replay', ...target()], { ORDERPASS_API_KEY: `opk_${'x'.repeat(43)}` });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`${gateway.url} says: `);
  const absent = ['--url', gateway.url, '--endpoint', 'whe_absent', '--forward-to', local.url];
  expect(await runCommand(['listen', ...absent], asClient())).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No such endpoint'),
  });

  const asked: unknown[] = [];
  const elsewhere = createServer((request, response) => {
    asked.push(request.headers['x-client-secret']);
    response.writeHead(204).end();
  });
  const sendingOn = createServer((_request, response) => {
    const { port } = elsewhere.address() as { port: number };
    response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end();
  });
  for (const server of [elsewhere, sendingOn]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
  }
  const { port } = sendingOn.address() as { port: number };
  const led = await runCommand(
    ['replay', '--url', `http://127.0.0.1:${port}`, '--endpoint', endpoint, '--forward-to', local.url],
    asClient(),
  );
  expect([led.code, asked]).toEqual([1, []]);
  expect(local.received).toEqual([]);
});

import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createCredential, type TokenAnswer } from '../../../src/clients/typescript/src/credential.ts';
import { ApiError, Orderpass } from '../../../src/clients/typescript/src/index.ts';
import { browserBinary, launchBrowser } from '../../support/browser.ts';
import { root } from '../../support/program.ts';
import { checkEvents, checkOperations } from './check-examples.ts';
import { checkVerification, vector } from './check-verification.ts';
import { type ClientsHarness, startClientsHarness } from './harness.ts';
import { binaries, nodes, packClient } from './packed-client.ts';
import { readmeSample } from './readme-sample.ts';
import { runScenario } from './run-scenario.ts';

const run = promisify(execFile);
const runner = { command: process.execPath, args: [join(import.meta.dirname, 'runners/typescript.ts')] };
/** Runtimes besides Node and browsers, each with the rights that a till needs: its network. */
const runtimes = [
  { name: 'Deno', command: 'deno', options: ['run', '--no-config', '--no-lock', '--allow-net'] },
  { name: 'Bun', command: 'bun', options: ['run'] },
].filter(({ name, command }) => {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`typescript.test.ts: ${name} is not installed, the client was not run on it\n`);
    return false;
  }
});

let harness: ClientsHarness;
let folder: string;
let packed: Awaited<ReturnType<typeof packClient>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-client-'));
  [harness, packed] = await Promise.all([startClientsHarness(), packClient(folder)]);
});

afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('A-331 A-662 A-663 A-664 the client for TypeScript does every step of the scenario', async () => {
  expect(await runScenario(harness, runner)).toBeGreaterThanOrEqual(40);
});

test.each(runtimes)(
  'A-515 on $name it does every step of the scenario, and accepts right deliveries only',
  async ({ command, options }) => {
    const there = { command, args: [...options, ...runner.args] };
    expect(await runScenario(harness, there)).toBeGreaterThanOrEqual(40);
    await checkVerification(there);
  },
);

test('A-333 it accepts deliveries with a right signature and time, and no others', () => checkVerification(runner));

test('A-338 each method takes the documented request and returns the documented answer unchanged', () =>
  checkOperations(harness, runner));

test('A-339 every documented event is read as its own type', () => checkEvents(runner));

test('A-334 the package that npm packs runs the sample of its README on each Node, and its types refuse an empty order', async () => {
  const { user, client } = packed;
  expect(readFileSync(join(client, 'LICENSE'), 'utf8')).toContain('MIT License');
  writeFileSync(join(user, 'sample.mjs'), readmeSample('typescript', 'ts', harness.variables()));
  for (const node of nodes()) {
    const { stdout } = await run(node, ['sample.mjs'], { cwd: user });
    expect(stdout).toMatch(/Margherita \d/);
    expect(stdout).toContain('read:orders');
  }
  const use = (argument: string): string =>
    `import { Orderpass } from '@orderpass/client';\nconst client = new Orderpass({ url: 'https://api.example', apiKey: 'opk_' });\nexport const made = client.orders.create(${argument});\n`;
  const order = `{ client: { first_name: 'Ada' }, dmethod: '0t', payment_method: 'external', details: [{ product: { uid: 'prd_1' }, quantity: 1 }] }`;
  symlinkSync(join(root, 'node_modules/@types'), join(user, 'node_modules/@types'));
  writeFileSync(join(user, 'package.json'), '{"type":"module"}');
  writeFileSync(join(user, 'right.ts'), use(order));
  writeFileSync(join(user, 'wrong.ts'), use('{}'));
  const options = '--noEmit --strict --exactOptionalPropertyTypes --target es2022 --module nodenext --types node';
  const compile = (file: string) => run(join(binaries, 'tsc'), [...options.split(' '), file], { cwd: user });
  await compile('right.ts');
  await expect(compile('wrong.ts')).rejects.toMatchObject({
    stdout: expect.stringMatching(/wrong\.ts.*missing the following properties/),
  });
});

type Client = typeof import('../../../src/clients/typescript/src/index.ts');
const pageOfTill =
  '<!doctype html><title>till</title><script type="module">import * as client from "./index.js"; globalThis.client = client;</script>';

if (browserBinary === undefined)
  process.stderr.write('typescript.test.ts: no Chromium, the client was not run in a browser\n');

test.skipIf(browserBinary === undefined)(
  'A-335 the package runs in a browser as it is, and verifies a delivery there',
  async () => {
    const { url, clientId, clientSecret } = harness.variables();
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.route(`${url}/client/**`, (route) => {
        const [, file = ''] = route.request().url().split('/client/');
        if (file === '') return route.fulfill({ contentType: 'text/html', body: pageOfTill });
        return route.fulfill({
          contentType: 'text/javascript',
          body: readFileSync(join(packed.client, 'dist', file), 'utf8'),
        });
      });
      await page.goto(`${url}/client/`);
      await page.waitForFunction('globalThis.client');
      const found = await page.evaluate(
        async ({ options, delivery }) => {
          const { client } = globalThis as unknown as { client: Client };
          const names: string[] = [];
          for await (const { name } of new client.Orderpass(options).menu.products({ pagesize: 9 })) names.push(name);
          const refused = await new client.Orderpass({ ...options, scopes: ['read:menu'] }).orders
            .list()
            .next()
            .catch(({ code, missingScopes }: { code: string; missingScopes: string[] }) => [code, ...missingScopes]);
          const { event } = await client.verifyWebhook(delivery);
          const changed = await client.verifyWebhook({ ...delivery, body: '{}' }).catch(({ name }: Error) => name);
          return { count: names.length, refused, event, changed };
        },
        { options: { url, clientId, clientSecret }, delivery: { ...vector, secret: vector.secrets } },
      );
      expect(found).toMatchObject({
        refused: ['INSUFFICIENT_SCOPE', 'read:orders'],
        event: 'customer.changed',
        changed: 'WebhookError',
      });
      expect(found.count).toBeGreaterThanOrEqual(40);
    } finally {
      await browser.close();
    }
  },
);

test('A-332 a token is renewed before its end, and used to its end while the token endpoint is away', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  try {
    let fetched = 0;
    let away: Promise<never> | undefined;
    const fetchToken = async (): Promise<TokenAnswer> => {
      fetched += 1;
      await away;
      return { access_token: `t${fetched}`, expires_in: 100 };
    };
    const credential = createCredential({ clientId: 'opc_1', clientSecret: 'ops_1' }, fetchToken);
    const at = async (seconds: number): Promise<string | undefined> => {
      vi.setSystemTime(seconds * 1000);
      return (await credential.headers()).authorization;
    };
    expect([await at(0), await at(89)]).toEqual(['Bearer t1', 'Bearer t1']);
    let fail: (reason: Error) => void = () => {};
    away = new Promise((_, reject) => {
      fail = reject;
    });
    // No call waits for the renewal, which has no answer yet.
    expect([await at(91), await at(91), fetched]).toEqual(['Bearer t1', 'Bearer t1', 2]);
    fail(new Error('away'));
    await new Promise(setImmediate);
    away = undefined;
    expect([await at(95), fetched]).toEqual(['Bearer t1', 2]);
    expect([await at(97), fetched]).toEqual(['Bearer t1', 3]);
    await new Promise(setImmediate);
    expect([await at(98), fetched]).toEqual(['Bearer t3', 3]);
    away = Promise.reject(new Error('away'));
    await expect(at(198)).rejects.toThrow('away');
    await expect(at(199)).rejects.toThrow('away');
    expect(fetched).toBe(5);
  } finally {
    vi.useRealTimers();
  }
});

test('A-332 a refused secret is sent once in ten seconds, and a token that still works is used to its end', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  try {
    let fetched = 0;
    const fetchToken = async (): Promise<TokenAnswer> => {
      fetched += 1;
      if (fetched > 1) throw new ApiError({ status: 401, retryAfter: undefined, requestId: undefined, body: {} });
      return { access_token: 't1', expires_in: 100 };
    };
    const credential = createCredential({ clientId: 'opc_1', clientSecret: 'ops_1' }, fetchToken);
    const at = async (seconds: number): Promise<unknown> => {
      vi.setSystemTime(seconds * 1000);
      const got = await credential.headers().catch(({ status }: ApiError) => status);
      await new Promise(setImmediate);
      return typeof got === 'number' ? got : got.authorization;
    };
    expect([await at(0), await at(91), await at(97), fetched]).toEqual([...Array(3).fill('Bearer t1'), 2]);
    expect([await at(100), await at(100.5), fetched]).toEqual([401, 401, 2]);
    expect([await at(102), await at(111), fetched]).toEqual([401, 401, 3]);
  } finally {
    vi.useRealTimers();
  }
});

test('A-332 an attempt of menu/import has the time that its route gives, unless the caller gives another', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  try {
    const url = 'https://api.example';
    const answer = async (): Promise<Response> => Response.json({ success: true, import: {}, credential: {} });
    const menu = { pos_uid: 'till', update_mode: 'merge' as const, categories: [], products: [] };
    const usual = new Orderpass({ url, apiKey: 'opk_1', fetch: answer });
    await usual.whoami.get();
    await usual.menu.importMenu(menu);
    await usual.menu.importMenu(menu, { timeoutMs: 7_000 });
    await new Orderpass({ url, apiKey: 'opk_1', fetch: answer, timeoutMs: 9_000 }).menu.importMenu(menu);
    expect(timeout.mock.calls.flat()).toEqual([35_000, 155_000, 7_000, 9_000]);
  } finally {
    timeout.mockRestore();
  }
});

test('A-332 a signal and a time of a call end its wait for a token', async () => {
  const never = (): Promise<Response> => new Promise(() => {});
  const client = new Orderpass({
    url: 'https://api.example',
    clientId: 'opc_1',
    clientSecret: 'ops_1',
    timeoutMs: 60_000,
    fetch: never,
  });
  const aborted = new AbortController();
  const waiting = client.whoami.get({}, { signal: aborted.signal });
  aborted.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'TransportError', message: 'the call was aborted' });
  await expect(client.whoami.get({}, { signal: aborted.signal })).rejects.toThrow('the call was aborted');
  await expect(client.whoami.get({}, { timeoutMs: 20 })).rejects.toThrow('no token within 20 ms');
});

test('A-332 after a 401, a token that cannot be renewed ends the call', async () => {
  let fetched = 0;
  const answers = async (url: string): Promise<Response> => {
    if (!url.endsWith('/api/oauth/token')) return Response.json({ code: 'INVALID_AUTH' }, { status: 401 });
    fetched += 1;
    return fetched === 1
      ? Response.json({ access_token: 't1', expires_in: 600 })
      : Response.json({ code: 'OVERLOADED' }, { status: 503 });
  };
  const client = new Orderpass({
    url: 'https://api.example',
    clientId: 'opc_1',
    clientSecret: 'ops_1',
    retries: 1,
    backoffMs: 1,
    fetch: answers as typeof fetch,
  });
  await expect(client.whoami.get()).rejects.toMatchObject({ status: 503 });
  expect(fetched).toBe(3);
});

test('A-332 an idempotency key that no header can have is refused before the request is sent', async () => {
  const sent: (string | null)[] = [];
  const answer = async (_url: string, { headers }: RequestInit): Promise<Response> => {
    sent.push(new Headers(headers).get('idempotency-key'));
    return Response.json({ success: true, customer: {} });
  };
  const client = new Orderpass({ url: 'https://api.example', apiKey: 'opk_1', fetch: answer as typeof fetch });
  const create = (idempotencyKey: string | null) =>
    client.customers.create({ email: 'a@example.com' }, { idempotencyKey });
  for (const key of ['', 'a b', 'a\n', 'schlüssel', 'a'.repeat(256)])
    await expect(create(key)).rejects.toThrow('idempotencyKey must be 1 to 255 visible ASCII characters');
  await create('a'.repeat(255));
  await create(null);
  expect(sent).toEqual(['a'.repeat(255), null]);
});

test('A-332 a list whose cursor stays the same ends, and a member without a value replaces no default', async () => {
  const asked: string[] = [];
  const answer = async (url: string): Promise<Response> => {
    asked.push(new URL(url).search);
    return Response.json({ success: true, orders: [], more: true, next_cursor: 'c' });
  };
  const options = { url: 'https://api.example', apiKey: 'opk_1', restuid: 'rst_1', fetch: answer as typeof fetch };
  const client = new Orderpass(options);
  for await (const order of client.orders.list({ restuid: undefined } as object)) throw new Error(order.uid);
  expect(asked).toEqual(['?restuid=rst_1', '?restuid=rst_1&cursor=c']);
});

test('A-332 a credential is not sent in the clear to another machine, nor after a redirect', async () => {
  const credentials = { clientId: 'opc_1', clientSecret: 'ops_1' };
  for (const url of [
    'http://api.example',
    'api.example',
    'https://api.example/api',
    'https://u:p@api.example',
    'ftp://api.example',
  ])
    expect(() => new Orderpass({ url, ...credentials }), url).toThrow('url must');
  const { url } = harness.variables();
  harness.proxy.add({ path: '/api/oauth/token', times: 9, status: 302, headers: { location: `${url}/stolen` } });
  harness.proxy.take('/api/oauth/token');
  const client = new Orderpass({ url: String(url), ...credentials, retries: 2 });
  await expect(client.whoami.get()).rejects.toMatchObject({ name: 'ApiError', status: 302 });
  // A redirect is an answer, so the request is not repeated.
  expect(harness.proxy.take('/api/oauth/token')).toHaveLength(1);
  expect(harness.proxy.take('/stolen')).toEqual([]);
});

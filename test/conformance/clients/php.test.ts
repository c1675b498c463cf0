import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkEvents, checkOperations } from './check-examples.ts';
import { checkVerification } from './check-verification.ts';
import { type ClientsHarness, startClientsHarness } from './harness.ts';
import { readmeSample } from './readme-sample.ts';
import { runScenario } from './run-scenario.ts';

const run = promisify(execFile);
const runners = join(import.meta.dirname, 'runners');
const runner = { command: 'php', args: [join(runners, 'php.php')] };

/** PHP with ext-curl, and the packages php-psr-http-client and php-nyholm-psr7 of Debian. */
const isInstalled = (() => {
  try {
    const code = `require ${JSON.stringify(join(runners, 'php-autoload.php'))}; exit(function_exists('curl_init') ? 0 : 1);`;
    execFileSync('php', ['-r', code], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
if (!isInstalled)
  process.stderr.write('php.test.ts: PHP with curl and the packages of PSR is not installed, the client was not run\n');

describe.skipIf(!isInstalled)('the client for PHP', () => {
  let harness: ClientsHarness;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orderpass-client-'));
    mkdirSync(join(folder, 'vendor'));
    writeFileSync(
      join(folder, 'vendor/autoload.php'),
      `<?php require ${JSON.stringify(join(runners, 'php-autoload.php'))};`,
    );
    harness = await startClientsHarness();
  });

  afterAll(async () => {
    await harness?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('A-336 A-662 A-663 A-664 it does every step of the scenario', async () => {
    expect(await runScenario(harness, runner)).toBeGreaterThanOrEqual(40);
  });

  test('A-336 it accepts deliveries with a right signature and time, and no others', () => checkVerification(runner));

  test('A-338 each method takes the documented request and returns the documented answer unchanged', () =>
    checkOperations(harness, runner));

  test('A-339 every documented event is read as its own type', () => checkEvents(runner));

  test('A-339 the sample of its README runs', async () => {
    writeFileSync(join(folder, 'sample.php'), readmeSample('php', 'php', harness.variables()));
    const { stdout } = await run('php', ['sample.php'], { cwd: folder });
    expect(stdout).toMatch(/Margherita \d/);
    expect(stdout).toContain('read:orders');
  });

  /** `what`: a function of php-checks.php. Its answer is JSON. */
  const check = async (what: string, settings: readonly string[] = []): Promise<unknown> => {
    const { url, clientId, clientSecret } = harness.variables();
    const { stdout } = await run('php', [
      ...settings.flatMap((setting) => ['-d', setting]),
      join(runners, 'php-checks.php'),
      what,
      String(url),
      String(clientId),
      String(clientSecret),
      join(folder, 'tokens.json'),
    ]);
    return JSON.parse(stdout);
  };

  test('A-337 processes share one token through a cache, and replace it there after it was refused', async () => {
    harness.proxy.take('/api/oauth/token');
    harness.proxy.take('/api/whoami');
    const fetched = () => harness.proxy.take('/api/oauth/token').length;
    expect([await check('call'), await check('call'), fetched()]).toEqual(['bearer', 'bearer', 1]);
    harness.proxy.add({
      path: '/api/whoami',
      times: 1,
      status: 401,
      body: { error: 'invalid_token', code: 'INVALID_AUTH' },
    });
    expect([await check('call'), await check('call'), fetched()]).toEqual(['bearer', 'bearer', 1]);
    const headers = harness.proxy.take('/api/whoami').map(({ authorization }) => authorization);
    expect(headers).toHaveLength(5);
    expect(headers.slice(0, 3)).toEqual(Array(3).fill(headers[0]));
    expect(headers.slice(3)).toEqual(Array(2).fill(headers[4]));
    expect(headers[4]).not.toBe(headers[0]);
  });

  test('A-337 a process takes the token that another one renewed meanwhile', async () => {
    harness.proxy.take('/api/oauth/token');
    harness.proxy.take('/api/orders/list');
    harness.proxy.add({
      path: '/api/orders/list',
      times: 1,
      status: 401,
      body: { error: 'invalid_token', code: 'INVALID_AUTH' },
    });
    expect(await check('meanwhile')).toBe('bearer');
    expect(harness.proxy.take('/api/oauth/token')).toHaveLength(1);
    const sent = harness.proxy.take('/api/orders/list').map(({ authorization }) => authorization);
    expect([sent.length, new Set(sent).size]).toEqual([2, 2]);
  });

  test('A-337 a token is renewed before its end, and used to its end while the token endpoint is away', async () => {
    harness.proxy.take('/api/oauth/token');
    const away = { path: '/api/oauth/token', times: 1, status: 503, headers: { 'retry-after': '0' } };
    harness.proxy.add(away);
    expect(await check('near')).toBe('bearer');
    expect(harness.proxy.take('/api/oauth/token')).toHaveLength(1);
    expect(await check('near')).toBe('bearer');
    expect(harness.proxy.take('/api/oauth/token')).toHaveLength(1);
    // One attempt, and the next one seconds later, in whichever process.
    harness.proxy.add({ ...away, times: 4 });
    expect(await check('early')).toEqual(['bearer', 'bearer']);
    expect(harness.proxy.take('/api/oauth/token')).toHaveLength(1);
    harness.proxy.reset();
    harness.proxy.add({ path: '/api/oauth/token', times: 1, drop: 'never' });
    expect(await check('near')).toBe('bearer');
    harness.proxy.add(away);
    expect(await check('ended')).toBe('HTTP_503');
    harness.proxy.take('/api/oauth/token');
  });

  test('A-337 a refused secret is not sent again, and a token that still works is used to its end', async () => {
    const fetched = () => harness.proxy.take('/api/oauth/token').length;
    await check('call');
    fetched();
    const body = { error: 'invalid_client', code: 'INVALID_AUTH' };
    harness.proxy.add({ path: '/api/oauth/token', times: 9, status: 401, body });
    expect([await check('near'), await check('near'), fetched()]).toEqual(['bearer', 'bearer', 1]);
    expect([await check('ended'), await check('call'), fetched()]).toEqual(['INVALID_AUTH', 'INVALID_AUTH', 0]);
    harness.proxy.reset();
    rmSync(join(folder, 'tokens.json'));
  });

  test('A-337 an attempt of menu/import has the time that its route gives, unless the caller gives another', async () => {
    expect(await check('times')).toEqual([155_000, 7_000, 9_000]);
  });

  test('A-337 a redirect is not followed, and an address in the clear is refused', async () => {
    const { url } = harness.variables();
    harness.proxy.take('/stolen');
    harness.proxy.add({ path: '/api/whoami', times: 1, status: 302, headers: { location: `${url}/stolen` } });
    expect(await check('moved')).toEqual({ moved: 'HTTP_302', addresses: 0 });
    expect(harness.proxy.take('/stolen')).toEqual([]);
  });

  test('A-338 A-339 digits are kept under any setting, members are left out or null, and a later event is unknown', async () => {
    const expected = {
      hundredths: [2662, 8, -105, 0, 1_000_000_000],
      texts: ['26.62', '0.08', '-1.05', '0', '10000000'],
      sent: '{"ext_id":"P","category_ext_id":"C","name":"N","price":8.1,"prices_table":{"0":0.29,"1":9.95}}',
      read: ['8.1', '43.769562', '0.07', '8994899004.97', '199799998002.37', '0.000001'],
      refused: 6,
      change: '{"uid":"cus_1","email":"a@example.com","last_name":null}',
      emptyList: '{"ext_id":"P","category_ext_id":"C","name":"N","price":0,"options":[]}',
      unknown: 'order.invented evt_9',
      removed: 'RemovedCustomer cus_1',
      wrongAnswer: 'Order.uid is not a string',
    };
    expect(await check('values')).toEqual(expected);
    expect(await check('values', ['serialize_precision=17', 'precision=5'])).toEqual(expected);
  });

  test('A-337 an idempotency key that no header can have is refused before the request is sent', async () => {
    harness.proxy.take('/api/customer/create');
    expect(await check('keys')).toEqual([1, 1, 1, 1, 1]);
    expect(harness.proxy.take('/api/customer/create')).toEqual([]);
  });
});

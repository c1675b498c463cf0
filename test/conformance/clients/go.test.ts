import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../support/program.ts';
import { checkEvents, checkOperations } from './check-examples.ts';
import { checkVerification } from './check-verification.ts';
import { type ClientsHarness, startClientsHarness } from './harness.ts';
import { readmeSample } from './readme-sample.ts';
import { runScenario } from './run-scenario.ts';

const source = join(root, 'src/clients/go');
/** Nothing is downloaded: the client needs the standard library only. */
const env = { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' };
const run = (command: string, args: readonly string[], cwd: string) => promisify(execFile)(command, args, { cwd, env });

/** Go 1.24 or newer: iterators, and members that are left out when they are zero. */
const isInstalled = (() => {
  try {
    const [, minor] = /go1\.(\d+)/.exec(execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' })) ?? [];
    return Number(minor) >= 24;
  } catch {
    return false;
  }
})();
if (!isInstalled) process.stderr.write('go.test.ts: Go 1.24 or newer is not installed, the client was not run\n');

describe.skipIf(!isInstalled)('the client for Go', () => {
  let harness: ClientsHarness;
  let folder: string;
  const runner = () => ({ command: join(folder, 'runner'), args: [] });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orderpass-client-'));
    await run('go', ['build', '-o', join(folder, 'runner'), '.'], join(import.meta.dirname, 'runners/go'));
    harness = await startClientsHarness();
  });

  afterAll(async () => {
    await harness?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A program beside the client, as a user writes it. */
  const program = (name: string, text: string): string => {
    const place = join(folder, name);
    mkdirSync(place);
    const required = 'require github.com/orderpass/orderpass-go v0.0.0';
    const replaced = `replace github.com/orderpass/orderpass-go => ${source}`;
    writeFileSync(join(place, 'go.mod'), `module ${name}\n\ngo 1.24\n\n${required}\n\n${replaced}\n`);
    writeFileSync(join(place, 'main.go'), text);
    return place;
  };

  test('A-336 A-662 A-663 A-664 it does every step of the scenario', async () => {
    expect(await runScenario(harness, runner())).toBeGreaterThanOrEqual(40);
  });

  test('A-336 it accepts deliveries with a right signature and time, and no others', () => checkVerification(runner()));

  test('A-338 each method takes the documented request and returns the documented answer unchanged', () =>
    checkOperations(harness, runner()));

  test('A-339 every documented event is read as its own type', () => checkEvents(runner()));

  test('A-339 the sample of its README runs, gofmt changes nothing and go vet finds nothing', async () => {
    const { stdout } = await run('go', ['run', '.'], program('sample', readmeSample('go', 'go', harness.variables())));
    expect(stdout).toMatch(/Margherita \d/);
    expect(stdout).toContain('read:orders');
    expect(await run('gofmt', ['-l', '.'], source)).toMatchObject({ stdout: '' });
    await run('go', ['vet', './...'], source);
  });

  test('A-339 an order without members does not compile as an argument that is left out', async () => {
    const text = `package main

import (
	"context"

	"github.com/orderpass/orderpass-go"
)

func main() {
	client, _ := orderpass.New(orderpass.Config{URL: "https://api.example", APIKey: "opk_"})
	client.Orders.Create(context.Background())
}
`;
    await expect(run('go', ['build', '.'], program('wrong', text))).rejects.toMatchObject({
      stderr: expect.stringContaining('not enough arguments in call to client.Orders.Create'),
    });
  });

  test('A-337 no call waits for an early renewal, a refused secret is not sent again, and times are those of the operation', async () => {
    const overlay = join(folder, 'overlay.json');
    const file = join(import.meta.dirname, 'runners/go-renewal/renewal_test.go');
    writeFileSync(overlay, JSON.stringify({ Replace: { [join(source, 'renewal_test.go')]: file } }));
    await run('go', ['test', '-count=1', '-overlay', overlay, '.'], source);
  });

  test('A-337 A-338 goroutines share one request for a token, a redirect is not followed, and digits are kept', async () => {
    const { url, clientId, clientSecret } = harness.variables();
    harness.proxy.take('/api/oauth/token');
    harness.proxy.take('/stolen');
    harness.proxy.add({
      path: '/api/whoami/denials/req_moved',
      times: 1,
      status: 302,
      headers: { location: `${url}/stolen` },
    });
    const place = join(import.meta.dirname, 'runners/go');
    const { stdout } = await run('go', ['run', './checks', String(url), String(clientId), String(clientSecret)], place);
    expect(JSON.parse(stdout)).toEqual({
      succeeded: 40,
      firstCall: 'transport',
      moved: 'HTTP_302',
      addresses: 0,
      hundredths: [2662, 8, -105, 0, 1_000_000_000],
      texts: ['26.62', '0.08', '-1.05', '0.00', '10000000.00'],
      price: '{"price":8.10}',
      refusedDecimals: 5,
      change: '{"uid":"cus_1","email":"a@example.com","last_name":null}',
      emptyList: '{"ext_id":"","options":[]}',
      unknown: 'order.invented evt_9',
      getters: ['', 'Firenze'],
    });
    expect(harness.proxy.take('/api/oauth/token')).toHaveLength(1);
    expect(harness.proxy.take('/stolen')).toEqual([]);
  });
});

import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../support/program.ts';
import { checkEvents, checkOperations } from './check-examples.ts';
import { checkVerification } from './check-verification.ts';
import { type ClientsHarness, startClientsHarness } from './harness.ts';
import { readmeSample } from './readme-sample.ts';
import { runScenario } from './run-scenario.ts';

const run = promisify(execFile);
const source = join(root, 'src/clients/python/src');
const env = { PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: '1' };

/** The first interpreter that has httpx: Debian's, or that of the path. */
const python = ['/usr/bin/python3', 'python3'].find((command) => {
  try {
    execFileSync(command, ['-c', 'import httpx'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});
if (python === undefined) process.stderr.write('python.test.ts: no python3 with httpx, the client was not run\n');

/** The first of these programs that is installed: Debian's, or another one of the path. */
const installed = (...commands: string[]): string | undefined =>
  commands.find((command) => {
    try {
      execFileSync(command, ['--version'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
const mypy = installed('/usr/bin/mypy', 'mypy');
const pyright = installed('pyright');

const modes = ['sync', 'async'] as const;
const runnerOf = (mode: (typeof modes)[number]) => ({
  command: String(python),
  args: [join(import.meta.dirname, 'runners/python.py'), mode],
  env,
});

describe.skipIf(python === undefined)('the client for Python', () => {
  let harness: ClientsHarness;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orderpass-client-'));
    harness = await startClientsHarness();
  });

  afterAll(async () => {
    await harness?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(modes)('A-331 A-662 A-663 A-664 it does every step of the scenario (%s)', async (mode) => {
    expect(await runScenario(harness, runnerOf(mode))).toBeGreaterThanOrEqual(40);
  });

  test('A-333 it accepts deliveries with a right signature and time, and no others', () =>
    checkVerification(runnerOf('sync')));

  test('A-339 every documented event is read as its own type', () => checkEvents(runnerOf('sync')));

  test.each(modes)(
    'A-338 each method takes the documented request and returns the documented answer unchanged (%s)',
    (mode) => checkOperations(harness, runnerOf(mode)),
  );

  test('A-334 the sample of its README runs', async () => {
    writeFileSync(join(folder, 'sample.py'), readmeSample('python', 'python', harness.variables()));
    const { stdout } = await run(String(python), ['sample.py'], { cwd: folder, env: { ...process.env, ...env } });
    expect(stdout).toMatch(/Margherita \d/);
    expect(stdout).toContain('read:orders');
  });

  test.skipIf(mypy === undefined)(
    'A-334 mypy finds no error in it, nor in code that narrows the union of events',
    async () => {
      const use = join(folder, 'use.py');
      writeFileSync(
        use,
        [
          'from orderpass import Orderpass',
          'from orderpass.types import WebhookEvent',
          'def entity(event: WebhookEvent) -> str:',
          '    if event["event"] == "order.new":',
          '        return event["order"]["uid"]',
          '    return event["id"]',
          'def total(client: Orderpass) -> float:',
          '    return client.orders.get(uid="ord_1")["total"]',
        ].join('\n'),
      );
      const args = [
        '--strict',
        '--python-version',
        '3.9',
        '--python-executable',
        String(python),
        '--cache-dir',
        join(folder, 'mypy'),
      ];
      const check = (...files: string[]) =>
        run(String(mypy), [...args, ...files], { cwd: folder, env: { ...process.env, MYPYPATH: source } });
      await check(join(source, 'orderpass'), use);
      writeFileSync(use, 'from orderpass import Orderpass\nOrderpass("https://api.example").orders.create()\n');
      await expect(check(use)).rejects.toMatchObject({ stdout: expect.stringContaining('Missing named argument') });
    },
  );

  test.skipIf(pyright === undefined)('A-334 pyright finds no error in it in strict mode', async () => {
    const settings = {
      include: [relative(folder, join(source, 'orderpass'))],
      pythonVersion: '3.9',
      typeCheckingMode: 'strict',
    };
    const file = join(folder, 'pyrightconfig.json');
    writeFileSync(file, JSON.stringify(settings));
    await run(String(pyright), ['--project', file, '--pythonpath', String(python)]);
  });

  test.each(modes)(
    'A-332 a token is renewed before its end, and used to its end while the token endpoint is away (%s)',
    async (mode) => {
      const { stdout } = await run(String(python), [join(import.meta.dirname, 'runners/python-renewal.py'), mode], {
        env: { ...process.env, ...env },
      });
      expect(JSON.parse(stdout)).toEqual({
        first: ['Bearer t1', 'Bearer t1', 1],
        away: ['Bearer t1', 'Bearer t1', 'Bearer t1', 2],
        paused: ['Bearer t1', 2],
        back: 'Bearer t3',
        bounded: 'no token within 0.05 s',
        ended: Array(4).fill('HTTP_503'),
        isShared: true,
        // The last calls share a failure that is held, and each has an error of its own.
        refused: ['INVALID_AUTH', 'INVALID_AUTH', 'INVALID_AUTH', 1, 0, true],
        still: [true, true, true, 1],
      });
    },
  );

  test('A-332 A-334 operations have their own time, no redirect is followed, and an error can be copied', async () => {
    const { stdout } = await run(String(python), [join(import.meta.dirname, 'runners/python-checks.py')], {
      env: { ...process.env, ...env },
    });
    expect(JSON.parse(stdout)).toEqual({
      times: [35, 155, 7, 9],
      connect: 10,
      redirected: ['HTTP_307', 'HTTP_307'],
      hosts: ['api.example'],
      copied: ['NOT_FOUND', 404, 'req_1', 'NOT_FOUND (404): no'],
      keys: [255],
      endless: [0, 2],
      lasting: ['TransportError', 1101],
    });
  });

  test('A-332 a credential is not sent in the clear to another machine', async () => {
    const program = `
import sys
from orderpass import Orderpass, OrderpassError
for url in ["http://api.example", "api.example", "https://api.example/api", "https://u:p@api.example", "ftp://api.example"]:
    try:
        Orderpass(url, client_id="opc_1", client_secret="ops_1")
        sys.exit(url)
    except OrderpassError:
        pass
`;
    await run(String(python), ['-c', program], { env: { ...process.env, ...env } });
  });
});

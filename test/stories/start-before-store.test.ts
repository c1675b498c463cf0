import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openStoreLine, type StoreLine } from '../gateway/harness/store-line.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { root, runCommand } from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let line: StoreLine;
let child: ChildProcess | undefined;
let env: Record<string, string>;

beforeEach(async () => {
  database = await createTestDatabase();
  line = await openStoreLine(database.url);
  await line.cut();
  env = {
    DATABASE_URL: line.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'worker',
  };
});

afterEach(async () => {
  child?.kill('SIGKILL');
  await line?.close();
  await database?.drop();
});

type Starting = { said: () => string; gone: Promise<unknown[]> };

const start = (more: Record<string, string> = {}): Starting => {
  let said = '';
  child = spawn(process.execPath, [join(root, 'src/cli/launch.mjs'), 'start'], {
    env: { PATH: process.env.PATH ?? '', ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  return { said: () => said, gone: once(child, 'exit') };
};

const waiting = 'the database takes no connections yet';

test('a process that starts before its database logs it once, waits, and then runs', async () => {
  // Takes the place of the database, and counts who asks in vain.
  let asked = 0;
  const refusing = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => refusing.listen(Number(new URL(line.url).port), '127.0.0.1', resolve));
  const { said, gone } = start();
  await until(() => asked >= 3);
  await new Promise((resolve) => refusing.close(resolve));
  await line.restore();
  await until(() => said().includes('Orderpass runs as worker'));
  expect(said().split(waiting)).toHaveLength(2);
  child?.kill('SIGINT');
  expect(await gone).toEqual([0, null]);
});

test('F-65 a SIGHUP during the start is carried out when the program runs', async () => {
  const { said } = start({ ORDERPASS_ROLE: 'gateway', ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9', PORT: '0' });
  await until(() => said().includes(waiting));
  child?.kill('SIGHUP');
  await until(() => said().includes('reads its files again when it runs'));
  expect(said()).not.toContain('SIGHUP is ignored');
  await line.restore();
  await until(() => said().includes('SIGHUP: the program reads the route table again'));
});

test('a process that gets a stop signal while it waits for its database ends at once and cleanly', async () => {
  const { said, gone } = start();
  await until(() => said().includes(waiting));
  child?.kill('SIGTERM');
  expect(await gone).toEqual([0, null]);
  expect(said()).not.toContain('Orderpass runs');
});

test('a start does not wait for a database that does not exist, and a command never waits', async () => {
  await line.restore();
  const { said, gone } = start({ DATABASE_URL: line.url.replace(/\/[^/]*$/, '/nowhere') });
  expect(await gone).toEqual([1, null]);
  expect(said()).toMatch(/nowhere/);
  expect(said()).not.toContain(waiting);
  await line.cut();
  const command = await runCommand(['restaurant', 'create', '--name', 'Osteria'], env);
  expect(command.code).toBe(1);
  expect(command.stderr).not.toContain(waiting);
});

/** In the place of systemd: prints each message that comes to the socket. Node has no sockets of this kind. */
const listenAsSystemd = async (): Promise<{ socket: string; messages: () => string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-notify-'));
  const socket = join(folder, 'notify');
  const script = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode(), flush=True)`;
  const listener = spawn('python3', ['-c', script, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    listener.kill();
    rmSync(folder, { recursive: true });
  });
  let messages = '';
  listener.stdout.on('data', (chunk: Buffer) => {
    messages += chunk.toString();
  });
  await until(() => messages.includes('bound'));
  return { socket, messages: () => messages };
};

const hasSystemdNotify = spawnSync('systemd-notify', ['--version']).status === 0;

test.runIf(hasSystemdNotify).each([1, 2])(
  'A-272 systemd learns once that a start has finished, and not while it waits for its database (processes: %i)',
  async (processes) => {
    const systemd = await listenAsSystemd();
    const { said, gone } = start({
      ORDERPASS_ROLE: 'gateway',
      ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
      ORDERPASS_PROCESSES: String(processes),
      PORT: String(await freePort()),
      NOTIFY_SOCKET: systemd.socket,
    });
    await until(() => said().includes(waiting));
    expect(systemd.messages()).not.toContain('READY=1');
    await line.restore();
    await until(() => systemd.messages().includes('READY=1'));
    expect(said()).toContain('Orderpass listens on');
    child?.kill('SIGINT');
    await gone;
    expect(systemd.messages().split('READY=1')).toHaveLength(2);
  },
);

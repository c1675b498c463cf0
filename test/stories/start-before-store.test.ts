import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStoreLine, type StoreLine } from '../gateway/harness/store-line.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
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

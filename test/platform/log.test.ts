import { type ChildProcess, spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { createTestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

type Line = Record<string, unknown> & { err?: { stack?: string } };

const openLog = (countEveryMs: number) => {
  const lines: Line[] = [];
  const destination = { write: (text: string): void => void lines.push(JSON.parse(text) as Line) };
  return { lines, log: createLog({ level: 'info', role: 'gateway', countEveryMs, destination }) };
};

const refused = (port: number): Error =>
  Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' });

test('F-50 a line says its level as a word, its time in ISO 8601, and role, process, host and version', () => {
  const { lines, log } = openLog(60_000);
  log.warn({ sink: 'file' }, 'something is to be looked at');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: 'warn', role: 'gateway', pid: process.pid, host: hostname(), sink: 'file' });
  expect(String(lines[0]?.version)).toMatch(/^\d+\.\d+\.\d+$/);
  expect(new Date(String(lines[0]?.time)).toISOString()).toBe(lines[0]?.time);
});

test('F-50 an outage writes its first error at once, then a count, and the next outage is logged at once again', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { lines, log } = openLog(60_000);
  for (let i = 0; i < 640; i += 1) log.error({ err: refused(4000 + i), request_id: `req_${i}` }, 'request failed');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: 'error', msg: 'request failed', request_id: 'req_0' });
  expect(lines[0]?.err?.stack).toContain('ECONNREFUSED');
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatchObject({ level: 'error', msg: 'request failed (repeated)', count: 639 });
  expect(lines[1]?.err).toBeUndefined();
  // A period without the error ends the outage.
  vi.advanceTimersByTime(60_000);
  log.error({ err: refused(2) }, 'request failed');
  expect(lines).toHaveLength(3);
  expect(lines[2]?.err?.stack).toContain('ECONNREFUSED');
});

test('F-50 errors of another kind, of another service and lines without an error are never counted away', () => {
  const { lines, log } = openLog(60_000);
  for (const service of ['audit', 'hours']) log.error({ service, err: refused(1) }, 'service failed');
  log.error({ service: 'audit', err: new Error('another reason') }, 'service failed');
  for (const endpoint of ['whe_1', 'whe_2']) log.warn({ endpoint }, 'an endpoint was disabled');
  log.info({ err: refused(1) }, 'for information');
  log.info({ err: refused(1) }, 'for information');
  expect(lines).toHaveLength(7);
});

test('F-50 a hostile variety of messages is bounded: beyond 500 kinds one message is one kind', () => {
  const { lines, log } = openLog(60_000);
  const word = (i: number): string => [...String(i)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  for (let i = 0; i < 5_000; i += 1) log.error({ err: new Error(`bad thing ${word(i)}`) }, 'request failed');
  expect(lines.length).toBeLessThanOrEqual(501);
});

/** A process that logs 20,000 lines of 500 bytes, turns its loop, and then ends or waits for its input. */
const loggingScript = `
  import { createLog } from '#src/platform/log.ts';
  import { droppedLogLines } from '#src/platform/log/standard-error.ts';
  const log = createLog({ level: 'info', role: 'gateway' });
  for (let n = 0; n < 20_000; n += 1) log.info({ n, filler: 'x'.repeat(400) }, 'line');
  setTimeout(() => process.stdout.write('turned ' + droppedLogLines() + '\\n'), 200);
  process.stdin.once('data', () => {
    log.info('last line');
    process.exit(0);
  });
`;

const startLogging = (): { child: ChildProcess; said: () => string; errors: () => string } => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', loggingScript], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: 'pipe',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stderr.pause();
  return { child, said: () => said, errors: () => errors };
};

const hasEnded = (child: ChildProcess) => (): boolean => child.exitCode !== null || child.signalCode !== null;

test('A-540 lines wait for a reader that pauses, those beyond 4 MiB are counted, and each that arrives is whole', async () => {
  const { child, said, errors } = startLogging();
  await until(() => said().includes('turned'));
  const dropped = Number(/turned (\d+)/.exec(said())?.[1]);
  expect(dropped).toBeGreaterThan(5_000);
  expect(dropped).toBeLessThan(19_000);
  child.stderr?.resume();
  await until(() => errors().includes(`"n":${20_000 - dropped - 1},`));
  child.stdin?.write('end');
  await until(hasEnded(child));
  await until(() => errors().endsWith('\n') && errors().includes('last line'));
  const numbers = errors()
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { n?: number }).n);
  expect(numbers).toEqual([...Array(20_000 - dropped).keys(), undefined]);
});

test('A-540 a process whose log is not read ends all the same', async () => {
  const { child, said } = startLogging();
  await until(() => said().includes('turned'));
  child.stdin?.write('end');
  await until(hasEnded(child));
  expect(child.exitCode).toBe(0);
});

test('A-540 a program whose log is not read serves every request, shows how many lines it dropped, and stops on SIGTERM', async () => {
  const database = await createTestDatabase();
  const internal = await freePort();
  const program = await startProgram({
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ORDERPASS_LOG_LEVEL: 'info',
    ORDERPASS_INTERNAL_PORT: String(internal),
  });
  onTestFinished(async () => {
    await program.kill();
    await database.drop();
  });
  program.child.stderr?.pause();
  // Many times what a pipe and the buffer of its reader hold.
  for (let round = 0; round < 20; round += 1) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${program.url}/api/nowhere`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  }
  const metrics = await (await fetch(`http://127.0.0.1:${internal}/metrics`)).text();
  expect(metrics).toMatch(/^orderpass_log_lines_dropped_total 0$/m);
  program.child.kill('SIGTERM');
  await until(hasEnded(program.child));
  expect(program.child.exitCode).toBe(0);
});

import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuditSinks } from '#src/gateway/audit/sinks/feed-sinks.ts';
import { createFileSink, createStreamSink } from '#src/gateway/audit/sinks/sinks.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { until } from '../../support/until.ts';
import { type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let folder: string;

beforeAll(async () => {
  harness = await openHarness();
  folder = mkdtempSync(join(tmpdir(), 'orderpass-sinks-'));
});

afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

const never = new AbortController().signal;

type Logged = { msg: string; chain?: number; from?: number; to?: number };

/** Runs the file sink alone. `close` ends it and returns its log. */
const startSink = (file: string) => {
  const logged: Logged[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as Logged) });
  const settings = { audit_days: 365, audit_stdout: 'off' as const, audit_file: file };
  const services = createAuditSinks({ db: harness.database.db, box: harness.box, log, holder: 'test' }, settings);
  const ended = new AbortController();
  const running = supervise(services, ended.signal, log);
  const gaps = (): Logged[] => logged.filter(({ msg }) => msg.includes('dropped before the sink'));
  const close = async (): Promise<Logged[]> => {
    ended.abort();
    await running;
    return gaps();
  };
  return { gaps, close };
};

const linesOf = (file: string): Record<string, unknown>[] => {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};

const has = (file: string, id: string): boolean => linesOf(file).some((event) => event['event.id'] === id);

const lastChange = async (): Promise<string> => {
  await harness.createTenant();
  const { rows } = await harness.database.pool.query(
    'select max(seq) as seq from gateway.audit_events where chain = 0',
  );
  return `0-${String(rows[0].seq)}`;
};

/** A gateway writes some events and ends; then the retention drops them all. */
const droppedChain = async (): Promise<{ chain: number; from: number; to: number }> => {
  const door = await harness.openDoor();
  for (let i = 0; i < 3; i += 1) await sendRequest(door.url, 'GET', read);
  await door.close();
  const { pool } = harness.database;
  const { rows } = await pool.query('select chain, seq from gateway.audit_chains order by chain desc limit 1');
  const [chain, seq] = [Number(rows[0].chain), Number(rows[0].seq)];
  await pool.query('delete from gateway.audit_events where chain = $1', [chain]);
  await pool.query('update gateway.audit_chains set anchor_seq = seq where chain = $1', [chain]);
  return { chain, from: 1, to: seq };
};

test('a chain that was dropped while a sink was down is logged as a gap for it, and not for a new sink', async () => {
  await droppedChain();
  const file = join(folder, 'gaps.jsonl');
  const first = startSink(file);
  const before = await lastChange();
  await until(() => has(file, before));
  // The new sink did not exist when the events were dropped.
  expect(await first.close()).toEqual([]);
  const gone = await droppedChain();
  expect(gone.to).toBeGreaterThanOrEqual(3);
  const second = startSink(file);
  const after = await lastChange();
  await until(() => has(file, after));
  // The other chain may come after the one that has this event.
  await until(() => second.gaps().length > 0);
  expect(await second.close()).toMatchObject([gone]);
  const third = startSink(file);
  const last = await lastChange();
  await until(() => has(file, last));
  expect(await third.close()).toEqual([]);
});

const line = (id: string): string =>
  `${JSON.stringify({ '@timestamp': '2026-05-01T10:00:00.000Z', 'event.id': id })}\n`;

test('an incomplete line that a crash left is cut off before the next lines; other text at the end of the file stays', async () => {
  const file = join(folder, 'torn.jsonl');
  const sink = createFileSink(file);
  const whole = line('0-1');
  const contents = (): string => readFileSync(file, 'utf8');
  await sink.send(whole, never);
  for (let cut = 1; cut < line('0-2').length - 1; cut += 1) {
    writeFileSync(file, whole + line('0-2').slice(0, cut));
    await sink.send(line('0-2'), never);
    expect(contents()).toBe(whole + line('0-2'));
  }
  // The incomplete line is the only content of the file.
  writeFileSync(file, line('0-2').slice(0, 20));
  await sink.send(line('0-2'), never);
  expect(contents()).toBe(line('0-2'));
  // Only the line break is missing.
  writeFileSync(file, line('0-1').trim());
  await sink.send(line('0-2'), never);
  expect(contents()).toBe(line('0-1') + line('0-2'));
  writeFileSync(file, whole);
  appendFileSync(file, 'another program wrote here');
  await sink.send(line('0-2'), never);
  expect(contents()).toBe(`${whole}another program wrote here\n${line('0-2')}`);
});

test('a sink waits for a reader of standard output that does not read, and holds one batch in memory at most', async () => {
  const reader = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  let read = 0;
  reader.stdout.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  reader.kill('SIGSTOP');
  const sink = createStreamSink(reader.stdin);
  // More bytes than a pipe holds.
  const batch = line('0-1').repeat(40_000);
  let taken = false;
  const sending = sink.send(batch, never).then(() => {
    taken = true;
  });
  await until(() => reader.stdin.writableLength > 0);
  // Give the sink time; it must not finish the batch meanwhile.
  for (let i = 0; i < 5; i += 1) await harness.database.pool.query('select pg_sleep(0.05)');
  expect([taken, reader.stdin.writableNeedDrain]).toEqual([false, true]);
  reader.kill('SIGCONT');
  await sending;
  expect(reader.stdin.writableLength).toBe(0);
  // Stopping the gateway does not wait for the reader.
  reader.kill('SIGSTOP');
  const stopping = new AbortController();
  const left = sink.send(batch, stopping.signal);
  stopping.abort(new Error('stopping'));
  await expect(left).rejects.toThrow('stopping');
  reader.kill('SIGCONT');
  reader.stdin.end();
  await until(() => read === 2 * batch.length);
  await until(() => reader.exitCode !== null);
  await expect(sink.send(batch, never)).rejects.toThrow();
});

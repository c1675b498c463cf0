import { hostname } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '#src/platform/log.ts';

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

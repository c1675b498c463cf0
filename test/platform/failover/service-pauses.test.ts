/** How long a service pauses after failures, with the clock of the test. */
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { supervise } from '#src/platform/supervisor.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('A-603 a service that fails again and again pauses longer each time, and for a second at most', async () => {
  const stop = new AbortController();
  const runs: number[] = [];
  const service = {
    name: 'test',
    run: async () => {
      runs.push(performance.now());
      throw new Error('the store is away');
    },
  };
  const over = supervise([service], stop.signal, pino({ level: 'silent' }));
  await vi.advanceTimersByTimeAsync(60_000);
  stop.abort();
  await over;
  const pauses = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
  expect(pauses.slice(0, 4)).toEqual([100, 200, 400, 800]);
  expect(new Set(pauses.slice(4))).toEqual(new Set([1_000]));
});

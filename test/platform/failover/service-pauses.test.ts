/** What a service does after failures, with the clock of the test. */
import { getEventListeners } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pause, supervise } from '#src/platform/supervisor.ts';
import { createWake } from '#src/platform/wake.ts';

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

test('A-604 nothing that a failed run has begun stays: no listener on the end of the program, no timer, no loop', async () => {
  const stop = new AbortController();
  let runs = 0;
  let loops = 0;
  const loopBeside = async (signal: AbortSignal): Promise<void> => {
    loops += 1;
    while (!signal.aborted) await pause(5_000, signal);
    loops -= 1;
  };
  const service = {
    name: 'test',
    run: async (signal: AbortSignal) => {
      runs += 1;
      void createWake(signal).wait(5_000);
      void loopBeside(signal);
      await pause(10, signal);
      throw new Error('the store is away');
    },
  };
  const over = supervise([service], stop.signal, pino({ level: 'silent' }));
  await vi.advanceTimersByTimeAsync(600_000);
  expect(runs).toBeGreaterThan(500);
  expect(loops).toBeLessThanOrEqual(1);
  expect(getEventListeners(stop.signal, 'abort').length).toBeLessThanOrEqual(1);
  expect(vi.getTimerCount()).toBeLessThanOrEqual(3);
  stop.abort();
  await over;
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

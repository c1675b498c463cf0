import { expect, test } from 'vitest';
import { nextCheckMs } from '#src/gateway/audit/verify/guard.ts';

test('up to ten processes check the heads of the audit every three seconds, and 200 together at most twice as often as ten', () => {
  for (const processes of [1, 2, 10]) expect(nextCheckMs(processes)).toBe(3_000);
  const readsPerSecond = (processes: number, random: number): number =>
    (1_000 * processes) / nextCheckMs(processes, () => random);
  expect(readsPerSecond(20, 0.5)).toBeLessThan(1.1 * readsPerSecond(10, 0.5));
  expect(readsPerSecond(200, 0.5)).toBeLessThan(2.1 * readsPerSecond(10, 0.5));
  // Two processes that started together do not read together for ever, and none waits for minutes.
  expect(nextCheckMs(200, () => 0)).toBeLessThan(nextCheckMs(200, () => 0.99));
  expect(nextCheckMs(200, () => 0.99)).toBeLessThan(38_000);
});

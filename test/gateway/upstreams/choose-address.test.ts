/** The choice of an address, and the budget of repeats: pure functions. */
import { expect, test } from 'vitest';
import { createHealth } from '#src/gateway/upstream/addresses/address-health.ts';
import { type Choosable, chooseAddress } from '#src/gateway/upstream/addresses/choose-address.ts';
import { countRequest, createRetryBudget, takeRepeat } from '#src/gateway/upstream/addresses/retry-budget.ts';

type Named = Choosable & { name: string };

const addressOf = (name: string, weight = 1): Named => ({
  name,
  weight,
  health: createHealth(),
  inFlight: 0,
  credit: 0,
});

const countsOf = (addresses: readonly Named[], times: number): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i += 1) {
    const { name } = chooseAddress(addresses, undefined) ?? { name: 'none' };
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

test('A-198 idle addresses get requests by their weights, none in bursts', () => {
  const addresses = [addressOf('a'), addressOf('b', 2), addressOf('c', 5)];
  expect(countsOf(addresses, 800)).toEqual({ a: 100, b: 200, c: 500 });
  const next = Array.from({ length: 8 }, () => chooseAddress(addresses, undefined)?.name);
  expect(next.filter((name) => name === 'c').length).toBe(5);
  expect(next.join('')).not.toContain('cccc');
});

test('A-198 busy addresses get requests by what they have in flight for their weight', () => {
  const [a, b] = [addressOf('a'), addressOf('b', 4)];
  for (let i = 0; i < 100; i += 1) {
    const chosen = chooseAddress([a, b], undefined);
    if (chosen !== undefined) chosen.inFlight += 1;
  }
  expect([a.inFlight, b.inFlight]).toEqual([20, 80]);
});

test('A-201 an address that is out is chosen only when every other is out or was tried', () => {
  const [a, b, c] = [addressOf('a'), addressOf('b'), addressOf('c')];
  const all = [a, b, c];
  a.health.paused = true;
  b.health.down = true;
  expect(countsOf(all, 10)).toEqual({ c: 10 });
  const second = chooseAddress(all, [c]);
  expect(['a', 'b']).toContain(second?.name);
  expect(chooseAddress(all, all)).toBeUndefined();
  c.health.down = true;
  expect(Object.keys(countsOf(all, 30)).sort()).toEqual(['a', 'b', 'c']);
  expect(chooseAddress([a], undefined)).toBe(a);
  expect(chooseAddress([a], [a])).toBeUndefined();
});

test('A-203 repeats are a share of the requests of the last seconds, and a few each second whatever the share', () => {
  const budget = createRetryBudget({ budgetPercent: 20, minPerSecond: 5 }, 0);
  const taken = (times: number, nowMs: number): number =>
    Array.from({ length: times }, () => takeRepeat(budget, nowMs)).filter(Boolean).length;
  expect(taken(20, 0)).toBe(5);
  for (let i = 0; i < 100; i += 1) countRequest(budget, 100);
  expect(taken(100, 100)).toBe(20);
  expect(taken(100, 1_100)).toBe(5);
  expect(taken(100, 61_000)).toBe(5);
  const none = createRetryBudget({ budgetPercent: 0, minPerSecond: 0 }, 0);
  countRequest(none, 0);
  expect(takeRepeat(none, 100_000)).toBe(false);
});

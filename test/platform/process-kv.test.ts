/** Counters that several processes of one program share by messages; here the messages stay in one process. */
import { afterEach, expect, test } from 'vitest';
import { createProcessKv, createSharedCounts, type Kv, type KvAsk } from '#src/platform/kv/index.ts';
import { until } from '../support/until.ts';

const opened: Kv[] = [];
afterEach(async () => {
  for (const kv of opened.splice(0)) await kv.close();
});

/** Two processes and what counts for both. `nowMs` is its time; `isAway`: it answers nothing. */
const openPair = (waitMsMax = 500) => {
  const state = { nowMs: 0, isAway: false };
  const counts = createSharedCounts(() => state.nowMs);
  const open = () => {
    const ask = (asks: readonly KvAsk[]): void => {
      if (!state.isAway) setImmediate(() => kv.receiveAnswers(asks.map(counts)));
    };
    const publish = (channel: string, message: string): void => {
      for (const one of pair) one.receiveMessage(channel, message);
    };
    const kv = createProcessKv({ sharers: 2, ask, publish, waitMsMax });
    opened.push(kv);
    return kv;
  };
  const pair = [open(), open()] as const;
  return { pair, state };
};

test('units of all processes are counted together, up to the quota and in one window', async () => {
  const { pair, state } = openPair();
  const [one, other] = pair.map((kv) => kv.windows({ name: 'minute', quota: 10, windowSeconds: 60 }));
  expect(await one?.take('till', 6)).toEqual({ used: 6, msLeft: 60_000, taken: true });
  state.nowMs = 20_000;
  expect(await other?.take('till', 5)).toEqual({ used: 6, msLeft: 40_000, taken: false });
  expect(await other?.take('kiosk', 5)).toMatchObject({ used: 5, taken: true });
  expect(await other?.take('till', 4)).toMatchObject({ used: 10, taken: true });
  await one?.release('till', 3);
  // Units that were let through are counted whatever the total becomes.
  expect(await other?.add('till', 8)).toMatchObject({ used: 15, msLeft: 40_000 });
  state.nowMs = 60_000;
  expect(await one?.take('till', 1)).toEqual({ used: 1, msLeft: 60_000, taken: true });
  await one?.release('terrace', 1);
  expect(await one?.take('terrace', 10)).toMatchObject({ taken: true });
});

test('slots of all processes are bounded together, and those of a process that was killed expire', async () => {
  const { pair, state } = openPair();
  const [one, other] = pair.map((kv) => kv.leases?.({ name: 'running', leaseMs: 15_000 }));
  expect([await one?.take('till', 'a', 2), await other?.take('till', 'b', 2)]).toEqual([true, true]);
  expect([await one?.take('till', 'c', 2), await one?.take('kiosk', 'd', 2)]).toEqual([false, true]);
  await other?.release('till', 'b');
  expect(await one?.take('till', 'c', 2)).toBe(true);
  state.nowMs = 10_000;
  await one?.renew('till', ['c']);
  state.nowMs = 15_000;
  expect([await other?.take('till', 'e', 2), await other?.take('till', 'f', 2)]).toEqual([true, false]);
});

test('without an answer a question fails in time, each process counts alone meanwhile, and the return is noticed', async () => {
  const { pair, state } = openPair(40);
  const [kv] = pair;
  const counter = kv.windows({ name: 'minute', quota: 10, windowSeconds: 60 });
  expect([await counter.take('till', 1), kv.health()]).toEqual([{ used: 1, msLeft: 60_000, taken: true }, 'up']);
  state.isAway = true;
  await expect(counter.take('till', 1)).rejects.toThrow('not reachable');
  expect(kv.health()).toBe('down');
  state.isAway = false;
  await until(() => kv.health() === 'up');
  expect(await counter.take('till', 1)).toMatchObject({ used: 2, taken: true });
});

test('messages reach every process until it ends its subscription', () => {
  const { pair } = openPair();
  const seen: string[] = [];
  const [end] = pair.map((kv, i) => kv.subscribe('changes', (message) => void seen.push(`${i} ${message}`)));
  pair[1].publish('changes', 'first');
  end?.();
  pair[0].publish('changes', 'second');
  pair[0].publish('other', 'third');
  expect(seen).toEqual(['0 first', '1 first', '1 second']);
});

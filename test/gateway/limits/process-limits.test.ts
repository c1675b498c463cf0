/** Limits that processes of one gateway count together; here their messages stay in one process. */
import { afterEach, expect, test } from 'vitest';
import { createRateLimits, type RateLimits } from '#src/gateway/limits/rate-limits.ts';
import { createProcessKv, createSharedCounts, type Kv, type KvAsk } from '#src/platform/kv/index.ts';
import { until } from '../../support/until.ts';

const opened: { kv: Kv; limits: RateLimits }[] = [];
afterEach(async () => {
  for (const { kv, limits } of opened.splice(0)) {
    limits.close();
    await kv.close();
  }
});

type Answering = {
  /** When the answer of a question that was counted arrives. */
  answerAt?: (answer: () => void) => void;
  waitMsMax?: number;
  /** What is counted after each question. */
  onCounted?: (used: number) => void;
};

const openProcesses = (sharers: number, quota: number, answering: Answering = {}): RateLimits[] => {
  const { answerAt = setImmediate, waitMsMax = 500, onCounted } = answering;
  const counts = createSharedCounts();
  const all: ReturnType<typeof createProcessKv>[] = [];
  const open = (): RateLimits => {
    const ask = (asks: readonly KvAsk[]): void => {
      const answers = asks.map(counts);
      for (const { value } of answers) if (typeof value === 'object') onCounted?.(value.used);
      answerAt(() => kv.receiveAnswers(answers));
    };
    const publish = (channel: string, message: string): void => {
      for (const one of all) setImmediate(() => one.receiveMessage(channel, message));
    };
    const kv = createProcessKv({ sharers, ask, publish, waitMsMax });
    all.push(kv);
    const limits = createRateLimits({ kv, policies: [{ name: 'minute', quota, windowSeconds: 60 }] });
    opened.push({ kv, limits });
    return limits;
  };
  return Array.from({ length: sharers }, open);
};

/** How many of the charges at the process pass. */
const chargeAtOnce = async (limits: RateLimits, charges: number): Promise<number> => {
  const all = await Promise.all(Array.from({ length: charges }, () => limits.charge('opc_1', 1)));
  return all.filter(({ retryAfterSeconds }) => retryAfterSeconds === undefined).length;
};

test.each([
  [10, 4],
  [600, 4],
  [600, 8],
])('A-233 a quota of %i that is used up at one of %i processes is used up at all of them', async (quota, sharers) => {
  const [busy, ...others] = openProcesses(sharers, quota) as [RateLimits, ...RateLimits[]];
  let passed = 0;
  // Half of the others have served the caller in this window already.
  for (const one of others.slice(0, sharers / 2)) passed += await chargeAtOnce(one, 1);
  for (let i = 0; i < quota; i += 1) passed += await chargeAtOnce(busy, 1);
  for (const one of others) passed += await chargeAtOnce(one, 100);
  expect(passed).toBeGreaterThanOrEqual(quota);
  expect(passed).toBeLessThanOrEqual(quota * 1.05);
});

test('A-740 a burst at a process that knows no window yet, which a larger limit refuses, uses no units for the other processes', async () => {
  const [filling, asking, watching] = openProcesses(3, 600) as [RateLimits, RateLimits, RateLimits];
  const larger = [{ id: 'tenant_1', policies: [{ name: 'tenant-minute', quota: 1_000, windowSeconds: 60 }] }];
  for (const caller of ['opc_2', 'opc_3'])
    expect((await filling.charge(caller, 500, undefined, larger)).retryAfterSeconds).toBeUndefined();
  let isOver = false;
  const burst = Promise.all(Array.from({ length: 300 }, () => asking.charge('opc_1', 1, undefined, larger)));
  const refused = burst.then((all) => all.filter(({ retryAfterSeconds }) => retryAfterSeconds !== undefined));
  void refused.then(() => {
    isOver = true;
  });
  let passed = 0;
  while (!isOver) passed += await chargeAtOnce(watching, 1);
  expect(await refused).toHaveLength(300);
  expect(watching.look('opc_1', 1).limits.map(({ remaining }) => remaining)).toEqual([600 - passed]);
});

test('A-830 a process that counts for others and answers late counts their requests once', async () => {
  const held: (() => void)[] = [];
  let isHeld = false;
  const answerAt = (answer: () => void): void => void (isHeld ? held.push(answer) : setImmediate(answer));
  let used = 0;
  const onCounted = (count: number): void => {
    used = count;
  };
  const answering = { answerAt, waitMsMax: 20, onCounted };
  const [one, other] = openProcesses(2, 100, answering) as [RateLimits, RateLimits];
  await one.charge('opc_1', 60);
  isHeld = true;
  // The first ones are sent later, and the others ask; without an answer the process decides.
  expect(await chargeAtOnce(one, 20)).toBe(20);
  isHeld = false;
  for (const answer of held) answer();
  await until(() => used === 80);
  expect(one.look('opc_1', 0).limits[0]?.remaining).toBe(20);
  expect(await chargeAtOnce(other, 100)).toBe(20);
});

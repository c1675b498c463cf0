/**
 * Failed authentications per client id and source address (interface 9.2). Only a pair that used up its failures is
 * blocked, so an attacker cannot lock a client out from another address. Successes are not counted and cost one lookup.
 *
 * Each gateway counts, and with a Redis all count together: a gateway that counts a failure reads the total, and publishes
 * a pair that is used up. When Redis fails, the count of the gateway itself still holds.
 */
import type { Kv } from '#src/platform/kv/index.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import { secondsLeft } from './rate-window.ts';

export type FailureBudget = {
  /** Seconds until the pair may try again; undefined: it may. */
  blockedSeconds(clientId: string, source: string): number | undefined;
  /** Counts one failure. Seconds when it exceeds the budget, so that the caller must be refused unchecked. */
  countFailure(clientId: string, source: string): number | undefined | Promise<number | undefined>;
  close(): void;
};

type FailureBudgetDeps = {
  kv: Kv;
  failuresMax: number;
  /** Budgets of one name count together over all gateways. */
  name?: string;
  /** Monotonic milliseconds. */
  elapsedMs?: () => number;
};

const windowSeconds = 60;
/** Invented client ids evict only other pairs that failed. */
const pairsMax = 50_000;
/** Longer than any client id; invented ones may be as long as a header. */
const idLengthMax = 64;

type Failures = { count: number; endsAtMs: number };

export const createFailureBudget = (deps: FailureBudgetDeps): FailureBudget => {
  const { kv, failuresMax } = deps;
  const elapsedMs = deps.elapsedMs ?? (() => performance.now());
  const channel = deps.name ?? 'failures';
  const counter = kv.windows({ name: channel, quota: failuresMax, windowSeconds });
  const pairs = createRecentMap<string, Failures>(pairsMax);
  // Failures are rare. Without a recent one the hot path does not build a key.
  let quietFromMs = 0;

  const liveOf = (pair: string, nowMs: number): Failures | undefined => {
    const found = pairs.get(pair);
    return found === undefined || nowMs >= found.endsAtMs ? undefined : found;
  };
  const keep = (pair: string, failures: Failures): void => {
    pairs.set(pair, failures);
    quietFromMs = Math.max(quietFromMs, failures.endsAtMs);
  };
  const waitOf = ({ count, endsAtMs }: Failures, allowed: number): number | undefined =>
    count > allowed ? secondsLeft(endsAtMs, elapsedMs()) : undefined;

  const countShared = async (pair: string, own: Failures): Promise<number | undefined> => {
    try {
      const { used, msLeft } = await counter.add(pair, 1);
      if (used > own.count) keep(pair, { count: used, endsAtMs: elapsedMs() + msLeft });
      if (used >= failuresMax) kv.publish(channel, JSON.stringify({ pair, msLeft }));
    } catch {
      // Redis failed; the count of this process holds.
    }
    return waitOf(liveOf(pair, elapsedMs()) ?? own, failuresMax);
  };

  const unsubscribe = kv.subscribe(channel, (message) => {
    const received = readMessage(message);
    if (received === undefined) return;
    const nowMs = elapsedMs();
    const count = Math.max(liveOf(received.pair, nowMs)?.count ?? 0, failuresMax);
    keep(received.pair, { count, endsAtMs: nowMs + received.msLeft });
  });

  return {
    blockedSeconds: (clientId, source) => {
      const nowMs = elapsedMs();
      if (nowMs >= quietFromMs) return undefined;
      const failures = liveOf(pairOf(clientId, source), nowMs);
      return failures === undefined ? undefined : waitOf(failures, failuresMax - 1);
    },
    countFailure: (clientId, source) => {
      const nowMs = elapsedMs();
      const pair = pairOf(clientId, source);
      const before = liveOf(pair, nowMs);
      const failures = { count: (before?.count ?? 0) + 1, endsAtMs: before?.endsAtMs ?? nowMs + windowSeconds * 1000 };
      keep(pair, failures);
      return kv.health() === 'up' ? countShared(pair, failures) : waitOf(failures, failuresMax);
    },
    close: unsubscribe,
  };
};

const pairOf = (clientId: string, source: string): string => `${source} ${clientId.slice(0, idLengthMax)}`;

const readMessage = (message: string): { pair: string; msLeft: number } | undefined => {
  try {
    const { pair, msLeft } = JSON.parse(message) as { pair: unknown; msLeft: unknown };
    if (typeof pair !== 'string' || typeof msLeft !== 'number') return undefined;
    return { pair, msLeft: Math.min(msLeft, windowSeconds * 1000) };
  } catch {
    return undefined;
  }
};

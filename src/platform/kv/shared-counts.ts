/** Counters and leases in the memory of one process, which answers the questions of several (process-kv.ts). */
import { createRecentMap } from '../recent-map.ts';
import type { Count } from './kv.ts';

type CountAsk = {
  id: number;
  kind: 'add' | 'take' | 'release';
  key: string;
  units: number;
  quota: number;
  windowMs: number;
};
type LeaseAsk = {
  id: number;
  kind: 'hold' | 'renew' | 'free';
  key: string;
  holders: readonly string[];
  max: number;
  leaseMs: number;
};

export type KvAsk = CountAsk | LeaseAsk;

/** `id` of the question; what its method returns. */
export type KvAnswer = { id: number; value: (Count & { taken: boolean }) | boolean };

type Window = { used: number; endsAtMs: number };

/** More than the callers of all processes have; an evicted window would open its budget anew. */
const windowsMax = 1_000_000;
const sweepMs = 60_000;

/** `nowMs`: monotonic milliseconds. */
export const createSharedCounts = (nowMs: () => number = () => performance.now()): ((ask: KvAsk) => KvAnswer) => {
  const windows = createRecentMap<string, Window>(windowsMax);
  const count = createAnswerCount(windows, nowMs);
  const lease = createAnswerLease(nowMs);
  return (ask) => ({ id: ask.id, value: 'units' in ask ? count(ask) : lease(ask) });
};

const createAnswerCount =
  (windows: { get(key: string): Window | undefined; set(key: string, window: Window): void }, nowMs: () => number) =>
  ({ kind, key, units, quota, windowMs }: CountAsk): Count & { taken: boolean } => {
    const now = nowMs();
    const found = windows.get(key);
    const running = found !== undefined && now < found.endsAtMs ? found : undefined;
    const used = running?.used ?? 0;
    const endsAtMs = running?.endsAtMs ?? now + windowMs;
    const taken = kind === 'add' || (kind === 'take' && used + units <= quota);
    const change = taken ? units : kind === 'release' && running !== undefined ? -units : 0;
    if (change !== 0) windows.set(key, { used: Math.max(0, used + change), endsAtMs });
    return { used: Math.max(0, used + change), msLeft: endsAtMs - now, taken };
  };

const createAnswerLease = (nowMs: () => number): ((ask: LeaseAsk) => boolean) => {
  /** Key to holders, each with the end of its lease. */
  const held = new Map<string, Map<string, number>>();
  let sweptAtMs = nowMs();

  const dropExpired = (key: string, holders: Map<string, number>, now: number): void => {
    for (const [holder, endsAtMs] of holders) if (now >= endsAtMs) holders.delete(holder);
    if (holders.size === 0) held.delete(key);
  };
  /** Holders of a process that was killed stay otherwise until their key is asked for again. */
  const sweep = (now: number): void => {
    if (now - sweptAtMs < sweepMs) return;
    sweptAtMs = now;
    for (const [key, holders] of held) dropExpired(key, holders, now);
  };
  return ({ kind, key, holders, max, leaseMs }) => {
    const now = nowMs();
    sweep(now);
    const known = held.get(key) ?? new Map<string, number>();
    dropExpired(key, known, now);
    const taken = kind === 'renew' || (kind === 'hold' && known.size < max);
    for (const holder of holders)
      if (taken) known.set(holder, now + leaseMs);
      else if (kind === 'free') known.delete(holder);
    if (known.size > 0) held.set(key, known);
    else held.delete(key);
    return taken;
  };
};

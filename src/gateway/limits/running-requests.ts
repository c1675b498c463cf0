/**
 * Bounds the requests of one caller that run at the same time (interface 20.3), over all gateways while Redis can be reached.
 * A slot in Redis is a lease that its gateway renews while the request runs: streams may take hours, and a gateway that is
 * killed frees its slots when their leases expire. Without a reachable Redis each gateway counts its own requests alone; those
 * that run when it is back are counted there with the next renewal.
 */
import { randomUUID } from 'node:crypto';
import type { Kv, Leases } from '#src/platform/kv/index.ts';

/** One running request. `release` may be called more than once. */
type Slot = {
  /** Requests of the caller that run here, this one included. */
  readonly running: number;
  /** False: all slots are taken elsewhere, and this one was released. */
  readonly admitted: true | Promise<boolean>;
  release(): void;
};

export type RunningRequests = {
  /** Undefined: the caller has `max` running requests in this gateway alone. */
  take(callerId: string, max: number): Slot | undefined;
  close(): void;
};

type RunningRequestsDeps = { kv: Kv; leaseMs?: number };

const leaseMsDefault = 15_000;
/** Holders that one renewal names. */
const batchMax = 1_000;
/** How soon slots are released whose release met a silent Redis, and how many of them are remembered. */
const releaseAgainMs = 250;
const unreleasedMax = 10_000;

export const createRunningRequests = ({ kv, leaseMs = leaseMsDefault }: RunningRequestsDeps): RunningRequests => {
  const leases = kv.leases?.({ name: 'running', leaseMs });
  const late = leases && createLateReleases(leases, leaseMs);
  const instance = randomUUID();
  /** Callers with running requests only, so it has no more entries than the gateway has requests. */
  const held = new Map<string, Set<number>>();
  let requests = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Of a holder in Redis, where gateways count together. */
  const nameOf = (holder: number): string => `${instance}:${holder}`;

  const renew = (): void => {
    if (leases === undefined || kv.health() !== 'up') return;
    for (const [callerId, holders] of held) {
      const all = Array.from(holders, nameOf);
      for (let i = 0; i < all.length; i += batchMax)
        leases.renew(callerId, all.slice(i, i + batchMax)).catch(() => undefined);
    }
  };

  const forget = (callerId: string, holder: number): boolean => {
    const holders = held.get(callerId);
    if (holders?.delete(holder) !== true) return false;
    if (holders.size === 0) held.delete(callerId);
    if (held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    return true;
  };

  return {
    take: (callerId, max) => {
      const holders = held.get(callerId) ?? new Set();
      if (holders.size >= max) return undefined;
      requests += 1;
      const holder = requests;
      held.set(callerId, holders.add(holder));
      const { size: running } = holders;
      if (leases === undefined || late === undefined)
        return { running, admitted: true, release: () => void forget(callerId, holder) };
      timer ??= setInterval(renew, leaseMs / 3).unref();
      const release = (): void => {
        if (forget(callerId, holder)) late.release(callerId, nameOf(holder));
      };
      if (kv.health() !== 'up') return { running, admitted: true, release };
      const admitted = leases.take(callerId, nameOf(holder), max).then(
        (taken) => {
          // A renewal that was sent meanwhile may have taken the slot after it was refused.
          if (!taken) release();
          return taken;
        },
        // Redis failed; the count of this gateway holds.
        () => true,
      );
      return { running, admitted, release };
    },
    close: () => {
      clearInterval(timer);
      late?.close();
    },
  };
};

/** `untilMs`: then its lease has ended. */
type Unreleased = { callerId: string; name: string; untilMs: number };

/** Releases slots in Redis, and once more those whose release met its silence, until their leases have ended. */
const createLateReleases = (leases: Leases, leaseMs: number) => {
  let unreleased: Unreleased[] = [];
  let timer: NodeJS.Timeout | undefined;
  const release = (slot: Unreleased): void => {
    leases.release(slot.callerId, slot.name).catch(() => {
      if (performance.now() >= slot.untilMs || unreleased.length >= unreleasedMax) return;
      unreleased.push(slot);
      timer ??= setTimeout(releaseAll, releaseAgainMs).unref();
    });
  };
  const releaseAll = (): void => {
    timer = undefined;
    const all = unreleased;
    unreleased = [];
    for (const slot of all) release(slot);
  };
  return {
    release: (callerId: string, name: string): void =>
      release({ callerId, name, untilMs: performance.now() + leaseMs }),
    close: (): void => clearTimeout(timer),
  };
};

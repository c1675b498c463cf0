/** The callers whose quotas this process spends from. */
import { policyField } from '../../limits/rate-standing.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import { openLeases, type QuotaLease } from './quota-lease.ts';

/** `quotaOf`: the id under which its units are counted, which a key and its successors have in common. */
export type CountedCaller = { id: string; quotaOf: string };

export type QuotaCaller = CountedCaller & {
  limits: OwnLimits;
  leases: QuotaLease[];
  /** Their members of RateLimit-Policy, made once and not for each request. */
  policyText: string;
  /** Wall clock: when the last of its days and months began, and the first of them ends. */
  startsMs: number;
  endsMs: number;
  /** Units of requests that wait for the store. */
  waitingUnits: number;
  asking: Promise<void> | undefined;
  /** Monotonic: not before this time is a block fetched ahead again after a failure. */
  aheadFromMs: number;
  usedAtMs: number;
};

export type QuotaCallers = {
  /** With leases of the running day and month under these limits. `limits`: the same object until they change. */
  get(counted: CountedCaller, limits: OwnLimits, nowMs: number): QuotaCaller;
  all(): Iterable<QuotaCaller>;
  forget(id: string): void;
};

/** Beyond it the caller that came first is forgotten, and what is held for it counts as spent. */
const callersMax = 100_000;

export const createQuotaCallers = (): QuotaCallers => {
  const callers = new Map<string, QuotaCaller>();
  return {
    get: (counted, limits, nowMs) => {
      const { id } = counted;
      const known = callers.get(id);
      if (known !== undefined) {
        // A clock that was ahead and is set back leaves leases of a day that has not begun.
        const isRunning = nowMs >= known.startsMs && nowMs < known.endsMs;
        if (known.limits !== limits || !isRunning) renew(known, limits, nowMs);
        return known;
      }
      const first = callers.size >= callersMax ? callers.keys().next().value : undefined;
      if (first !== undefined) callers.delete(first);
      const made = newCaller(counted, limits, nowMs);
      callers.set(id, made);
      return made;
    },
    all: () => callers.values(),
    forget: (id) => {
      callers.delete(id);
    },
  };
};

const newCaller = ({ id, quotaOf }: CountedCaller, limits: OwnLimits, nowMs: number): QuotaCaller => {
  const leases = openLeases(limits, nowMs, []);
  const policyText = policyTextOf(leases);
  const idle = { waitingUnits: 0, asking: undefined, aheadFromMs: 0, usedAtMs: 0 };
  return { id, quotaOf, limits, leases, policyText, ...spanOfAll(leases), ...idle };
};

/** Leases that do not run, or whose quota is gone, are dropped with what they hold. */
const renew = (caller: QuotaCaller, limits: OwnLimits, nowMs: number): void => {
  const leases = openLeases(limits, nowMs, caller.leases);
  Object.assign(caller, { limits, leases, policyText: policyTextOf(leases), ...spanOfAll(leases) });
};

/** Without leases it is all time. */
const spanOfAll = (leases: readonly QuotaLease[]): { startsMs: number; endsMs: number } => ({
  startsMs: Math.max(...leases.map(({ startsMs }) => startsMs)),
  endsMs: Math.min(...leases.map(({ endsMs }) => endsMs)),
});

const policyTextOf = (leases: readonly QuotaLease[]): string => policyField(leases.map(({ policy }) => policy));

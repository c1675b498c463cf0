/** The units of one quota that this process holds for one caller. */
import type { RatePolicy } from '../../limits/rate-window.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import { type QuotaPeriod, quotaPeriods, spanOf } from './quota-span.ts';
import { blockMax, blockShare } from './quota-store.ts';

export type QuotaLease = {
  period: QuotaPeriod;
  policy: RatePolicy;
  startsMs: number;
  endsMs: number;
  quota: number;
  /** Units of this process that are not spent. */
  held: number;
  /** Units that go back with the next request for units, because the quota became smaller. */
  back: number;
  /** Units that no process had taken when the store answered last; undefined before its first answer. */
  free: number | undefined;
  /** Until this monotonic time `free` decides alone; later other processes may have returned units. */
  knownUntilMs: number;
};

/** What is left of a day or month for the caller, as far as this process knows. */
export const leftOf = ({ quota, held, free }: QuotaLease): number => (free === undefined ? quota : free + held);

/** True when the units fit in every lease. */
export const areHeld = (leases: readonly QuotaLease[], units: number): boolean => {
  for (const { held } of leases) if (held < units) return false;
  return true;
};

/** The lease that cannot hold the units and of which no more are to be had; the one that ends last. */
export const exhaustedOf = (
  leases: readonly QuotaLease[],
  units: number,
  elapsedMs: number,
): QuotaLease | undefined => {
  let found: QuotaLease | undefined;
  for (const lease of leases) {
    const isExhausted =
      units > lease.quota || (lease.free !== undefined && elapsedMs < lease.knownUntilMs && leftOf(lease) < units);
    if (isExhausted && (found === undefined || lease.endsMs > found.endsMs)) found = lease;
  }
  return found;
};

/** True when half of a block is spent and more is to be had: the next block is fetched before requests have to wait. */
export const runsLow = (leases: readonly QuotaLease[]): boolean => {
  for (const lease of leases) {
    const block = Math.min(Math.ceil(leftOf(lease) / blockShare), blockMax);
    if (lease.free !== undefined && lease.free > 0 && lease.held * 2 < block) return true;
  }
  return false;
};

/** The leases of the running day and month under these limits. Those of `before` that still run are kept. */
export const openLeases = (limits: OwnLimits, nowMs: number, before: readonly QuotaLease[]): QuotaLease[] =>
  quotaPeriods.flatMap((period) => {
    const quota = limits[period];
    if (quota === undefined) return [];
    const { startsMs, endsMs } = spanOf(period, nowMs);
    const known = before.find((lease) => lease.period === period && lease.startsMs === startsMs);
    const policy = { name: period, quota, windowSeconds: (endsMs - startsMs) / 1000 };
    if (known !== undefined) return [resized(known, policy)];
    const nothing = { held: 0, back: 0, free: undefined, knownUntilMs: 0 };
    return [{ period, policy, startsMs, endsMs, quota, ...nothing }];
  });

/** After a change of the quota the store is asked anew, and a smaller quota takes back what is not spent. */
const resized = (lease: QuotaLease, policy: RatePolicy): QuotaLease => {
  const { quota } = policy;
  if (quota === lease.quota) return lease;
  const [held, back] = quota < lease.quota ? [0, lease.back + lease.held] : [lease.held, lease.back];
  return Object.assign(lease, { policy, quota, held, back, free: undefined, knownUntilMs: 0 });
};

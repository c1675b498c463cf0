/** Returns units that were taken and not spent, so that other gateways can have them. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { Logger } from '#src/platform/log.ts';
import type { QuotaCallers } from './quota-callers.ts';
import { type ReturnedUnits, returnUnits } from './quota-store.ts';
import { askMsMax } from './take-units.ts';

type ReturnUnspentDeps = { db: Kysely<unknown>; clock: Clock; log: Logger; callers: QuotaCallers };

/** `idleBeforeMs`: of callers whose last request was before this monotonic time. Never rejects. */
export type ReturnUnspent = (idleBeforeMs: number) => Promise<void>;

const forgottenMs = 600_000;

export const createReturnUnspent = ({ db, clock, log, callers }: ReturnUnspentDeps): ReturnUnspent => {
  const takeUnspent = (idleBeforeMs: number): ReturnedUnits[] => {
    const nowMs = clock.now().getTime();
    const returned: ReturnedUnits[] = [];
    for (const { id, quotaOf, leases, usedAtMs, asking } of callers.all()) {
      if (usedAtMs >= idleBeforeMs || asking !== undefined) continue;
      for (const lease of leases) {
        const back = lease.held + lease.back;
        if (back === 0) continue;
        if (nowMs < lease.endsMs)
          returned.push({ caller: quotaOf, period: lease.period, starts: new Date(lease.startsMs), back });
        // After a failure it is not known whether they were returned, so they count as spent.
        Object.assign(lease, { held: 0, back: 0, free: undefined });
      }
      if (usedAtMs < idleBeforeMs - forgottenMs) callers.forget(id);
    }
    return returned;
  };
  return async (idleBeforeMs) => {
    const returned = takeUnspent(idleBeforeMs);
    if (returned.length === 0) return;
    try {
      await answerInTime(returnUnits(db, returned), askMsMax);
    } catch (error) {
      log.warn({ err: error, leases: returned.length }, 'unspent units of quotas could not be returned; they are lost');
    }
  };
};

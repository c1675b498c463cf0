/**
 * Quotas by day and month (interface 20.6). PostgreSQL knows how many units all gateways have taken. A gateway takes a block
 * ahead, at most a fiftieth of what is left and 10,000 units (or what its waiting requests need), and spends it in memory, so
 * the hot path asks the store once per block and not per request.
 *
 * - Never more than the quota: units are spent only after the statement that takes them has committed.
 * - Units that are not spent go back 5 s after the caller's last request, and when the process stops. A process that is
 *   killed loses what it holds: at most 2 % of what was left.
 * - Where an answer of the store is lost, its units count as spent.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { addLimit, addPolicies, type RateStanding } from '../../limits/rate-standing.ts';
import { secondsLeft } from '../../limits/rate-window.ts';
import { storeUnavailable } from '../../model/faults.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import { type CountedCaller, createQuotaCallers, type QuotaCaller } from './quota-callers.ts';
import { areHeld, exhaustedOf, leftOf, type QuotaLease, runsLow } from './quota-lease.ts';
import { createReturnUnspent } from './return-unspent.ts';
import { createTakeUnits } from './take-units.ts';

/** Nothing was spent, since this quota has no room. */
export type FullQuota = Pick<QuotaLease, 'period' | 'quota' | 'endsMs'>;

export type Quotas = {
  /**
   * Spends units of the day and the month, and adds both to `standing`. A promise only where the store has to be asked; it
   * rejects with OVERLOADED when the store does not answer. `limits`: the same object until the limits change. `standing`
   * says when a full quota has room again.
   */
  spend(
    caller: CountedCaller,
    limits: OwnLimits,
    units: number,
    standing: RateStanding,
  ): FullQuota | undefined | Promise<FullQuota | undefined>;
  service: Service;
  /** Returns every unit that is not spent. */
  close(): Promise<void>;
};

type QuotasDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  /** Monotonic milliseconds. */
  elapsedMs?: () => number;
};

/** Requests that arrive while the store is asked are part of the next question. */
const roundsMax = 8;
const idleMs = 5_000;
const idleEveryMs = 1_000;

export const createQuotas = ({ db, clock, log, elapsedMs = () => performance.now() }: QuotasDeps): Quotas => {
  const callers = createQuotaCallers();
  const take = createTakeUnits({ db, elapsedMs });
  const returnUnspent = createReturnUnspent({ db, clock, log, callers });

  const decide = (
    caller: QuotaCaller,
    units: number,
    nowMs: number,
    standing: RateStanding,
  ): QuotaLease | 'ask the store' | undefined => {
    const { leases } = caller;
    if (areHeld(leases, units)) {
      for (const lease of leases) lease.held -= units;
      if (runsLow(leases)) take.ahead(caller);
      addQuotas(standing, caller, nowMs);
      return undefined;
    }
    const full = exhaustedOf(leases, units, elapsedMs());
    if (full === undefined) return 'ask the store';
    addQuotas(standing, caller, nowMs);
    standing.retryAfterSeconds = secondsLeft(full.endsMs, nowMs);
    return full;
  };

  const decideLater = async (
    counted: CountedCaller,
    limits: OwnLimits,
    units: number,
    standing: RateStanding,
  ): Promise<QuotaLease | undefined> => {
    for (let round = 0; round < roundsMax; round += 1) {
      const nowMs = clock.now().getTime();
      const caller = callers.get(counted, limits, nowMs);
      const decided = decide(caller, units, nowMs, standing);
      if (decided !== 'ask the store') return decided;
      caller.waitingUnits += units;
      try {
        await take.now(caller);
      } catch (error) {
        throw storeUnavailable(error);
      } finally {
        caller.waitingUnits -= units;
      }
    }
    throw storeUnavailable('too many requests wait for units of one quota');
  };

  return {
    spend: (counted, limits, units, standing) => {
      const nowMs = clock.now().getTime();
      const caller = callers.get(counted, limits, nowMs);
      caller.usedAtMs = elapsedMs();
      const decided = decide(caller, units, nowMs, standing);
      return decided === 'ask the store' ? decideLater(counted, limits, units, standing) : decided;
    },
    service: {
      name: 'quota-return',
      run: async (signal) => {
        while (!signal.aborted) {
          await pause(idleEveryMs, signal);
          await returnUnspent(elapsedMs() - idleMs);
        }
      },
    },
    close: () => returnUnspent(Number.POSITIVE_INFINITY),
  };
};

const addQuotas = (standing: RateStanding, { leases, policyText }: QuotaCaller, nowMs: number): void => {
  addPolicies(standing, policyText);
  for (const lease of leases) addLimit(standing, lease.policy, leftOf(lease), secondsLeft(lease.endsMs, nowMs));
};

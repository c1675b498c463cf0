/** Asks the store for units of a caller's quotas, one question at a time per caller. */
import type { Kysely } from 'kysely';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { createCallerTurns } from '../../limits/caller-turns.ts';
import type { QuotaCaller } from './quota-callers.ts';
import { leaseUnits } from './quota-store.ts';

export type TakeUnits = {
  /** For the requests that wait, or a block. Rejects when the store does not answer. Concurrent calls share one question. */
  now(caller: QuotaCaller): Promise<void>;
  /** In the background, before requests have to wait. */
  ahead(caller: QuotaCaller): void;
};

type TakeUnitsDeps = {
  db: Kysely<unknown>;
  /** Monotonic milliseconds. */
  elapsedMs: () => number;
};

export const askMsMax = 1_500;
/** A caller without room asks the store again at most once a second, since other gateways may have returned units. */
const knownMs = 1_000;
const afterFailureMs = 250;

export const createTakeUnits = ({ db, elapsedMs }: TakeUnitsDeps): TakeUnits => {
  /** A question that is given up keeps its turn until it ends: it holds a connection until then. */
  const inTurn = createCallerTurns();

  const ask = async (caller: QuotaCaller): Promise<void> => {
    const { leases } = caller;
    const requests = leases.map(({ period, startsMs, quota, held, back }) => {
      return { period, starts: new Date(startsMs), quota, held, back, needed: caller.waitingUnits };
    });
    // Sent once: after a failure it is not known whether they were returned, so they count as spent.
    for (const lease of leases) lease.back = 0;
    const answers = await leaseUnits(db, caller.quotaOf, requests);
    const knownUntilMs = elapsedMs() + knownMs;
    for (const { period, leased, granted } of answers) {
      const lease = leases.find((one) => one.period === period);
      if (lease === undefined) continue;
      if (requests.find((one) => one.period === period)?.quota !== lease.quota) {
        // The quota changed meanwhile, so the units of the former one are returned.
        lease.back += granted;
        continue;
      }
      lease.held += granted;
      lease.free = Math.max(0, lease.quota - leased);
      lease.knownUntilMs = knownUntilMs;
    }
  };

  const now = (caller: QuotaCaller): Promise<void> => {
    caller.asking ??= answerInTime(
      inTurn(caller.id, () => ask(caller)),
      askMsMax,
    ).finally(() => {
      caller.asking = undefined;
    });
    return caller.asking;
  };

  return {
    now,
    ahead: (caller) => {
      if (caller.asking !== undefined || elapsedMs() < caller.aheadFromMs) return;
      // A request that needs units asks again, and its refusal is logged.
      now(caller).catch(() => {
        caller.aheadFromMs = elapsedMs() + afterFailureMs;
      });
    },
  };
};

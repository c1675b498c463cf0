/**
 * Deletes keys and secrets that ended so long ago that the audit has dropped what was done with them. Until then pages, traces and
 * reports of leaks find them by their ids, and their holders read why they are refused; afterwards they are unknown values, which
 * are refused in the same way. So no gateway must forget what it remembers, and the epoch stays.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, hourMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteEnded } from '../state/ended-store.ts';

type DropEndedDeps = { db: Kysely<unknown>; clock: Clock };

const everyMs = hourMs;
/** Longer than the log of requests and the reason `leaked` are kept, also with a short audit. */
const daysMin = 90;
/** The audit drops whole months. */
const monthDays = 31;
const batch = 500;
const batchesMax = 20;

/** `auditDays`: how long the audit is kept at least. Returns the number of deleted credentials, at most 40,000. */
export const dropEndedCredentials = async ({ db, clock }: DropEndedDeps, auditDays: number): Promise<number> => {
  const before = new Date(clock.now().getTime() - (Math.max(auditDays, daysMin) + monthDays) * dayMs);
  let dropped = 0;
  for (let i = 0; i < batchesMax; i += 1) {
    const count = await inTransaction(db, (tx) => deleteEnded(tx, before, batch));
    dropped += count;
    if (count === 0) break;
  }
  return dropped;
};

export const createDropEnded = (deps: DropEndedDeps & { log: Logger }, auditDays: number): Service => ({
  name: 'ended-credentials',
  run: async (signal) => {
    while (!signal.aborted) {
      const dropped = await dropEndedCredentials(deps, auditDays);
      if (dropped > 0) deps.log.info({ dropped }, 'keys and secrets that ended long ago were deleted');
      await pause(everyMs, signal);
    }
  },
});

/**
 * Service that counts the audit by the hour, for charts. Each event is counted once, because the position in its chain
 * moves in the transaction that counts it. One gateway counts at a time; the others try again later.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { countPage, deleteOldHours, listUncounted, lockHours } from './hours-store.ts';

type AuditHoursDeps = { db: Kysely<unknown>; clock: Clock; log: Logger };

const everyMs = 3_000;
/** Pause between two pages of a backlog, so that the store can serve other work. */
const pageMs = 20;
const pageEvents = 5_000;
const chainsMax = 200;
const valuesMax = 200;
/** The longest chart is 30 days. */
const hoursKeptDays = 31;

/** One round: a page of each chain that has something new. True: there may be more. */
export const countAudit = ({ db, clock }: Pick<AuditHoursDeps, 'db' | 'clock'>): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    if (!(await lockHours(tx))) return false;
    const since = new Date(clock.now().getTime() - hoursKeptDays * dayMs);
    let more = false;
    for (const chain of await listUncounted(tx, chainsMax)) {
      more = (await countPage(tx, chain, { limit: pageEvents, valuesMax, since })) === pageEvents || more;
    }
    await deleteOldHours(tx, since);
    return more;
  });

export const createAuditHours = ({ db, clock, log }: AuditHoursDeps): Service => ({
  name: 'audit-hours',
  run: async (signal) => {
    while (!signal.aborted) {
      let more = false;
      try {
        more = await countAudit({ db, clock });
      } catch (error) {
        log.warn({ err: error }, 'the audit could not be counted by the hour; trying again');
      }
      await pause(more ? pageMs : everyMs, signal);
    }
  },
});

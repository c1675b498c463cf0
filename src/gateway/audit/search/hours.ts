/**
 * Service that counts the audit by the hour, for charts. Each event is counted once, because the position in its chain
 * moves in the transaction that counts it. One gateway counts at a time; the others try again later.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createPoll, type Poll } from '#src/platform/wake.ts';
import type { ChainPosition } from '../chain/event-store.ts';
import { countPage, deleteOldHours, listUncounted, lockHours } from './hours-store.ts';

type AuditHoursDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  /** Ends the waits for new events. */
  poll: Poll;
};

/** chosen: when the heads of the chains are not known. */
const everyMs = 10_000;
/** chosen: a gateway that counted may have died before its commit, so others look in any case. */
const quietEveryMs = 60_000;
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
    const chains = await listUncounted(tx, chainsMax);
    let more = chains.length === chainsMax;
    for (const chain of chains) {
      more = (await countPage(tx, chain, { limit: pageEvents, valuesMax, since })) === pageEvents || more;
    }
    await deleteOldHours(tx, since);
    return more;
  });

/** The service counts when the heads that the guard reads have moved. */
export const createHoursPoll = (): { poll: Poll; onHeads: (heads: readonly ChainPosition[]) => void } => {
  const poll = createPoll({ pollMs: everyMs, quietMs: quietEveryMs });
  let before = '';
  return {
    poll,
    onHeads: (heads) => {
      const ends = heads.map(({ chain, seq }) => `${chain}:${seq}`).join();
      if (ends === before) poll.none();
      else poll.now();
      before = ends;
    },
  };
};

export const createAuditHours = ({ db, clock, log, poll }: AuditHoursDeps): Service => ({
  name: 'audit-hours',
  run: async (signal) => {
    const wait = poll.begin(signal);
    while (!signal.aborted) {
      let more = false;
      try {
        more = await countAudit({ db, clock });
      } catch (error) {
        log.warn({ err: error }, 'the audit could not be counted by the hour; trying again');
      }
      await (more ? pause(pageMs, signal) : wait());
    }
  },
});

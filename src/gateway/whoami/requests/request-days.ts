/** Makes the days of the request log ahead, and drops those that are older than its retention. */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, hourMs } from '#src/platform/clock.ts';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { dropDay, listDays, makeDay } from './request-day-store.ts';

type DaysDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  /** 0: nothing is kept, and what earlier settings kept is dropped. */
  days: number;
};

/** Days that exist in advance, also when this fails for a while. */
const daysAhead = 2;
const everyMs = hourMs;

export const createRequestDays = (deps: DaysDeps): Service => ({
  name: 'request-log-days',
  run: async (signal) => {
    while (!signal.aborted) {
      try {
        await keepDays(deps);
      } catch (error) {
        if (!isTransient(error)) throw error;
        deps.log.warn({ err: error }, 'days of the request log could not be made or dropped; trying again in an hour');
      }
      await pause(everyMs, signal);
    }
  },
});

const keepDays = async ({ db, clock, log, days }: DaysDeps): Promise<void> => {
  const nowMs = clock.now().getTime();
  if (days > 0)
    for (let ahead = 0; ahead <= daysAhead; ahead += 1)
      await inTransaction(db, (tx) => makeDay(tx, new Date(nowMs + ahead * dayMs)));
  const over = (await listDays(db)).filter((day) => endOf(day) <= nowMs - Math.max(1, days) * dayMs);
  for (const day of over) await inTransaction(db, (tx) => dropDay(tx, day));
  if (over.length > 0) log.info({ days: over }, 'days of the request log beyond its retention were dropped');
};

/** `day`: YYYYMMDD, in UTC. */
const endOf = (day: string): number =>
  Date.UTC(Number(day.slice(0, 4)), Number(day.slice(4, 6)) - 1, Number(day.slice(6, 8)) + 1);

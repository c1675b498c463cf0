/** Deletes ended links, sessions, attempts and known browsers. */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, minuteMs } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { endsAt } from '../sessions/sessions.ts';
import { browserDays } from '../sign-in/throttle.ts';
import { dropEnded } from './upkeep-store.ts';

const intervalMs = 10 * minuteMs;

export const createUpkeep = ({ db, clock, log }: { db: Kysely<unknown>; clock: Clock; log: Logger }): Service => ({
  name: 'staff-upkeep',
  run: async (signal) => {
    while (!signal.aborted) {
      const now = clock.now();
      try {
        await dropEnded(db, { now, sessions: endsAt(now), browsersSeenAfter: daysBefore(now, browserDays) });
      } catch (error) {
        // Harmless: rows that have ended are not accepted, even before they are deleted.
        log.warn({ err: error }, 'deleting ended sessions and links failed');
      }
      await pause(intervalMs, signal);
    }
  },
});

const daysBefore = (now: Date, days: number): Date => new Date(now.getTime() - days * dayMs);

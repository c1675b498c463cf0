/**
 * The time of the database, for leases: workers on several machines judge them by one clock, however wrong those of the
 * machines are. It is asked for now and then, and between that the time since is counted, which setting a machine's clock
 * does not change.
 */
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { pause, type Service } from '../supervisor.ts';
import { isTransient } from './transaction.ts';

/** A machine counts within some milliseconds a minute. */
const everyMs = 60_000;
/** A machine that slept has not counted, and its own clock shows it: then the database is asked at once. */
const lookMs = 1_000;
const differenceMsMax = 500;
/** The answer that took least tells most. */
const questions = 3;

type Reading = { atMs: number; countedMs: number; tookMs: number; machineMs: number };

/** Throws when the database cannot be asked at first; later the last answer holds until there is a new one. */
export const openDatabaseClock = async (
  pool: Pool,
  log: Pick<Logger, 'warn'>,
): Promise<{ clock: Clock; service: Service }> => {
  let reading = await read(pool);
  return {
    clock: { now: () => new Date(reading.atMs + performance.now() - reading.countedMs) },
    service: {
      name: 'database-clock',
      run: async (signal) => {
        while (!signal.aborted) {
          await pause(lookMs, signal);
          if (signal.aborted) return;
          if (!isOld(reading)) continue;
          try {
            reading = await read(pool);
          } catch (error) {
            if (!isTransient(error)) throw error;
            log.warn({ err: error }, 'the time of the database could not be asked for');
          }
        }
      },
    },
  };
};

const isOld = ({ countedMs, machineMs }: Reading): boolean => {
  const sinceMs = performance.now() - countedMs;
  return sinceMs > everyMs || Math.abs(Date.now() - machineMs - sinceMs) > differenceMsMax;
};

const read = async (pool: Pool): Promise<Reading> => {
  let best: Reading | undefined;
  for (let count = 0; count < questions; count += 1) {
    const askedMs = performance.now();
    const { rows } = await pool.query<{ ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    );
    const tookMs = performance.now() - askedMs;
    if (best === undefined || tookMs < best.tookMs)
      best = {
        atMs: rows[0]?.ms ?? Number.NaN,
        countedMs: askedMs + tookMs / 2,
        tookMs,
        machineMs: Date.now() - tookMs / 2,
      };
  }
  if (best === undefined || Number.isNaN(best.atMs)) throw new Error('the database told no time');
  return best;
};

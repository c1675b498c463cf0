/**
 * The time of the database, for leases. Workers on several machines compare leases with one clock, so a wrong clock of a
 * machine does no harm. The program asks the database now and then, and counts the time since then by a monotonic clock,
 * which an operator cannot set.
 */
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { pause, type Service } from '../supervisor.ts';
import { isTransient } from './transaction.ts';

/** The monotonic clock of a machine drifts by some milliseconds a minute. */
const everyMs = 60_000;
/** A suspended machine stops its monotonic clock. The wall clock then shows a jump, and the database is asked at once. */
const lookMs = 1_000;
const differenceMsMax = 500;
/** The fastest answer is the most precise one. */
const questions = 3;

type Reading = { atMs: number; countedMs: number; tookMs: number; machineMs: number };

/** Throws when the first question fails. Later the last answer stays valid until a new one arrives. */
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
            log.warn({ err: error }, 'the time of the database could not be read');
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
  if (best === undefined || Number.isNaN(best.atMs)) throw new Error('the database returned no time');
  return best;
};

/**
 * The time of the database, for leases. Workers on several machines compare leases with one clock, so a wrong clock of a
 * machine does no harm. The program asks the database now and then, and counts the time since then by a monotonic clock,
 * which an operator cannot set.
 */
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { pause, type Service } from '../supervisor.ts';
import { isTransient } from './transaction.ts';

/** The monotonic clock of a machine drifts by some milliseconds a minute. */
const everyMs = 60_000;
/** The fastest that a time service slews the clock of a machine, in milliseconds a millisecond (RFC 5905: 500 ppm). */
const driftMax = 0.0005;
/** A suspended machine stops its monotonic clock. The wall clock then shows a jump, and the database is asked at once. */
const lookMs = 1_000;
const differenceMsMax = 500;
/** The fastest answer is the most precise one. */
const questions = 3;
/** The database may have read its clock at any moment of a question, so a slow answer is less precise than an old one. */
const tookMsMax = 100;

type Reading = {
  atMs: number;
  countedMs: number;
  tookMs: number;
  machineMs: number;
  /** How many connections the pool had opened by then. */
  opened: number;
};

/** Throws when the first question fails. Later the last answer stays valid until a new one arrives. */
export const openDatabaseClock = async (
  pool: Pool,
  log: Pick<Logger, 'warn'>,
): Promise<{ clock: Clock; service: Service }> => {
  let opened = 0;
  const countOpened = (): void => {
    opened += 1;
  };
  let reading = await read(pool, () => opened);
  return {
    clock: { now: () => new Date(timeBy(reading, performance.now())) },
    service: {
      name: 'database-clock',
      run: async (signal) => {
        // A new connection may lead to another server, whose clock may be another one.
        pool.on('connect', countOpened);
        try {
          while (!signal.aborted) {
            await pause(lookMs, signal);
            if (signal.aborted) return;
            if (isOld(reading, opened)) reading = await readAgain(pool, log, reading, () => opened);
          }
        } finally {
          pool.off('connect', countOpened);
        }
      },
    },
  };
};

const timeBy = ({ atMs, countedMs }: Reading, atCountedMs: number): number => atMs + atCountedMs - countedMs;

/** True when the database is to be asked at this look. */
const isOld = ({ countedMs, machineMs, tookMs, opened }: Reading, openedNow: number): boolean => {
  const sinceMs = performance.now() - countedMs;
  if (opened !== openedNow || tookMs > tookMsMax || sinceMs > everyMs) return true;
  return Math.abs(Date.now() - machineMs - sinceMs) > differenceMsMax;
};

/** The reading to use from now on. After a slow answer the database is asked again at the next look. */
const readAgain = async (
  pool: Pool,
  log: Pick<Logger, 'warn'>,
  before: Reading,
  opened: () => number,
): Promise<Reading> => {
  try {
    const after = await read(pool, opened);
    // Beyond what both readings can be off, the earlier one is wrong: the machine slept, or the server is another one.
    const offMsMax = (after.tookMs + before.tookMs) / 2 + (after.countedMs - before.countedMs) * driftMax;
    const isExplained = Math.abs(after.atMs - timeBy(before, after.countedMs)) <= offMsMax;
    return after.tookMs > Math.max(tookMsMax, before.tookMs) && isExplained ? before : after;
  } catch (error) {
    if (!isTransient(error)) throw error;
    log.warn({ err: error }, 'the time of the database could not be read');
    return before;
  }
};

const read = async (pool: Pool, opened: () => number): Promise<Reading> => {
  // Only the question is timed: a wait for a connection says nothing about the time of the answer.
  const client = await pool.connect();
  try {
    const reading = await fastestOf(client, opened());
    client.release();
    return reading;
  } catch (error) {
    // Its answer may still come, so the connection is of no use to others.
    client.release(true);
    throw error;
  }
};

const fastestOf = async (client: PoolClient, opened: number): Promise<Reading> => {
  let best: Reading | undefined;
  for (let count = 0; count < questions; count += 1) {
    const [askedMs, askedMachineMs] = [performance.now(), Date.now()];
    const { rows } = await client.query<{ ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    );
    const countedMs = performance.now() - askedMs;
    // The machine may have slept meanwhile, which only its wall clock shows.
    const tookMs = Math.max(countedMs, Date.now() - askedMachineMs);
    if (best === undefined || tookMs < best.tookMs)
      best = {
        atMs: rows[0]?.ms ?? Number.NaN,
        countedMs: askedMs + countedMs / 2,
        tookMs,
        machineMs: Date.now() - tookMs / 2,
        opened,
      };
  }
  if (best === undefined || Number.isNaN(best.atMs)) throw new Error('the database returned no time');
  return best;
};

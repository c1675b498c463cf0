import type pg from 'pg';
import type { Logger } from 'pino';
import { pause } from '../supervisor.ts';
import { isTransient } from './transaction.ts';

const lookMs = 250;
/** As long as a server may need to read its log after a crash, or a container to start; a wrong address is told then. */
const awayMsMax = 60_000;

/**
 * Resolves when the server takes connections: after a crash of the machine it recovers while the program starts already.
 * Rejects with what keeps it away after a minute, at once when waiting would not help (a wrong password, no such
 * database), and with the signal's reason when that is aborted.
 */
export const awaitServer = async (pool: pg.Pool, log: Logger, signal: AbortSignal): Promise<void> => {
  const deadlineMs = performance.now() + awayMsMax;
  for (let isTold = false; ; isTold = true) {
    signal.throwIfAborted();
    try {
      (await pool.connect()).release();
      return;
    } catch (error) {
      if (!isTransient(error) || performance.now() > deadlineMs) throw error;
      if (!isTold) log.warn({ err: error }, 'the database takes no connections yet; waiting for a minute at most');
    }
    await pause(lookMs, signal);
  }
};

import type pg from 'pg';
import type { Logger } from 'pino';
import { pause } from '../supervisor.ts';
import { isParameterRefused } from './database-address.ts';
import { isTransient } from './transaction.ts';

const lookMs = 250;
/**
 * A server may need this long to read its log after a crash, or a container to start. A wrong address is reported after it.
 */
const awayMsMax = 60_000;

/**
 * Resolves when the server takes connections. After a crash of the machine the server may recover while the program starts.
 * Rejects after a minute with the reason; at once when waiting cannot help (a wrong password, no such database); and with
 * the reason of the signal when that is aborted.
 */
export const awaitServer = async (pool: pg.Pool, log: Logger, signal: AbortSignal): Promise<void> => {
  const deadlineMs = performance.now() + awayMsMax;
  for (let isLogged = false; ; isLogged = true) {
    signal.throwIfAborted();
    try {
      (await pool.connect()).release();
      return;
    } catch (error) {
      if (!isTransient(error) || isParameterRefused(error) || performance.now() > deadlineMs) throw error;
      if (!isLogged) log.warn({ err: error }, 'the database takes no connections yet; waiting for a minute at most');
    }
    await pause(lookMs, signal);
  }
};

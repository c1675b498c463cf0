import type pg from 'pg';
import type { Logger } from 'pino';
import { pause } from '../supervisor.ts';
import { isParameterRefused } from './database-address.ts';
import { isAway } from './transaction.ts';

const lookMs = 250;
/**
 * A server may need this long to read its log after a crash, or a container to start. A wrong address is reported after it.
 */
const awayMsMax = 60_000;

type Wait = {
  log: Logger;
  signal: AbortSignal;
  /** Errors that pass, beside those of a server that is away. */
  passes?: (error: unknown) => boolean;
  /** Logged once, with the error. */
  waiting: string;
};

/** Repeats `look` for a minute while its error may pass, and then rejects with it; with the reason of the signal when that is aborted. */
export const waitForServer = async <T>(look: () => Promise<T>, { log, signal, passes, waiting }: Wait): Promise<T> => {
  const deadlineMs = performance.now() + awayMsMax;
  for (let isLogged = false; ; isLogged = true) {
    signal.throwIfAborted();
    try {
      return await look();
    } catch (error) {
      const mayPass = passes?.(error) === true || (isAway(error) && !isParameterRefused(error));
      if (!mayPass || performance.now() > deadlineMs) throw error;
      if (!isLogged) log.warn({ err: error }, waiting);
    }
    await pause(lookMs, signal);
  }
};

/**
 * Resolves when the server takes connections. After a crash of the machine the server may recover while the program starts.
 * Rejects after a minute with the reason; at once when waiting cannot help (a wrong password, no such database); and with
 * the reason of the signal when that is aborted.
 */
export const awaitServer = (pool: pg.Pool, log: Logger, signal: AbortSignal): Promise<void> =>
  waitForServer(async () => (await pool.connect()).release(), {
    log,
    signal,
    waiting: 'the database takes no connections yet; waiting for a minute at most',
  });

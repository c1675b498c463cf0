/** Retries a start on a full disk for a while, as a start waits for a database without connections. */
import { EmbeddedError } from '#src/platform/db/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';

const retryMs = 1_000;
const retryMsMax = 60_000;

/** Error codes of the system, and of PostgreSQL (disk_full). */
const codes = new Set(['ENOSPC', 'EDQUOT', '53100']);

const isFull = (error: unknown): error is Error =>
  (error instanceof EmbeddedError && error.code === 'DISK_FULL') ||
  (error instanceof Error && codes.has(String(Reflect.get(error, 'code'))));

/**
 * Rejects with the error of `start`: at once, or after a minute for a full disk. Rejects with the reason of the signal when
 * that is aborted.
 */
export const retryWhileFull = async <T>(start: () => Promise<T>, log: Logger, signal: AbortSignal): Promise<T> => {
  const deadlineMs = performance.now() + retryMsMax;
  for (let isLogged = false; ; isLogged = true) {
    signal.throwIfAborted();
    try {
      return await start();
    } catch (error) {
      if (!isFull(error) || performance.now() > deadlineMs) throw error;
      const reason = error.message.split('\n', 1)[0];
      if (!isLogged) log.warn({ reason }, 'the disk is full: the start is retried for a minute at most');
    }
    await pause(retryMs, signal);
  }
};

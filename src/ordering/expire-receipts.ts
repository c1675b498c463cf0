/** Deletes the stored answers of idempotent requests after 48 hours (interface 8). */
import type { Kysely } from 'kysely';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import { deleteExpiredReceipts } from '#src/platform/db/receipts.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';

const everyMs = 10 * minuteMs;
const batchMax = 1000;

export const createReceiptExpiry = (deps: { db: Kysely<unknown>; clock: Clock }): Service => ({
  name: 'expire-receipts',
  run: async (signal) => {
    while (!signal.aborted) {
      // Small batches: a backlog must not lock many rows at once.
      while (!signal.aborted && (await deleteExpiredReceipts(deps.db, deps.clock.now(), batchMax)) === batchMax);
      await pause(everyMs, signal);
    }
  },
});

/**
 * Polls that wait for an event (RFC 8936 section 2.4): those of a process share one look at the store, so a waiting poll costs
 * no statement of its own.
 */
import type { Kysely } from 'kysely';
import { startWait, type Wait } from '#src/platform/wake.ts';
import { streamsWithEvents } from '../events/queue-store.ts';

export type PollWaits = {
  /** Ends when the stream has an event, after the longest wait, or when `signal` is aborted; at once beyond a bound. */
  forEvent(streamId: string, signal: AbortSignal): Promise<void>;
  /** Ends every wait. */
  close(): void;
};

/** chosen: with more, a poll is answered at once, and its receiver polls again. */
const waitsMax = 200;
/** chosen: one receiver must not use up the waits of the others. */
const waitsOfStreamMax = 4;
const waitMsMax = 25_000;
const lookEveryMs = 250;

export const createPollWaits = (db: Kysely<unknown>): PollWaits => {
  const waiting = new Map<Wait, string>();
  let isLooking = false;
  const endFor = (streamIds: readonly string[]): void => {
    for (const [wait, streamId] of waiting) if (streamIds.includes(streamId)) wait.end();
  };
  const look = async (): Promise<void> => {
    isLooking = true;
    while (waiting.size > 0) {
      const ids = [...new Set(waiting.values())];
      // While the store is away polls wait to their end, and their receivers poll again.
      endFor(await streamsWithEvents(db, ids).catch(() => []));
      await startWait(lookEveryMs).over;
    }
    isLooking = false;
  };
  return {
    forEvent: async (streamId, signal) => {
      const ofStream = [...waiting.values()].filter((one) => one === streamId).length;
      if (waiting.size >= waitsMax || ofStream >= waitsOfStreamMax || signal.aborted) return;
      const wait = startWait(waitMsMax);
      waiting.set(wait, streamId);
      signal.addEventListener('abort', wait.end, { once: true });
      if (!isLooking) void look();
      await wait.over;
      waiting.delete(wait);
      signal.removeEventListener('abort', wait.end);
    },
    close: () => {
      for (const wait of waiting.keys()) wait.end();
    },
  };
};

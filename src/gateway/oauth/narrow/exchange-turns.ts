/**
 * Turns for counting exchanges. All exchanges that come of one token are counted in one row, so one that is counted locks out the others,
 * and each that waits for the row holds a connection to the store. Some tens of exchanges of one token would hold every connection,
 * and then no other client would get a token. So they wait here, without a connection.
 */
import { createTurns } from '#src/platform/sharing/semaphore.ts';
import { overloaded } from '../../model/faults.ts';
import type { ReadSubjectDeps } from './read-subject.ts';

/** chosen: `ofEach` is what the row lets through, and a gateway may have as few as three connections. */
const bounds = {
  ofEach: { atOnceMax: 1, waitingMax: 200 },
  ofAll: { atOnceMax: 2, waitingMax: 200 },
  waitMsMax: 10_000,
};

type Count = ReadSubjectDeps['countExchange'];

/** Clients share the turns. Rejects with OVERLOADED when an exchange gets no turn, or as `count` does. */
export const inExchangeTurn = (count: Count): Count => {
  const turns = createTurns(bounds);
  return async (root, exchangesMax, now) => {
    const release = await turns.acquire({ each: root.jti, sharer: root.clientId }, never);
    if (release === undefined) throw overloaded('too many exchanges of tokens wait');
    return count(root, exchangesMax, now).finally(release);
  };
};

const never = new AbortController().signal;

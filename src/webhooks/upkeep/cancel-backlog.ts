/**
 * Cancels the unfinished deliveries of an endpoint that was disabled or removed, a piece at a time: a backlog of a
 * million in one transaction would block others. A delivery whose attempt is in flight is cancelled after its lease
 * ends.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Poll } from '#src/platform/wake.ts';
import { lockEntityQueues, releaseNext } from '../queue/entity-queue-store.ts';
import { cancelInTurn } from './cancel-in-turn.ts';
import { type Cancelling, cancelPiece, endCancelling, findPiece, listCancelling } from './cancel-store.ts';

type CancelDeps = { db: Kysely<unknown>; clock: Clock; poll: Poll };

/** chosen: deliveries in one transaction, so that it stays short. */
const pieceMax = 500;

export const createCancelBacklog = ({ db, clock, poll }: CancelDeps): Service => ({
  name: 'webhook-cancel',
  run: async (signal) => {
    const cancelling = {
      list: (after: string, limit: number) => listCancelling(db, after, limit),
      cancelSome: (endpoint: Cancelling) => cancelSome(db, endpoint, clock.now()),
    };
    const wait = poll.begin(signal);
    while (!signal.aborted) {
      await cancelInTurn(cancelling, signal);
      await wait();
    }
  },
});

/**
 * Returns whether deliveries were cancelled, so that more may be left. Once none is left, an endpoint that is enabled again may
 * receive new ones.
 */
const cancelSome = (db: Kysely<unknown>, endpoint: Cancelling, now: Date): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    const piece = await findPiece(tx, endpoint, now, pieceMax);
    if (piece.length === 0) {
      await endCancelling(tx, endpoint);
      return false;
    }
    await lockEntityQueues(tx, piece);
    const count = await cancelPiece(tx, piece, now);
    // The endpoint may be enabled again. Deliveries that were made since then must not wait behind cancelled ones.
    await releaseNext(tx, piece, now, endpoint.through);
    return count > 0;
  });

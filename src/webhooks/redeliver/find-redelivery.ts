/**
 * The progress of a redelivery, for callers who ask again and again. Its deliveries are counted for an answer, and those of a
 * large one take long. So what was counted is used for other polls: those that come meanwhile, and later ones for a time
 * that grows with the number of deliveries.
 */
import type { Kysely } from 'kysely';
import type { Viewer } from '../endpoints/endpoint.ts';
import { isRedeliverySeen, type RedeliveryProgress, readProgress } from './redelivery-store.ts';

/** chosen: what is counted within the blink of an eye is always counted anew. */
const smallMax = 10_000;
/** measured: some twenty times as long as it takes to count them, so all polls together keep a twentieth of a connection busy. */
const deliveriesPerMs = 50;

type FindRedelivery = (
  db: Kysely<unknown>,
  viewer: Viewer,
  uid: string,
  now: Date,
) => Promise<RedeliveryProgress | undefined>;

/** What it has counted is used within this process. */
export const createFindRedelivery = (): FindRedelivery => {
  /** Those that are being counted, or were a moment ago. */
  const reads = new Map<string, Promise<RedeliveryProgress | undefined>>();
  const start = async (db: Kysely<unknown>, uid: string, now: Date): Promise<RedeliveryProgress | undefined> => {
    const forget = (): void => void reads.delete(uid);
    try {
      const found = await readProgress(db, uid, now);
      if (found === undefined || found.queued <= smallMax) forget();
      else setTimeout(forget, found.queued / deliveriesPerMs).unref();
      return found;
    } catch (error) {
      forget();
      throw error;
    }
  };
  return async (db, viewer, uid, now) => {
    // What others counted is for those only who may see it.
    if (!(await isRedeliverySeen(db, viewer, uid))) return undefined;
    const read = reads.get(uid) ?? start(db, uid, now);
    reads.set(uid, read);
    return read;
  };
};

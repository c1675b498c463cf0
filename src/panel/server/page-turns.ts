/**
 * Bounds how many pages read the store at a time. A page reads several parts of it at once, so the pages that one user opens at a time
 * could hold every connection of the process, which other users and the gateway need too. Users share the turns of pages, and source
 * addresses those of sessions, since a session that was not found yet has no user.
 */
import { Fault } from '#src/contract/fault.ts';
import { createSharedSemaphore, createTurns } from '#src/platform/sharing/semaphore.ts';
import type { PanelContext } from './state.ts';

const waitMsMax = 10_000;
const sessionBounds = { atOnceMax: 4, waitingMax: 256, waitMsMax };
/**
 * chosen: with the parts of each page a short queue for connections. One user never has all turns, since a page may read a large audit for
 * seconds.
 */
const pageBounds = { ofEach: { atOnceMax: 3, waitingMax: 64 }, ofAll: { atOnceMax: 6, waitingMax: 64 }, waitMsMax };
/** Some changes wait for a receiver or for a menu, so a user may have several of them under way, and never those of all. */
const changeBounds = { ofEach: { atOnceMax: 10, waitingMax: 32 }, ofAll: { atOnceMax: 20, waitingMax: 64 }, waitMsMax };

/** Runs `work` in its turn. OVERLOADED where too many wait or the wait takes too long. */
type InTurn = <T>(ctx: PanelContext, sharer: string, work: () => Promise<T>) => Promise<T>;

export const createPageTurns = (): Record<'findSession' | 'readPage' | 'change', InTurn> => ({
  findSession: inTurns(createSharedSemaphore(sessionBounds).acquire),
  readPage: inTurns(ofUsers(pageBounds)),
  change: inTurns(ofUsers(changeBounds)),
});

const ofUsers = (bounds: Parameters<typeof createTurns>[0]): Acquire => {
  const turns = createTurns(bounds);
  return (user, signal) => turns.acquire({ each: user, sharer: user }, signal);
};

type Acquire = (sharer: string, signal: AbortSignal) => Promise<(() => void) | undefined>;

const inTurns =
  (acquire: Acquire): InTurn =>
  async ({ res }, sharer, work) => {
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    res.once('close', leave);
    const release = await acquire(sharer, gone.signal).finally(() => res.off('close', leave));
    // It reaches no client, and the log has no error of it.
    if (gone.signal.aborted) {
      release?.();
      throw new Fault('REQUEST_TIMEOUT', 'The connection closed while the page waited for its turn');
    }
    if (release === undefined) throw new Fault('OVERLOADED', 'Too many requests to the panel are under way');
    return work().finally(release);
  };

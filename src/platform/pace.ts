/** Lets other requests run while something large is worked on. */

/** Undefined while there is time left; else a promise to wait for. Call it between pieces of work of a fraction of a millisecond. */
export type Pace = () => Promise<void> | undefined;

/**
 * A request passes the event loop a dozen times on its way through gateway, core and database, and waits for a stretch each
 * time: it is the stretch, not the whole of the work, that others feel.
 */
const stretchMsMax = 1;

/** Long enough for what others wait for to arrive: after a mere turn of the loop it is seldom there yet. */
const restMs = 1;

/** `elapsedMs`: a monotonic reading, since the wall clock may stand still or jump. */
export const createPace = (elapsedMs: () => number = () => performance.now()): Pace => {
  let since = elapsedMs();
  return () => {
    if (elapsedMs() - since < stretchMsMax) return undefined;
    return new Promise((resolve) => {
      setTimeout(() => {
        since = elapsedMs();
        resolve();
      }, restMs);
    });
  };
};

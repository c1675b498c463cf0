/** Pauses long work so that other requests run in between. */

/**
 * Undefined while the work may go on, else a promise to await. Call it between pieces of work of a fraction of a
 * millisecond.
 */
export type Pace = () => Promise<void> | undefined;

/**
 * A request passes the event loop a dozen times on its way through gateway, core and database, and each pass may wait for
 * one stretch: the stretch, not the whole work, delays others.
 */
const stretchMsMax = 1;

/** Long enough for data of other requests to arrive; within one turn of the event loop it seldom does. */
const restMs = 1;

/** `elapsedMs`: a monotonic clock, since the wall clock may stop or jump. */
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

/** Maps many or large items, with pauses. */
export const mapPaced = async <T, R>(items: readonly T[], toResult: (item: T) => R): Promise<R[]> => {
  const pace = createPace();
  const results: R[] = [];
  for (const item of items) {
    results.push(toResult(item));
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  return results;
};

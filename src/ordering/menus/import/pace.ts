/** Lets other requests run while a large import is worked on. */

/** Undefined while there is time left; else a promise to wait for. Call it between pieces of work of a few milliseconds. */
export type Pace = () => Promise<void> | undefined;

const stretchMsMax = 15;

/** `elapsedMs`: a monotonic reading, since the wall clock may stand still or jump. */
export const createPace = (elapsedMs: () => number = () => performance.now()): Pace => {
  let since = elapsedMs();
  return () => {
    if (elapsedMs() - since < stretchMsMax) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        since = elapsedMs();
        resolve();
      });
    });
  };
};

/** The signals that end a command. */

/** A terminal and a service manager signal every process of a group, and npm passes the signal on: one stop, two signals. */
const sameStopMs = 1_000;

/**
 * Calls `stop` at the first SIGINT or SIGTERM. One that comes later than a second after it ends the process at once, with exit
 * code 130. Returns what removes the listeners.
 */
export const onStop = (stop: (signal: NodeJS.Signals) => void): (() => void) => {
  let firstMs: number | undefined;
  const listener = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    if (firstMs === undefined) {
      firstMs = nowMs;
      stop(signal);
    } else if (nowMs - firstMs > sameStopMs) process.exit(130);
  };
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return () => void process.off('SIGINT', listener).off('SIGTERM', listener);
};

/**
 * Runs the services of a role side by side. A service is a name and a `run` that lasts until its signal is aborted. A failed
 * service is started again after a pause, which grows to a second; the others continue. The signal may be aborted in such a
 * pause, so `end` ends what must not outlive the service.
 */
import type { Logger } from './log.ts';

export type Service = {
  name: string;
  /** `signal` is aborted when the program stops, and when this run has failed. */
  run(signal: AbortSignal): Promise<void>;
  /** Called once after the last run, whether that failed or not. */
  end?(): Promise<void>;
};

const pauseMsMin = 100;
/** chosen: the store may be back at any moment, and recorded events wait for the service. The log counts repeated failures. */
const pauseMsMax = 1_000;
/** A service that ran for so long has started well, and its next failure is a new one. */
const steadyMs = 10_000;

/** Resolves when every service has ended after `signal` was aborted. */
export const supervise = async (services: readonly Service[], signal: AbortSignal, log: Logger): Promise<void> => {
  await Promise.all(services.map((service) => keepRunning(service, signal, log)));
};

const keepRunning = async (service: Service, signal: AbortSignal, log: Logger): Promise<void> => {
  let pauseMs = pauseMsMin;
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      await runOnce(service, signal);
    } catch (error) {
      log.error({ service: service.name, err: error }, 'service failed');
    }
    if (performance.now() - startedAt > steadyMs) pauseMs = pauseMsMin;
    if (!signal.aborted) await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, pauseMsMax);
  }
  try {
    await service.end?.();
  } catch (error) {
    log.error({ service: service.name, err: error }, 'service failed');
  }
};

/** What a run began on its signal ends with it. Loops and listeners of failed runs would else add up while the store is away. */
const runOnce = async (service: Service, signal: AbortSignal): Promise<void> => {
  const run = new AbortController();
  const end = (): void => run.abort();
  signal.addEventListener('abort', end, { once: true });
  try {
    await service.run(run.signal);
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
};

/** Resolves after `ms` or at once when the signal is aborted; never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });

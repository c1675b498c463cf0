/** Restarts a server that ends unexpectedly, with a growing pause while restarts fail. */
import type { Logger } from 'pino';
import { readPidFile } from './pid-file.ts';
import type { Server } from './server.ts';
import type { ServerLog } from './server-log.ts';

export type Serving = { ended: Promise<void>; stop(): void };

const pauseMsMin = 50;
const pauseMsMax = 5_000;
/** After a run of this length the next end counts as a new failure. */
const healthyMs = 30_000;
const tendMs = 5_000;

/** Rejects if the first start fails. Later failures are logged and retried without end. */
export const keepServing = async (
  start: (signal: AbortSignal) => Promise<Server>,
  about: { cluster: string; serverLog: ServerLog; log: Logger },
): Promise<Serving> => {
  const stopping = new AbortController();
  const first = await start(stopping.signal);
  const ended = serve(first, start, stopping.signal, about);
  return { ended, stop: () => stopping.abort() };
};

type About = { cluster: string; serverLog: ServerLog; log: Logger };

const serve = async (
  first: Server,
  start: (signal: AbortSignal) => Promise<Server>,
  signal: AbortSignal,
  about: About,
): Promise<void> => {
  let server: Server | undefined = first;
  let pauseMs = pauseMsMin;
  while (!signal.aborted) {
    if (server !== undefined) {
      const startedAt = performance.now();
      const exit = await untilEndOrStop(server, signal, about);
      if (signal.aborted) break;
      if (performance.now() - startedAt > healthyMs) pauseMs = pauseMsMin;
      about.log.error({ exit }, 'PostgreSQL ended unexpectedly and is started again');
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    if (signal.aborted) return;
    server = await start(signal).catch((error: unknown) => {
      if (!signal.aborted) about.log.error({ err: error }, 'PostgreSQL could not be started again');
      return undefined;
    });
    if (server !== undefined) about.log.info('PostgreSQL is back');
  }
  await server?.stop();
};

const untilEndOrStop = async (server: Server, signal: AbortSignal, about: About): Promise<number | string> => {
  const tending = setInterval(() => void tend(server, about), tendMs);
  tending.unref();
  const asked = Promise.withResolvers<string>();
  const ask = (): void => asked.resolve('stop');
  signal.addEventListener('abort', ask, { once: true });
  try {
    return await Promise.race([server.child.exited, asked.promise]);
  } finally {
    signal.removeEventListener('abort', ask);
    clearInterval(tending);
  }
};

/**
 * A SIGTERM from outside makes PostgreSQL refuse new connections and wait until all others close. The pool keeps its
 * connections open, so the wait is cut short and the server is restarted.
 */
const tend = async (server: Server, about: About): Promise<void> => {
  await about.serverLog.bound().catch(() => undefined);
  const pidFile = await readPidFile(about.cluster).catch(() => undefined);
  if (pidFile?.status === 'stopping') server.child.kill('SIGINT');
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });

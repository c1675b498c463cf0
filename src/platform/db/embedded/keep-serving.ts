/** Keeps a server up: starts it again when it ends unasked, with a growing pause while that does not help. */
import type { Logger } from 'pino';
import { readPidFile } from './pid-file.ts';
import type { Server } from './server.ts';
import type { ServerLog } from './server-log.ts';

export type Serving = { ended: Promise<void>; stop(): void };

const pauseMsMin = 50;
const pauseMsMax = 5_000;
/** A server that ran this long was healthy: the next end is a new trouble. */
const healthyMs = 30_000;
const tendMs = 5_000;

/** Rejects if the first start fails; later failures are logged and tried again for ever. */
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
      const startedAt = Date.now();
      const exit = await untilEndOrStop(server, signal, about);
      if (signal.aborted) break;
      if (Date.now() - startedAt > healthyMs) pauseMs = pauseMsMin;
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
 * A SIGTERM from outside makes PostgreSQL refuse newcomers and wait for everybody else to leave, which our pool never
 * does: the wait is cut short so that the server comes back.
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

/**
 * Hands requests for long work (`apart` of an operation) to a process. The process is started for the first of them and
 * ended when none has come for a while; one that dies is replaced for the next request, and what it was doing was never
 * committed.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Context } from 'koa';
import { Fault } from '#src/contract/fault.ts';
import { requestIdHeader } from '#src/contract/headers.ts';
import type { OrderingSettings } from '#src/ordering/config.ts';
import type { Logger, LogLevel } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import { createTurns } from './take-turns.ts';

/** What the process is started with. */
export type ApartSettings = {
  databaseUrl: string;
  /** The database is our own, on this machine. */
  embedded: boolean;
  applicationName: string;
  logLevel: LogLevel;
  /** Base64. */
  assertionKey: string;
  /** Base64. */
  cursorKey: string;
  ordering: OrderingSettings;
};

export type Apart = {
  /** Answers the request as the process does. Throws OVERLOADED when it cannot be reached. */
  serve(ctx: Context): Promise<void>;
  /** Lets what runs finish, within a bound. */
  close(): Promise<void>;
};

type Child = { process: ChildProcess; port: Promise<number>; gone: Promise<void>; ending: boolean };

const startMsMax = 20_000;
const stopMsMax = 5_000;
const goneMsMax = 1_000;
const idleMsMax = 300_000;

/**
 * The largest request needs a third of this: beyond it the process ends, and the program does not. Left to itself V8 lets
 * as much garbage gather as there are living objects; collecting earlier costs time that nobody else waits for. It collects
 * on the one thread: helpers would take every core at once, and with them those of the requests that are answered meanwhile.
 */
const heapFlags = [
  '--max-old-space-size=1024',
  '--heap-growing-percent=40',
  '--max-semi-space-size=4',
  '--single-threaded-gc',
];

/** Whoever debugs or watches the program does not mean this process. */
const ownFlags = process.execArgv.filter((flag) => !/^--(inspect|watch|expose-gc|max-)/.test(flag));

/** A smaller body is no large work by its reading, and waits for nobody. */
const largeBytes = 256 * 1024;
const largeAtOnceMax = 2;
const waitingMax = 32;
const waitMsMax = 20_000;

export const createApart = (settings: ApartSettings, { log }: { log: Logger }): Apart => {
  const agent = new Agent({ keepAlive: true });
  const turns = createTurns({ atOnceMax: largeAtOnceMax, waitingMax, waitMsMax });
  let child: Child | undefined;
  let running = 0;
  let idle: NodeJS.Timeout | undefined;

  const current = (): Child => {
    if (child !== undefined) return child;
    const started = startChild(settings, log);
    child = started;
    void started.gone.then(() => {
      if (child === started) child = undefined;
    });
    return started;
  };

  const end = async (): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending !== undefined) await stopChild(ending);
  };

  const forward = async (ctx: Context): Promise<void> => {
    clearTimeout(idle);
    running += 1;
    ctx.res.once('close', () => {
      running -= 1;
      if (running === 0) idle = setTimeout(() => void end(), idleMsMax).unref();
    });
    const asked = current();
    let answer: IncomingMessage;
    try {
      answer = await ask(ctx, await asked.port, agent);
    } catch (error) {
      if (!ctx.res.closed) await endOf(asked);
      throw unreachable(error);
    }
    ctx.status = answer.statusCode ?? 502;
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined && !hopByHop.has(name)) ctx.set(name, value);
    ctx.body = answer;
  };

  return {
    serve: async (ctx) => {
      if (!isLarge(ctx.req)) return forward(ctx);
      const done = await turns.take(ctx.state.signal as AbortSignal);
      if (done === undefined) {
        if (ctx.res.closed) return;
        throw unreachable(undefined);
      }
      ctx.res.once('close', done);
      if (ctx.res.closed) return done();
      await forward(ctx);
    },
    close: async () => {
      clearTimeout(idle);
      await end();
      agent.destroy();
    },
  };
};

const isLarge = ({ method, headers }: IncomingMessage): boolean =>
  method === 'POST' &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > largeBytes);

const unreachable = (cause: unknown): Fault =>
  new Fault('OVERLOADED', 'The service is not available right now; try again shortly', {
    headers: { 'retry-after': '2' },
    cause: cause ?? new Error('too many large requests at once'),
  });

/** RFC 9110 section 7.6.1. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'host',
  'expect',
]);

/** The head of the process's answer; its body and that of the request flow on by themselves. */
const ask = (ctx: Context, port: number, agent: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = Object.fromEntries(Object.entries(ctx.req.headers).filter(([name]) => !hopByHop.has(name)));
    headers[requestIdHeader] = String(ctx.state.requestId);
    const { method, url: path } = ctx.req;
    const asked = request({ host: '127.0.0.1', port, agent, method, path, headers });
    asked.once('response', resolve);
    asked.on('error', reject);
    // A caller that goes away takes its request back.
    ctx.res.once('close', () => asked.destroy());
    ctx.req.pipe(asked);
  });

const startChild = (settings: ApartSettings, log: Logger): Child => {
  const process = fork(new URL('./process.ts', import.meta.url), [], {
    // Beside what this process was started with: the flags that let Node read the program.
    execArgv: [...ownFlags, ...heapFlags],
    // Standard output belongs to the command line; the log goes where the program's goes.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A session of its own, which can be lowered as a whole (niceness.ts).
    detached: true,
  });
  const gone = new Promise<void>((resolve) => {
    process.once('exit', () => resolve());
    // One that could not be started has no exit.
    process.once('error', () => process.pid === undefined && resolve());
  });
  const port = new Promise<number>((resolve, reject) => {
    const tooLong = setTimeout(() => reject(new Error('the process for long work does not start')), startMsMax);
    const failed = (error: Error): void => {
      clearTimeout(tooLong);
      reject(error);
    };
    process.once('error', failed);
    process.once('message', (said: unknown) => {
      clearTimeout(tooLong);
      resolve((said as { port: number }).port);
    });
    void gone.then(() => failed(new Error('the process for long work has ended')));
  });
  const child: Child = { process, port, gone, ending: false };
  void gone.then(() => {
    if (!child.ending)
      log.error({ code: process.exitCode, signal: process.signalCode }, 'the process for long work has died');
  });
  // Told to whoever asks; nobody may be asking.
  port.catch(() => process.kill('SIGKILL'));
  process.send(settings, () => undefined);
  return child;
};

/**
 * Waits a moment for the end of a process whose connection broke. The system closes connections before it tells of the end,
 * and whoever is answered now may ask again at once: that request is for the next process.
 */
const endOf = async ({ gone }: Child): Promise<void> => {
  const over = new AbortController();
  await Promise.race([gone, pause(goneMsMax, over.signal)]);
  over.abort();
};

const stopChild = async (child: Child): Promise<void> => {
  child.ending = true;
  // It hears this only when it is up.
  await child.port.catch(() => undefined);
  if (child.process.connected) child.process.send('stop', () => undefined);
  const force = setTimeout(() => child.process.kill('SIGKILL'), stopMsMax);
  await child.gone;
  clearTimeout(force);
};

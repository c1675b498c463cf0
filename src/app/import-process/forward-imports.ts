/**
 * Hands requests for long work (`apart` of an operation) to a process. The process is started for the first of them and
 * ended when none has come for a while; one that dies is replaced for the next request, and what it was doing was never
 * committed.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Context } from 'koa';
import { Fault } from '#src/contract/fault.ts';
import { requestIdHeader } from '#src/contract/headers.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import { createTurns } from '../../platform/semaphore.ts';
import type { ImportSettings } from './messages.ts';
import { type Child, endOf, startChild, stopChild } from './start-child.ts';

export type Apart = {
  /** Answers the request as the process does. Throws OVERLOADED when it cannot be reached. */
  serve(ctx: Context): Promise<void>;
  /** Lets what runs finish, within a bound. */
  close(): Promise<void>;
};

const idleMsMax = 300_000;

/** How long a request waits for a process that starts; the start goes on after it, and the next request finds it further. */
const startWaitMsMax = 20_000;

/** A smaller body is no large work by its reading, and waits for nobody. */
const largeBytes = 256 * 1024;
const largeAtOnceMax = 2;
const waitingMax = 32;
const waitMsMax = 20_000;

export const createApart = (settings: ImportSettings, { log }: { log: Logger }): Apart => {
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
    // Those who waited for it may be gone by now, and one that still starts is not ended.
    started.port.then(whenIdle, () => undefined);
    return started;
  };

  const whenIdle = (): void => {
    clearTimeout(idle);
    if (running === 0 && child?.isUp() === true) idle = setTimeout(() => void end(), idleMsMax).unref();
  };

  const end = async (): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending !== undefined) await stopChild(ending);
  };

  const forward = async (ctx: Context, closed: Closed): Promise<void> => {
    clearTimeout(idle);
    running += 1;
    closed.push(() => {
      running -= 1;
      whenIdle();
    });
    const asked = current();
    let answer: IncomingMessage;
    try {
      const port = await portInTime(asked);
      if (ctx.res.closed) return;
      if (port === undefined) throw unreachable(new Error('the process for long work is still starting'));
      answer = await ask(ctx, { port, agent, closed });
    } catch (error) {
      if (error instanceof Fault) throw error;
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
      const closed = whenClosed(ctx);
      if (!isLarge(ctx.req)) return forward(ctx, closed);
      const done = await turns.take(ctx.state.signal as AbortSignal);
      if (done === undefined) {
        if (ctx.res.closed) return;
        throw unreachable(new Error('too many large requests at once'));
      }
      if (ctx.res.closed) return done();
      closed.push(done);
      await forward(ctx, closed);
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

/** What is to be done when the answer has ended or its caller is gone. */
type Closed = (() => void)[];

/**
 * One listener for all that waits for the end of an answer: with one each, and those of koa and of a piped body, there are
 * more of them than Node takes for sound, and it would warn of a leak.
 */
const whenClosed = ({ res }: Context): Closed => {
  const closed: Closed = [];
  res.once('close', () => {
    for (const act of closed) act();
  });
  return closed;
};

/** Undefined when the process is not up in time; its start goes on. Rejects when it has ended. */
const portInTime = async ({ port }: Child): Promise<number | undefined> => {
  const over = new AbortController();
  try {
    return await Promise.race([port, pause(startWaitMsMax, over.signal).then(() => undefined)]);
  } finally {
    over.abort();
  }
};

const unreachable = (cause: unknown): Fault =>
  new Fault('OVERLOADED', 'The service is not available right now; try again shortly', {
    headers: { 'retry-after': '2' },
    cause,
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
const ask = (
  ctx: Context,
  { port, agent, closed }: { port: number; agent: Agent; closed: Closed },
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = Object.fromEntries(Object.entries(ctx.req.headers).filter(([name]) => !hopByHop.has(name)));
    headers[requestIdHeader] = String(ctx.state.requestId);
    const { method, url: path } = ctx.req;
    const asked = request({ host: '127.0.0.1', port, agent, method, path, headers });
    asked.once('response', resolve);
    asked.on('error', reject);
    // A caller that goes away takes its request back.
    closed.push(() => asked.destroy());
    ctx.req.pipe(asked);
  });

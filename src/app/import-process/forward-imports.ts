/**
 * Forwards long work (`longWork` of an operation: menu imports) to the import process. The process starts with the first
 * request and ends after an idle time. A process that died is replaced for the next request; its unfinished work was never
 * committed.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Context } from 'koa';
import { Fault } from '#src/contract/fault.ts';
import { requestIdHeader } from '#src/contract/headers.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSharedSemaphore } from '#src/platform/semaphore.ts';
import { pause } from '#src/platform/supervisor.ts';
import type { ImportSettings } from './messages.ts';
import { type Child, endOf, startChild, stopChild } from './start-child.ts';

export type ImportProcess = {
  /** Answers the request with the answer of the process. Throws OVERLOADED when the process cannot be reached. */
  serve(ctx: Context, caller: { id: string }): Promise<void>;
  /** Lets running requests finish, within a bound. */
  close(): Promise<void>;
};

const idleMsMax = 300_000;

/**
 * How long a request waits for a starting process. The start continues after it, and the next request waits for the rest.
 */
const startWaitMsMax = 20_000;

/** A smaller body is read quickly, so its request does not wait for a slot. */
const largeBytes = 256 * 1024;
const largeAtOnceMax = 2;
const waitingMax = 32;
const waitMsMax = 20_000;

export const createImportProcess = (settings: ImportSettings, { log }: { log: Logger }): ImportProcess => {
  const agent = new Agent({ keepAlive: true });
  // Callers share it, so that the imports of one leave a turn for those of the others.
  const slots = createSharedSemaphore({ atOnceMax: largeAtOnceMax, waitingMax, waitMsMax });
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
    // The requests that waited for it may have gone by now; a process that is still starting is not ended.
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
    const child = current();
    let answer: IncomingMessage;
    try {
      const port = await portInTime(child);
      if (ctx.res.closed) return;
      if (port === undefined) throw unreachable(new Error('the import process is still starting'));
      answer = await ask(ctx, { port, agent, closed });
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (!ctx.res.closed) await endOf(child);
      throw unreachable(error);
    }
    ctx.status = answer.statusCode ?? 502;
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined && !hopByHop.has(name)) ctx.set(name, value);
    ctx.body = answer;
  };

  return {
    serve: async (ctx, caller) => {
      const closed = whenClosed(ctx);
      if (!isLarge(ctx.req)) return forward(ctx, closed);
      const release = await slots.acquire(caller.id, ctx.state.signal as AbortSignal);
      if (release === undefined) {
        if (ctx.res.closed) return;
        throw unreachable(new Error('too many large requests at once'));
      }
      if (ctx.res.closed) return release();
      closed.push(release);
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

/** Actions for the end of the answer, or for a caller that goes away. */
type Closed = (() => void)[];

/**
 * One listener for all actions: with one each, beside those of koa and of the piped body, Node would warn of a listener
 * leak.
 */
const whenClosed = ({ res }: Context): Closed => {
  const closed: Closed = [];
  res.once('close', () => {
    for (const act of closed) act();
  });
  return closed;
};

/** Undefined when the process is not up in time; its start continues. Rejects when the process has ended. */
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

/** Resolves with the head of the answer. The bodies of request and answer are piped. */
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
    // A caller that goes away aborts its request.
    closed.push(() => asked.destroy());
    ctx.req.pipe(asked);
  });

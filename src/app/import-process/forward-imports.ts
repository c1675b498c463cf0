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
import { pause } from '#src/platform/supervisor.ts';
import { type Admitted, createLargeBodies } from './large-bodies.ts';
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

/** A smaller body takes little memory, so its request does not wait. */
const largeBytes = 256 * 1024;

export const createImportProcess = (settings: ImportSettings, { log }: { log: Logger }): ImportProcess => {
  const agent = new Agent({ keepAlive: true });
  const largeBodies = createLargeBodies();
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

  const forward = async (ctx: Context, closed: Closed, large?: Admitted): Promise<void> => {
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
      answer = await ask(ctx, { port, agent, closed, large });
      // The work is done. A client that reads its answer slowly holds no slot for the bodies of others.
      large?.leave();
    } catch (error) {
      // The failure is that of its connection, and nothing that the log should have.
      if (ctx.res.closed) return;
      if (error instanceof Fault) throw error;
      await endOf(child);
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
      const large = await largeBodies.admit(caller.id, ctx.state.signal as AbortSignal);
      if (ctx.res.closed) return large?.leave();
      if (large === undefined) throw tooManyLarge();
      closed.push(large.leave);
      await forward(ctx, closed, large);
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

const tooManyLarge = (): Fault => unreachable(new Error('too many large requests at once'));

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

type Asking = { port: number; agent: Agent; closed: Closed; large: Admitted | undefined };

/** Resolves with the head of the answer. The bodies of request and answer are piped. */
const ask = (ctx: Context, { port, agent, closed, large }: Asking): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = Object.fromEntries(Object.entries(ctx.req.headers).filter(([name]) => !hopByHop.has(name)));
    headers[requestIdHeader] = String(ctx.state.requestId);
    // The end of a body with a length comes with its last byte, that of a chunked one when the request ends.
    if (large !== undefined) delete headers['content-length'];
    const { method, url: path } = ctx.req;
    const asked = request({ host: '127.0.0.1', port, agent, method, path, headers });
    asked.once('response', resolve);
    asked.on('error', reject);
    // A caller that goes away aborts its request.
    closed.push(() => asked.destroy());
    ctx.req.pipe(asked, { end: large === undefined });
    if (large === undefined) return;
    ctx.req.once('end', async () => {
      if (await large.mayEnd()) asked.end();
      else asked.destroy(tooManyLarge());
    });
  });

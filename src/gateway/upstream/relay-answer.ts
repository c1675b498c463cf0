/** The way back: an upstream's answer to the client, streamed with backpressure, or handed over to the translation. */
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Exchange } from '../exchange.ts';
import { passHeaders, type UpstreamHeaders } from './response-headers.ts';
import type { ErrorCollector, TranslateError } from './translate-errors.ts';

type Controller = Dispatcher.DispatchController;

type RelayDeps = {
  edgeHeaders: (requestId: string) => string[];
  translate: TranslateError;
};

type RelayEvents = {
  /** The upstream is done with this request, however it went. Exactly once. */
  onSettled: () => void;
  /** Nothing has been written to the client. `sawAnswer`: a final status had come. */
  onFailure: (error: Error, sawAnswer: boolean) => void;
  /** HEAD was refused: the refusal's headers depend on a body that only GET has. */
  onErrorWithoutBody: () => void;
  asksAgain: boolean;
};

export type Relay = {
  handler: Dispatcher.DispatchHandler;
  /** Ends the exchange from our side. */
  fail: (error: Error) => void;
  limitWaiting: (ms: number, fault: () => Error) => void;
};

/** How long a client may take none of its answer before its upstream connection is given to somebody else. */
const stalledMs = 30_000;

const clientGone = new Error('the client closed the connection');

export const createRelay = (deps: RelayDeps, exchange: Exchange, events: RelayEvents): Relay => {
  const { res } = exchange;
  let controller: Controller | undefined;
  let abortReason: Error | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let collector: ErrorCollector | undefined;
  let sawAnswer = false;
  let asksAgain = false;
  let settled = false;
  /** Bytes that are still missing from an answer of known length; -1 when it is not known. */
  let missing = -1;

  const settle = (): boolean => {
    if (settled) return false;
    settled = true;
    clearTimeout(waiting);
    res.off('close', onClose);
    events.onSettled();
    return true;
  };

  const fail = (error: Error): void => {
    if (!settle()) return;
    abortReason = error;
    controller?.abort(error);
    if (error === clientGone) return;
    if (collector !== undefined) collector.fail(error);
    else if (res.headersSent) cut(exchange);
    else events.onFailure(error, sawAnswer);
  };

  const onClose = (): void => fail(clientGone);

  const begin = (status: number, headers: UpstreamHeaders): void => {
    const all = passHeaders(headers, deps.edgeHeaders(exchange.requestId));
    if (headers['cache-control'] === undefined) all.push('cache-control', 'no-store');
    const length = headers['content-length'];
    if (length !== undefined && exchange.method !== 'HEAD') missing = Number(length);
    res.writeHead(status, all);
  };

  const pass = (chunk: Buffer): void => {
    if (missing === chunk.length) {
      missing = 0;
      endWith(res, chunk);
      return;
    }
    missing -= chunk.length;
    if (!res.write(chunk)) pauseUntilDrained(res, controller, fail);
  };

  res.once('close', onClose);

  return {
    fail,
    limitWaiting: (ms, fault) => {
      if (controller === undefined && !settled) waiting = setTimeout(() => fail(fault()), ms);
    },
    handler: {
      onRequestStart: (started) => {
        controller = started;
        clearTimeout(waiting);
        if (abortReason !== undefined) started.abort(abortReason);
      },
      onResponseStart: (answering, status, headers) => {
        if (status < 200 || settled) return;
        sawAnswer = true;
        if (status < 400) return begin(status, headers);
        if (events.asksAgain) {
          asksAgain = true;
          return;
        }
        collector = deps.translate(exchange, {
          status,
          headers,
          controller: answering,
          passOn: (collected) => {
            collector = undefined;
            begin(status, headers);
            if (exchange.method !== 'HEAD') for (const chunk of collected) pass(chunk);
          },
        });
      },
      onResponseData: (_controller, chunk) => {
        if (settled) return;
        if (collector !== undefined) collector.push(chunk);
        else if (exchange.method !== 'HEAD') pass(chunk);
      },
      onResponseEnd: () => {
        if (!settle()) return;
        if (asksAgain) return events.onErrorWithoutBody();
        if (collector !== undefined) return collector.end();
        if (!res.writableEnded) res.end();
      },
      onResponseError: (_controller, error) => fail(error),
    },
  };
};

/** Above this a copy costs more than a second write. */
const joinedBytesMax = 16 * 1024;

/**
 * The last piece. As Latin-1 text, which maps every byte to itself, Node joins a short one with the header to a single
 * write to the socket; a Buffer makes it a gathering write, which costs more than the copy.
 */
const endWith = (res: ServerResponse, chunk: Buffer): void => {
  if (res.headersSent && chunk.length <= joinedBytesMax) res.end(chunk.toString('latin1'), 'latin1');
  else res.end(chunk);
};

/** The client has seen the start of an answer whose end will never come; it must not take it for the whole. */
const cut = ({ req, res }: Exchange): void => {
  const { socket } = res;
  // HTTP/1.0 reads to the end of the connection, so only a reset tells it that something is missing.
  if (req.httpVersionMinor === 0 && socket !== null) socket.resetAndDestroy();
  else res.destroy();
};

const pauseUntilDrained = (
  res: ServerResponse,
  controller: Controller | undefined,
  fail: (error: Error) => void,
): void => {
  if (controller === undefined || controller.paused) return;
  controller.pause();
  const stalled = setTimeout(() => fail(new Error('the client takes nothing of its answer')), stalledMs);
  const go = (): void => {
    clearTimeout(stalled);
    res.off('drain', go).off('close', go);
    controller.resume();
  };
  res.on('drain', go).on('close', go);
};

/** A door that only refuses and redirects: the head check, the access log and the dialects, without a gateway behind it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import type { Logger } from '#src/platform/log.ts';
import { dialectsOf } from '../answer/dialects.ts';
import { createEdgeHeaders } from '../answer/security-headers.ts';
import { createWriteAnswer, faultHeaders, renderFault, type WriteAnswer } from '../answer/write-answer.ts';
import type { DpopSettings } from '../dpop/config.ts';
import { expectationFailed } from '../model/faults.ts';
import { createRequestIds } from '../model/request-id.ts';
import { createExchange, type Exchange } from '../request/exchange.ts';
import { createCheckRequestHead } from './check-request-head.ts';
import { createOnClientError } from './client-error.ts';
import { createRefuseUpgrade, type DoorHandlers } from './front.ts';
import { createLogRequest } from './log-request.ts';

export type BareDoorDeps = {
  settings: DpopSettings & { realm: string; url_bytes_max: number; header_bytes_max: number; hsts_seconds: number };
  /** Public address. */
  origin: string;
  log: Logger;
};

type Answering = {
  /** See `createEdgeHeaders`. */
  strictTransport: string | undefined;
  /** Answers a request with a right head. A Fault that it throws is rendered in the dialect of the caller. */
  answer: (exchange: Exchange, write: WriteAnswer) => void;
  /** For CONNECT and for upgrades. */
  refusal: (exchange: Exchange) => Fault;
};

export const createBareDoor = (
  { settings, origin, log }: BareDoorDeps,
  { strictTransport, answer, refusal }: Answering,
): DoorHandlers => {
  const edgeHeaders = createEdgeHeaders(strictTransport);
  const dialects = dialectsOf(origin, settings);
  const uncounted = (): void => undefined;
  const write = createWriteAnswer({ edgeHeaders, answered: uncounted, settle: () => undefined });
  const requestIds = createRequestIds(Date.now);
  const logRequest = createLogRequest({ log, nowMs: () => performance.now() });
  const checkRequestHead = createCheckRequestHead({
    urlBytesMax: settings.url_bytes_max,
    headerBytesMax: settings.header_bytes_max,
  });
  const writeFault = (exchange: Exchange, thrown: unknown): void => {
    const fault = thrown instanceof Fault ? thrown : refusal(exchange);
    exchange.refusal = fault.code;
    const rendered = renderFault(exchange, fault, dialects);
    write(exchange, { status: fault.status, headers: faultHeaders(fault, rendered), body: rendered.body });
  };
  const enter = (
    req: IncomingMessage,
    res: ServerResponse,
    awaitsContinue: boolean,
    then: Answering['answer'],
  ): void => {
    const given = req.headers['x-request-id'];
    const requestId = requestIds(typeof given === 'string' ? given : undefined);
    const exchange = createExchange(req, res, requestId, performance.now(), awaitsContinue, dialects.dpop);
    logRequest(exchange);
    try {
      checkRequestHead(exchange);
      then(exchange, write);
    } catch (thrown) {
      writeFault(exchange, thrown);
    }
  };
  const unexpected = (): never => {
    throw expectationFailed();
  };
  const front = { requestIds, logRequest, traceRequest: undefined, checkRequestHead, dpop: dialects.dpop, writeFault };
  return {
    handler: (req, res) => enter(req, res, false, answer),
    continueHandler: (req, res) => enter(req, res, true, answer),
    expectationHandler: (req, res) => enter(req, res, true, unexpected),
    connectHandler: createRefuseUpgrade(front, refusal),
    upgradeHandler: createRefuseUpgrade(front, refusal),
    wantsUpgrade: () => false,
    clientErrorHandler: createOnClientError({
      edgeHeaders,
      dialects,
      requestIds,
      log,
      answered: uncounted,
      refused: uncounted,
      writeFault,
    }),
  };
};

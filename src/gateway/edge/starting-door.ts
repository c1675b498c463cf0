/** Answers the public port until the gateway is ready: 503 for every request, in the dialect of its caller. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import type { Logger } from '#src/platform/log.ts';
import { createEdgeHeaders } from '../answer/security-headers.ts';
import { createWriteAnswer, faultHeaders, renderFault } from '../answer/write-answer.ts';
import type { DpopSettings } from '../dpop/config.ts';
import { expectationFailed, stillStarting } from '../model/faults.ts';
import { createRequestIds } from '../model/request-id.ts';
import { introspectionPath, revocationPath } from '../oauth/documents.ts';
import { errorAnswer, temporarilyUnavailable } from '../oauth/oauth-answers.ts';
import { tokenPath } from '../oauth/token-issuer.ts';
import { createExchange, type Exchange } from '../request/exchange.ts';
import { createCheckRequestHead } from './check-request-head.ts';
import { createOnClientError } from './client-error.ts';
import { createRefuseUpgrade, type DoorHandlers } from './front.ts';
import { createLogRequest } from './log-request.ts';

type StartingDoorDeps = {
  settings: DpopSettings & { realm: string; url_bytes_max: number; header_bytes_max: number };
  /** Public address. */
  origin: string;
  log: Logger;
};

const oauthPaths: ReadonlySet<string> = new Set([tokenPath, revocationPath, introspectionPath]);

export const createStartingDoor = ({ settings, origin, log }: StartingDoorDeps): DoorHandlers => {
  const edgeHeaders = createEdgeHeaders(origin);
  const dialects = { origin, realm: settings.realm, dpop: settings.dpop !== 'off' };
  const uncounted = (): void => undefined;
  const write = createWriteAnswer({ edgeHeaders, answered: uncounted, settle: () => undefined });
  const requestIds = createRequestIds(Date.now);
  const logRequest = createLogRequest({ log, nowMs: () => performance.now() });
  const checkRequestHead = createCheckRequestHead({
    urlBytesMax: settings.url_bytes_max,
    headerBytesMax: settings.header_bytes_max,
  });
  const writeFault = (exchange: Exchange, thrown: unknown): void => {
    const fault = thrown instanceof Fault ? thrown : stillStarting();
    exchange.refusal = fault.code;
    const rendered = renderFault(exchange, fault, dialects);
    write(exchange, { status: fault.status, headers: faultHeaders(fault, rendered), body: rendered.body });
  };
  const answer = (exchange: Exchange): void => {
    if (!oauthPaths.has(exchange.path)) return writeFault(exchange, stillStarting());
    const { status, headers, body } = errorAnswer(temporarilyUnavailable(), origin, exchange.requestId);
    exchange.refusal = 'OVERLOADED';
    const all = ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store', 'pragma', 'no-cache'];
    for (const [name, value] of Object.entries(headers)) all.push(name, value);
    write(exchange, { status, headers: all, body: JSON.stringify(body) });
  };
  const enter = (req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean, then: typeof answer): void => {
    const given = req.headers['x-request-id'];
    const requestId = requestIds(typeof given === 'string' ? given : undefined);
    const exchange = createExchange(req, res, requestId, performance.now(), awaitsContinue, dialects.dpop);
    logRequest(exchange);
    try {
      checkRequestHead(exchange);
      then(exchange);
    } catch (thrown) {
      writeFault(exchange, thrown);
    }
  };
  const unexpected = (): never => {
    throw expectationFailed();
  };
  const front = {
    requestIds,
    logRequest,
    traceRequest: undefined,
    checkRequestHead,
    dpop: dialects.dpop,
    writeFault,
  };
  return {
    handler: (req, res) => enter(req, res, false, answer),
    continueHandler: (req, res) => enter(req, res, true, answer),
    expectationHandler: (req, res) => enter(req, res, true, unexpected),
    connectHandler: createRefuseUpgrade(front, stillStarting),
    upgradeHandler: createRefuseUpgrade(front, stillStarting),
    wantsUpgrade: () => false,
    clientErrorHandler: createOnClientError({
      edgeHeaders,
      dialects,
      requestIds,
      log,
      answered: uncounted,
      refused: uncounted,
    }),
  };
};

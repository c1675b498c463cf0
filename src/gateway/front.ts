/** From the listener to the part that answers: id, size of the head, then own paths or the pipeline. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WriteFault } from './edge/write-answer.ts';
import { createExchange, type Exchange, type Step } from './exchange.ts';
import type { OwnPaths } from './own-paths.ts';
import type { Pipeline } from './pipeline.ts';

type FrontDeps = {
  requestIds: (given: string | undefined) => string;
  recordDecision: (exchange: Exchange) => void;
  checkRequestHead: Step;
  ownPaths: OwnPaths;
  pipeline: Pipeline;
  writeFault: WriteFault;
};

export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** `awaitsContinue`: this handler serves the server's `checkContinue` event. */
export const createFront = (deps: FrontDeps, awaitsContinue: boolean): Handler => {
  return (req, res) => {
    const given = req.headers['x-request-id'];
    const requestId = deps.requestIds(typeof given === 'string' ? given : undefined);
    const exchange = createExchange(req, res, requestId, performance.now(), awaitsContinue);
    deps.recordDecision(exchange);
    try {
      deps.checkRequestHead(exchange);
    } catch (thrown) {
      deps.writeFault(exchange, thrown);
      return;
    }
    if (!deps.ownPaths.owns(exchange.path)) return deps.pipeline(exchange);
    if (awaitsContinue) res.writeContinue();
    deps.ownPaths.serve(exchange);
  };
};

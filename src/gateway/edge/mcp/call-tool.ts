/** One call of a tool: its request, and what becomes of the answer. */
import { envelopeOf, type Fault, validationFault } from '#src/contract/fault.ts';
import type { Exchange } from '../../request/exchange.ts';
import type { Tool } from './describe-tools.ts';
import type { SendInner } from './inner-requests.ts';
import { toolRequest } from './tool-request.ts';
import { credentialRefusal, errorResult, type ToolResult, toolResult } from './tool-result.ts';

const brokenText =
  'The answer broke off, so whether the operation was carried out is not known. Send a call that changes something again only with the idempotency_key that it had.';

type CallDeps = { sendInner: SendInner; resultBytesMax: number };

type Call = {
  run: (tool: Tool, given: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<ToolResult>;
  /** The answer of the HTTP request in place of the result. */
  refusal: () => Fault | undefined;
  /** The call became a request, which was charged and recorded. */
  wasSent: () => boolean;
};

export const createCall = (deps: CallDeps, exchange: Exchange): Call => {
  let refused: Fault | undefined;
  let isSent = false;
  return {
    refusal: () => refused,
    wasSent: () => isSent,
    run: async (tool, given, signal) => {
      const { request, errors } = toolRequest(tool, given);
      if (request === undefined)
        return errorResult(JSON.stringify(envelopeOf(validationFault(errors), exchange.requestId)));
      isSent = true;
      // The list of the caller's requests has the request of the operation, and nothing beside it.
      exchange.isNoted = true;
      const bytesMax = deps.resultBytesMax;
      const answer = await deps.sendInner(request, exchange, { bytesMax, signal }).catch((error: unknown) => {
        if (signal.aborted) throw error;
        return undefined;
      });
      if (answer === undefined) return errorResult(brokenText);
      exchange.rate = answer.rate;
      refused = credentialRefusal(answer);
      return toolResult(tool, answer, bytesMax);
    },
  };
};

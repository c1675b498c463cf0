/**
 * First step of the internal listener: a request id, and every failure as an envelope. An error that is not a Fault shows only
 * the request id. An unreachable database is a 503 with Retry-After, since a retry can succeed. Only failures with a status of
 * 500 and above are logged: the access log is that of the gateway.
 */
import type { Context, Middleware, Next } from 'koa';
import { envelopeOf, Fault, internalFault } from '#src/contract/fault.ts';
import { requestIdHeader } from '#src/contract/headers.ts';
import { isTransient } from '../db/transaction.ts';
import { newId } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { TraceSpan } from '../telemetry/traces.ts';

const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's id when it is well-formed, else a new one. */
const requestIdOf = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string' && requestIdPattern.test(value) ? value : newId('req');

export const createErrorBoundary = (deps: { log: Logger }): Middleware => {
  return async (ctx: Context, next: Next) => {
    const requestId = requestIdOf(ctx.req.headers[requestIdHeader]);
    const gone = new AbortController();
    // Only for a caller that went away: to make the reason costs more than the rest of this step.
    ctx.res.once('close', () => {
      if (!ctx.res.writableFinished) gone.abort();
    });
    ctx.state.requestId = requestId;
    ctx.state.signal = gone.signal;
    ctx.set(requestIdHeader, requestId);
    ctx.set('cache-control', 'no-store');
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new Fault('INVALID_ACTION', 'No such operation');
    } catch (error) {
      const fault = faultOf(error);
      if (fault.status >= 500)
        deps.log.error(
          {
            request_id: requestId,
            trace_id: (ctx.state.span as TraceSpan | undefined)?.traceId,
            code: fault.code,
            err: fault.cause ?? fault,
            detail: fault.internalText,
          },
          'request failed',
        );
      ctx.status = fault.status;
      for (const [name, value] of Object.entries(fault.headers ?? {})) ctx.set(name, value);
      ctx.set('content-type', 'application/json; charset=utf-8');
      ctx.body = JSON.stringify(envelopeOf(fault, requestId));
    }
  };
};

/** Any thrown value as a Fault. */
export const faultOf = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  if (isTransient(error)) {
    return new Fault('OVERLOADED', 'The service is not available right now; try again shortly', {
      headers: { 'retry-after': '2' },
      cause: error,
    });
  }
  return internalFault(error);
};

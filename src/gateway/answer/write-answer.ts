/** Writes answers of the gateway itself: whole, with exact length, and readable even for a client that still sends. */
import { type Fault, internalFault } from '#src/contract/fault.ts';
import type { Logger } from '#src/platform/log.ts';
import { SimulatedFault } from '../model/traced-fault.ts';
import { carriesBearer, challengeScheme } from '../request/carries-bearer.ts';
import { discardRest, expectsMore } from '../request/discard-rest.ts';
import { type Asked, type Exchange, upstreamNameOf } from '../request/exchange.ts';
import {
  type DialectSettings,
  isOAuthStatus,
  missingScopesOf,
  type RenderedFault,
  renderEnvelope,
  renderOAuth,
  renderProblem,
  wantsProblem,
} from './dialects.ts';
import type { StatusFor } from './legacy-status.ts';
import type { EdgeHeaders } from './security-headers.ts';

type Answer = {
  status: number;
  /** Flat list of names and values, without length and connection. */
  headers: string[];
  /** For HEAD only its length is sent. Undefined: an answer without a body, 204. */
  body: string | Buffer | undefined;
};

export type WriteAnswer = (exchange: Exchange, answer: Answer) => void;

export const createWriteAnswer = (deps: {
  edgeHeaders: EdgeHeaders;
  /** Called for each answer as its head is written. */
  answered: (exchange: Exchange, status: number) => void;
  /** Ends the request for the audit, also when its client is gone. */
  settle: (exchange: Exchange) => void;
}): WriteAnswer => {
  return (exchange, { status, headers, body }) => {
    const { req, res } = exchange;
    deps.settle(exchange);
    if (res.headersSent || res.destroyed) {
      // Part of an answer was sent already; a second answer inside it would look complete.
      res.destroy();
      return;
    }
    deps.answered(exchange, status);
    const all = deps.edgeHeaders(exchange.requestId, exchange.rate, exchange.dpopNonce).concat(headers);
    if (exchange.corsHeaders !== undefined) all.push(...exchange.corsHeaders);
    if (exchange.route?.deprecationFields !== undefined) all.push(...exchange.route.deprecationFields);
    if (body !== undefined) all.push('content-length', String(Buffer.byteLength(body)));
    const content = exchange.method === 'HEAD' ? undefined : body;
    if (!expectsMore(req)) {
      res.writeHead(status, all).end(content);
      return;
    }
    all.push('connection', 'close');
    res.writeHead(status, all);
    if (exchange.awaitsContinue || exchange.isBroken) {
      // Without 100 Continue the client has sent no body, and of a broken one nothing more can be read.
      res.end(content);
      return;
    }
    // The whole answer is sent before the rest of the body is discarded.
    if (content === undefined) res.flushHeaders();
    else res.write(content);
    discardRest(req, () => res.end());
  };
};

export type WriteFault = (exchange: Exchange, thrown: unknown) => void;

/** Who refused: the gateway, or a service behind it (`foreign`: without an error code of this interface). */
export type RefusedBy = 'gateway' | 'upstream' | 'foreign';

/** Keeps the reason of a refusal for the caller that was refused (interface 11.5). */
export type NoteDenial = (exchange: Exchange, fault: Fault, by: RefusedBy) => void;

/** `toFault`: undefined for a defect, which becomes INTERNAL_ERROR. */
export const createWriteFault = (deps: {
  write: WriteAnswer;
  dialects: DialectSettings;
  toFault: (thrown: unknown) => Fault | undefined;
  log: Logger;
  /** Chooses the status, which is the old one for old clients. */
  statusFor: StatusFor;
  /** Keeps the reason of the refusal for its caller. */
  noteDenial: NoteDenial;
  /** Writes the refusal to the audit; undefined when it is not one. Never rejects. */
  auditRefusal: (exchange: Exchange, fault: Fault) => Promise<void> | undefined;
  /** Counts refusals by their code and limit. */
  refused: (fault: Fault) => void;
}): WriteFault => {
  const answer = (exchange: Exchange, fault: Fault): void => {
    const rendered = renderFault(exchange, fault, deps.dialects);
    const status = deps.statusFor(exchange, fault.code, fault.status);
    deps.write(exchange, { status, headers: faultHeaders(fault, rendered), body: rendered.body });
  };
  return (exchange, thrown) => {
    // What still waits for a broken body fails too, and the request is refused once.
    if (exchange.isBroken && exchange.refusal !== undefined) return;
    const fault = deps.toFault(thrown) ?? internalFault(thrown);
    exchange.refusal = fault.code;
    const isSimulated = fault instanceof SimulatedFault;
    if (!isSimulated) deps.refused(fault);
    deps.noteDenial(exchange, fault, 'gateway');
    if (fault.status >= 500 && !isSimulated) {
      deps.log.error(
        {
          request_id: exchange.requestId,
          trace_id: exchange.span?.traceId,
          code: fault.code,
          route: exchange.route?.id,
          ...askedOf(exchange, fault),
          err: fault.cause ?? fault,
          detail: fault.internalText,
        },
        'request failed',
      );
    }
    const audited = deps.auditRefusal(exchange, fault);
    if (audited === undefined) answer(exchange, fault);
    else {
      audited
        .then(() => answer(exchange, fault))
        .catch((error: unknown) => {
          deps.log.error({ request_id: exchange.requestId, err: error }, 'cannot write a refusal to the audit');
          exchange.res.destroy();
        });
    }
  };
};

/** The service that failed. A failure before it was asked, as of the store, is none of the service. */
const askedOf = (exchange: Exchange, { code }: Fault): { upstream?: string | undefined; address?: string } => {
  const { upstreamAddress } = exchange;
  if (upstreamAddress === undefined && !code.startsWith('UPSTREAM_')) return {};
  return { upstream: upstreamNameOf(exchange), ...(upstreamAddress !== undefined && { address: upstreamAddress }) };
};

export const renderFault = (exchange: Asked, fault: Fault, dialects: DialectSettings): RenderedFault => {
  // A client of a resource of its own gets a scope by the challenge, whatever its credential is.
  const challengesScope = dialects.resource !== undefined && missingScopesOf(fault).length > 0;
  if (isOAuthStatus(fault.status) && (challengesScope || carriesBearer(exchange))) {
    return renderOAuth(fault, exchange.requestId, dialects, { scheme: challengeScheme(exchange) });
  }
  if (wantsProblem(exchange.req.headers.accept)) return renderProblem(fault, exchange.requestId, dialects);
  return renderEnvelope(fault, exchange.requestId, dialects);
};

export const faultHeaders = (fault: Fault, rendered: RenderedFault): string[] => {
  const headers = ['content-type', rendered.contentType, 'cache-control', 'no-store'];
  if (rendered.challenge !== undefined) headers.push('www-authenticate', rendered.challenge);
  for (const [name, value] of Object.entries(fault.headers ?? {})) headers.push(name, value);
  return headers;
};

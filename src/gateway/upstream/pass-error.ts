/**
 * Decides which errors of a service with `errors: "pass"` leave as the service wrote them. The others are translated: an
 * answer that refuses a caller has one form, whichever service it is from (interface 15).
 */
import { Fault } from '#src/contract/fault.ts';
import { dialectHeader } from '#src/contract/headers.ts';
import { isOAuthStatus } from '../answer/dialects.ts';
import type { NoteDenial } from '../answer/write-answer.ts';
import { carriesBearer } from '../request/carries-bearer.ts';
import { type Exchange, isAnonymous } from '../request/exchange.ts';
import { codeFor } from './refusal/read-refusal.ts';
import type { UpstreamHeaders } from './response-headers.ts';

type PassErrorDeps = {
  noteDenial: NoteDenial;
  /** See RecordDecision. */
  auditRefusal: (exchange: Exchange, fault: Fault, reason: string) => Promise<void> | undefined;
};

/** True: the answer is passed on, and is counted and noted for its caller. `status`: 400 or more. */
export type PassError = (exchange: Exchange, status: number, headers: UpstreamHeaders) => boolean;

export const createPassError =
  ({ noteDenial, auditRefusal }: PassErrorDeps): PassError =>
  (exchange, status, headers) => {
    if (refusesCaller(exchange, status, headers)) return false;
    const fault = new Fault(codeFor(status), 'The service behind this address answered with an error', { status });
    exchange.refusal = fault.code;
    noteDenial(exchange, fault, 'foreign');
    // The answer of the service does not wait for the audit, which bounds what it holds itself.
    auditRefusal(exchange, fault, 'upstream')?.catch(() => undefined);
    return true;
  };

const refusesCaller = (exchange: Exchange, status: number, headers: UpstreamHeaders): boolean => {
  if (headers[dialectHeader] !== undefined) return true;
  if (isOAuthStatus(status) && carriesBearer(exchange)) return true;
  // A public service may have a sign-in of its own.
  return (status === 401 || status === 403) && !isAnonymous(exchange);
};

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

export type PassError = {
  /** True: the answer is passed on. `status`: 400 or more. */
  mayPass(exchange: Exchange, status: number, headers: UpstreamHeaders): boolean;
  /** Counts and notes the answer for its caller. Called when it leaves: before, its request may still be repeated. */
  note(exchange: Exchange, status: number): void;
};

export const createPassError = ({ noteDenial, auditRefusal }: PassErrorDeps): PassError => ({
  mayPass: (exchange, status, headers) => !refusesCaller(exchange, status, headers),
  note: (exchange, status) => {
    const fault = new Fault(codeFor(status), 'The service behind this address answered with an error', { status });
    exchange.refusal = fault.code;
    noteDenial(exchange, fault, 'foreign');
    // The answer of the service does not wait for the audit, which bounds what it holds itself.
    auditRefusal(exchange, fault, 'upstream')?.catch(() => undefined);
  },
});

const refusesCaller = (exchange: Exchange, status: number, headers: UpstreamHeaders): boolean => {
  if (headers[dialectHeader] !== undefined) return true;
  if (isOAuthStatus(status) && carriesBearer(exchange)) return true;
  // A public service may have a sign-in of its own.
  return (status === 401 || status === 403) && !isAnonymous(exchange);
};

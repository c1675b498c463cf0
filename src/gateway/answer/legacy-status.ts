/**
 * Interface 6.1, column "Old": clients of the earlier platform read `success` and fail at any status but 200. A caller
 * counts as such a client when it sends no Bearer credential and does not accept a problem document.
 */
import { type FaultCode, faultLegacyStatus } from '#src/contract/fault.ts';
import { carriesBearer } from '../request/carries-bearer.ts';
import type { Exchange } from '../request/exchange.ts';
import { wantsProblem } from './dialects.ts';

export type StatusFor = (exchange: Exchange, code: FaultCode, status: number) => number;

export const honestStatus: StatusFor = (_exchange, _code, status) => status;

/**
 * Only a code whose row of the fault table has the old status 200 is sent with it. A 401 or 403 is kept whatever code an
 * upstream gave it, since it decides whether the caller was accepted.
 */
export const legacyStatus: StatusFor = (exchange, code, status) => {
  // A tool call reads the honest status.
  if (exchange.within !== undefined) return status;
  if (status === 401 || status === 403 || faultLegacyStatus(code) !== 200) return status;
  return carriesBearer(exchange) || wantsProblem(exchange.req.headers.accept) ? status : 200;
};

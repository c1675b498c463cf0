/**
 * Interface 6.1, column "Old": clients of the earlier platform read `success` and fail at any status but 200. A caller
 * counts as such a client when it sends no Bearer credential and does not accept a problem document.
 */
import type { FaultCode } from '#src/contract/fault.ts';
import { carriesBearer } from '../request/carries-bearer.ts';
import type { Exchange } from '../request/exchange.ts';
import { wantsProblem } from './dialects.ts';

/** Every other code keeps its status. */
const sentWith200: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'MISSING_PARAMETER',
  'VALIDATION_ERROR',
  'INVALID_TOKEN',
  'INVALID_ACTION',
  'NOT_FOUND',
  'CUSTOMER_NOT_FOUND',
  'CATEGORY_NOT_FOUND',
  'PRODUCT_NOT_FOUND',
  'TIMEOUT',
  'PRODUCT_NOT_AVAILABLE',
  'OPTION_NOT_FOUND',
  'OPTION_VALUE_NOT_FOUND',
  'INVALID_ADDRESS',
  'COUPON_ERROR',
  'SUBRESTAURANT_NOT_FOUND',
  'IMPORT_ERROR',
  'CANNOT_APPLY',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
]);

export type StatusFor = (exchange: Exchange, code: FaultCode, status: number) => number;

export const honestStatus: StatusFor = (_exchange, _code, status) => status;

/** A 401 or 403 is kept whatever code an upstream gave it, since it decides whether the caller was accepted. */
export const legacyStatus: StatusFor = (exchange, code, status) => {
  if (status === 401 || status === 403 || !sentWith200.has(code)) return status;
  return carriesBearer(exchange) || wantsProblem(exchange.req.headers.accept) ? status : 200;
};

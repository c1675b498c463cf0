/**
 * Interface 6.1, column "Old": clients of the platform before read `success` and give up at any status but 200. Only
 * callers without a Bearer credential who did not ask for a problem document are such clients.
 */
import type { FaultCode } from '#src/contract/fault.ts';
import { carriesBearer } from '../request/carries-bearer.ts';
import type { Exchange } from '../request/exchange.ts';
import { wantsProblem } from './dialects.ts';

/** Every other code keeps its status. */
const toldWith200: ReadonlySet<FaultCode> = new Set<FaultCode>([
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

/** A 401 or 403 stays one whatever code an upstream put beside it: it decides whether somebody was let in. */
export const legacyStatus: StatusFor = (exchange, code, status) => {
  if (status === 401 || status === 403 || !toldWith200.has(code)) return status;
  return carriesBearer(exchange) || wantsProblem(exchange.req.headers.accept) ? status : 200;
};

/**
 * Pure: what is kept of one request of a caller. Ids, codes and times only: paths and queries may hold personal data, so the
 * route stands for them. The idempotency key is kept as it was sent, since its caller searches for its own keys.
 */
import { isNear } from '../../audit/event/request-id-times.ts';
import { countedTenant } from '../../limits/counted-tenant.ts';
import { type TokenRefusal, tokenRoute } from '../../model/traced-fault.ts';
import type { Exchange } from '../../request/exchange.ts';

/** Successful reads are only counted. */
export type Outcome = 'reads' | 'writes' | 'refused' | 'failed';

export type RequestEntry = {
  /** Id of the key or client. */
  caller: string;
  at: Date;
  /** Differs between entries of one caller and millisecond. */
  number: number;
  requestId: string;
  /** False: the id tells its time, so that the entry is found without an index. */
  idIndexed: boolean;
  method: string;
  /** Null: there is no such operation. */
  route: string | null;
  /** Null: the caller closed the connection before the answer, or another proxy forwarded the request. */
  status: number | null;
  code: string | null;
  durationMs: number;
  tenant: string | null;
  idempotencyKey: string | null;
};

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** At /auth/check the exchange has the method of the check, and its route that of the request. HEAD may share the route of GET. */
const methodOf = ({ method, route }: Exchange): string =>
  route === undefined || (method === 'HEAD' && route.method === 'GET') ? method : route.method;

/** `status`: before any translation to old statuses. */
export const outcomeOf = (exchange: Exchange, status: number): Outcome => {
  if (status >= 500) return 'failed';
  if (status >= 400 || exchange.refused !== undefined) return 'refused';
  return safeMethods.has(exchange.route?.method ?? exchange.method) ? 'reads' : 'writes';
};

const idempotencyKeyForm = /^[\x21-\x7e]{1,255}$/;

export const entryOf = (
  exchange: Exchange,
  what: Pick<RequestEntry, 'caller' | 'status' | 'at' | 'number' | 'durationMs'>,
): RequestEntry => {
  const { requestId, route, refusal, req } = exchange;
  const key = req.headers['idempotency-key'];
  return {
    ...what,
    requestId,
    idIndexed: !isNear(requestId, what.at),
    method: methodOf(exchange),
    route: route?.id ?? null,
    code: refusal ?? null,
    tenant: tenantOf(exchange) ?? null,
    idempotencyKey: typeof key === 'string' && idempotencyKeyForm.test(key) ? key : null,
  };
};

/** No key of idempotency: the endpoint repeats nothing. */
export const tokenEntry = (
  { clientId: caller, requestId, status, code, durationMs }: TokenRefusal,
  { at, number }: Pick<RequestEntry, 'at' | 'number'>,
): RequestEntry => ({
  ...{ caller, at, number, requestId, status, code, durationMs },
  route: tokenRoute.id,
  idIndexed: !isNear(requestId, at),
  method: 'POST',
  tenant: null,
  idempotencyKey: null,
});

/** The tenant that the request was for: the only one of the caller, else the one that the service or the address names. */
export const tenantOf = ({ principal, route, servedTenant, path, search }: Exchange): string | undefined => {
  if (principal === undefined || route === undefined) return undefined;
  if (servedTenant !== undefined && principal.tenants.includes(servedTenant)) return servedTenant;
  try {
    return countedTenant(principal, { route, path, search });
  } catch {
    // Named twice, for which the request was refused.
    return undefined;
  }
};

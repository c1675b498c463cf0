/** Pure: one refusal as its caller may read it later (interface 11.5). Ids and names only, no part of the request. */
import type { Fault, FaultDetail } from '#src/contract/fault.ts';
import { scopeTokensOf } from '#src/contract/scope-tokens.ts';
import type { RefusedBy } from '../answer/write-answer.ts';
import { type DenialReason, isoSeconds, SimulatedFault, TracedFault } from '../model/traced-fault.ts';
import type { Exchange } from '../request/exchange.ts';
import { tenantOf } from './requests/request-entry.ts';

export type Denial = {
  request_id: string;
  at_iso: string;
  method: string;
  path: string;
  status: number;
  code: string;
  reason: DenialReason;
  missing_scopes: readonly string[];
  detail: Readonly<Record<string, unknown>>;
  hint: string;
  errors: readonly FaultDetail[];
};

/** `tenants`: those that the request was about; missing: they are not known, or it was about all of the caller. */
export type KeptDenial = Denial & { tenants?: readonly string[] };

const statuses: ReadonlySet<number> = new Set([400, 401, 403, 429]);
const errorsMax = 20;
const textMax = 300;
const pathMax = 256;

/** undefined: not a denial, or not one that can be traced to a key or client. */
export const denialOf = (
  exchange: Exchange,
  fault: Fault,
  by: RefusedBy,
  at: Date,
): { callerId: string; denial: KeptDenial } | undefined => {
  if (!statuses.has(fault.status)) return undefined;
  const trace = fault instanceof TracedFault ? fault.trace : undefined;
  const callerId = trace?.callerId ?? exchange.principal?.id;
  if (callerId === undefined) return undefined;
  const reason = trace?.reason ?? denialReasonOf(fault, by);
  const tenants = tenantsOf(exchange);
  return {
    callerId,
    denial: {
      request_id: exchange.requestId,
      at_iso: isoSeconds(at),
      method: exchange.method,
      path: exchange.path.slice(0, pathMax),
      status: fault.status,
      code: fault.code,
      reason,
      missing_scopes: scopeTokensOf(fault.extra?.missing_scopes),
      detail: trace?.detail ?? detailOf(fault),
      hint: hints[reason],
      errors: (fault.errors ?? []).slice(0, errorsMax).map(({ pointer, code, message }) => ({
        pointer: storable(pointer),
        code,
        message: storable(message),
      })),
      ...(tenants && { tenants }),
    },
  };
};

/** The one that the request was for, else those that its token is limited to. */
const tenantsOf = (exchange: Exchange): readonly string[] | undefined => {
  const { principal, route } = exchange;
  const tenant = tenantOf(exchange);
  if (tenant !== undefined) return [tenant];
  return principal?.narrow?.namesTenants(route) === true ? principal.tenants : undefined;
};

/**
 * The denial as its caller reads it. `tenants`: of a caller that may read about these alone; undefined: about all.
 * Undefined: it does not show this one.
 */
export const shownTo = (
  { tenants: about, ...denial }: KeptDenial,
  tenants: readonly string[] | undefined,
): Denial | undefined =>
  tenants === undefined || about?.every((tenant) => tenants.includes(tenant)) === true ? denial : undefined;

export const denialReasonOf = (fault: Fault, by: RefusedBy): DenialReason => {
  if (fault instanceof SimulatedFault) return 'simulated';
  if (by === 'foreign') return 'upstream';
  switch (fault.code) {
    case 'INSUFFICIENT_SCOPE':
      return 'scope_missing';
    case 'API_DISABLED':
      return 'api_disabled';
    case 'ADDRESS_NOT_ALLOWED':
      return 'address_not_allowed';
    case 'RATE_LIMIT_EXCEEDED':
      return 'rate_limited';
    case 'RESTAURANT_NOT_FOUND':
      return 'restaurant_gone';
    // From an upstream, both mean a tenant that this caller does not reach.
    case 'UNAUTHORIZED':
    case 'INVALID_KEY':
      return 'restaurant_not_granted';
    default:
      return fault.status === 400 ? 'parameters' : 'upstream';
  }
};

const detailOf = ({ extra }: Fault): Record<string, unknown> =>
  typeof extra?.retry_after === 'number' ? { retry_after: extra.retry_after } : {};

/** jsonb takes neither U+0000 nor half a surrogate pair; an upstream may send both. */
const storable = (text: string): string => text.slice(0, textMax).replaceAll('\u0000', '?').toWellFormed();

const hints: Readonly<Record<DenialReason, string>> = {
  token_expired: 'Get a new token before expires_in has passed',
  token_revoked: 'The token was revoked; get a new one',
  token_not_yet_valid: 'The token counts from a later time; check the clock that made it',
  token_audience: 'The token was issued for another resource; ask for one for this origin',
  token_limited: 'The token is limited to less; its message names what it allows. Use another one for this request',
  client_disabled: 'The client is disabled; ask support',
  secret_wrong: 'The client id exists, the secret is not one of its live ones; check which one is deployed',
  secret_ended: 'The secret has ended; deploy the one that replaced it',
  key_revoked: 'The key was revoked; use another one',
  key_expired: 'The key has expired; use another one',
  leak_reported:
    'The value of this credential was reported as leaked, which ended it for good; use another one, and find where it leaked',
  credentials_ambiguous: 'Send one kind of credential, once',
  quarantined: 'The credential is quarantined; the message of the refusal says what to do',
  restaurant_gone: 'What the credential was issued for no longer exists',
  restaurant_not_granted: 'Name only one of those that whoami lists, or none when there is one',
  api_disabled: 'API access is switched off; it can be switched on in the settings of the account',
  address_not_allowed: 'Call from one of the networks that whoami lists, or have the address in detail added',
  scope_missing: 'Ask for a token with the missing scopes, or have them granted to the client',
  rate_limited: 'Wait for the seconds of Retry-After, and spread requests by the RateLimit header',
  parameters: 'Correct what errors names',
  upstream: 'The service behind the gateway refused the request',
  simulated: 'The request asked for this fault in X-Orderpass-Simulate',
};

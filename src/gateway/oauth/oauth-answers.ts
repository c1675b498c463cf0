/** Answers of the OAuth POST endpoints: one shape for every error, whatever `Accept` says (interface 4.1). */
import type { DetailCode, FaultCode, FaultDetail, ReachedLimit } from '#src/contract/fault.ts';
import { addressText } from '../model/faults.ts';

/** What metrics, the access log and traces have of a refusal. */
export type Refused = { code: FaultCode; limit?: ReachedLimit | undefined };

export type OAuthAnswer = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: object | undefined;
  /** Sent in place of the body. */
  jwt?: { type: string; text: string };
  /** Of an error: for metrics, the access log and traces. */
  refused?: Refused;
};

type RefusalMore = {
  headers?: Readonly<Record<string, string>>;
  /** Default: the code of the interface that fits the error and the status. */
  code?: FaultCode;
  /** Details per field, as in answers of operations. */
  errors?: readonly FaultDetail[] | undefined;
  /** Of `slow_down`. */
  limit?: ReachedLimit | undefined;
  /** For the audit alone. */
  facts?: Readonly<Record<string, unknown>> | undefined;
};

/** A refusal of RFC 6749 section 5.2. `description` never holds what the caller sent. */
export class OAuthRefusal extends Error {
  readonly error: string;
  readonly status: number;
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly code: FaultCode;
  readonly errors: readonly FaultDetail[] | undefined;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  readonly limit: ReachedLimit | undefined;
  constructor(error: string, status: number, description: string, more: RefusalMore = {}) {
    super(`${error}: ${description}`);
    this.name = 'OAuthRefusal';
    this.error = error;
    this.status = status;
    this.description = description;
    this.headers = more.headers ?? {};
    this.code = more.code ?? codesByStatus[status] ?? codesByError[error] ?? 'VALIDATION_ERROR';
    this.errors = more.errors;
    this.facts = more.facts;
    this.limit = more.limit;
  }
}

const codesByStatus: Readonly<Record<number, FaultCode>> = {
  401: 'INVALID_AUTH',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMIT_EXCEEDED',
  500: 'INTERNAL_ERROR',
  503: 'OVERLOADED',
};

const codesByError: Readonly<Record<string, FaultCode>> = {
  unauthorized_client: 'UNAUTHORIZED',
  invalid_grant: 'UNAUTHORIZED',
  invalid_dpop_proof: 'INVALID_AUTH',
  use_dpop_nonce: 'INVALID_AUTH',
};

export const invalidRequest = (
  description: string,
  status = 400,
  headers: Readonly<Record<string, string>> = {},
): OAuthRefusal => new OAuthRefusal('invalid_request', status, description, { headers });

/** One field of the form, or one header, that makes the request invalid_request. */
export const invalidField = (pointer: string, detail: DetailCode, message: string): OAuthRefusal =>
  new OAuthRefusal('invalid_request', 400, `${pointer} ${message}`, {
    code: detail === 'REQUIRED' ? 'MISSING_PARAMETER' : 'VALIDATION_ERROR',
    errors: [{ pointer, code: detail, message }],
  });

/**
 * RFC 6749 section 5.2: no client authentication, or one of an unsupported kind. It is no failed attempt of the client that
 * the request may name, since no secret was checked.
 */
export class NoClientAuthentication extends OAuthRefusal {
  constructor(description: string) {
    super('invalid_client', 401, description);
    this.name = 'NoClientAuthentication';
  }
}

/** One text for an unknown client, a disabled one and a wrong secret. */
export const invalidClient = (): OAuthRefusal =>
  new OAuthRefusal('invalid_client', 401, 'Client authentication failed');

/** The signature of the assertion is right, or its header is wrong with any signature. `facts`: for the audit. */
export const wrongClaim = (text: string, facts: Readonly<Record<string, unknown>>): OAuthRefusal =>
  new OAuthRefusal('invalid_client', 401, text, { facts });

/** Not invalid_client: another assertion would not help, and this one may be right. */
export const issuerAway = (retryAfterSeconds: number): OAuthRefusal =>
  new OAuthRefusal(
    'temporarily_unavailable',
    503,
    'The keys of the issuer cannot be read right now; try again shortly',
    {
      headers: { 'retry-after': String(retryAfterSeconds) },
    },
  );

/** Not invalid_client: the client proved itself, and trying again with another secret would not help (RFC 6749 section 5.2). */
export const addressRefused = (address: string): OAuthRefusal =>
  new OAuthRefusal('unauthorized_client', 400, addressText(address), { code: 'ADDRESS_NOT_ALLOWED' });

export const slowDown = (description: string, retryAfterSeconds: number, limit: 'calls' | 'failures'): OAuthRefusal =>
  new OAuthRefusal('slow_down', 429, description, { headers: { 'retry-after': String(retryAfterSeconds) }, limit });

export const serverError = (): OAuthRefusal =>
  new OAuthRefusal('server_error', 500, 'Something went wrong here; quote the request id when you ask for help');

export const temporarilyUnavailable = (): OAuthRefusal =>
  new OAuthRefusal('temporarily_unavailable', 503, 'The service is not available right now; try again shortly', {
    headers: { 'retry-after': '2' },
  });

export const errorAnswer = (refusal: OAuthRefusal, origin: string, requestId: string): OAuthAnswer => ({
  status: refusal.status,
  headers: refusal.headers,
  refused: { code: refusal.code, limit: refusal.limit },
  body: {
    error: refusal.error,
    error_description: speakable(refusal.description),
    error_uri: `${origin}/docs/errors#${refusal.error}`,
    code: refusal.code,
    ...(refusal.errors === undefined ? undefined : { errors: refusal.errors }),
    ...(refusal.error === 'slow_down' ? { retry_after: Number(refusal.headers['retry-after']) } : undefined),
    request_id: requestId,
  },
});

/** RFC 6749 allows %x20-21 / %x23-5B / %x5D-7E here. */
const speakable = (text: string): string =>
  text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/g, '?');

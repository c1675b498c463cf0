import type { ErrorCode, ErrorDetail, Scope } from './types.ts';

/** Every error that this package throws itself. */
export class OrderpassError extends Error {
  override name = 'OrderpassError';
}

/**
 * No answer came: the connection failed, the time was over, or the call was aborted. `cause` has the reason, or the last error
 * where this one is that of an earlier attempt whose outcome is not known.
 */
export class TransportError extends OrderpassError {
  override name = 'TransportError';
}

/** A delivery whose signature, time or form is not right. Answer it with 400 and use nothing of it. */
export class WebhookError extends OrderpassError {
  override name = 'WebhookError';
}

type Refusal = {
  status: number;
  /** Of the header Retry-After, in seconds. */
  retryAfter: number | undefined;
  requestId: string | undefined;
  body: unknown;
};

/** The service refused the request, or failed. `cause` has the last error where this one is that of an earlier attempt (502, 504). */
export class ApiError extends OrderpassError {
  override name = 'ApiError';
  readonly status: number;
  /** Code of the interface; a service behind the gateway may use codes of its own. */
  readonly code: ErrorCode | (string & {});
  /** Quote it when you ask for help. */
  readonly requestId: string | undefined;
  /** Exactly the scopes that the credential lacks; empty unless `code` is INSUFFICIENT_SCOPE. */
  readonly missingScopes: readonly (Scope | (string & {}))[];
  /** Every value that is not valid. */
  readonly errors: readonly ErrorDetail[];
  /** Seconds to wait before the request is sent again. */
  readonly retryAfter: number | undefined;
  /** The body as it came: parsed JSON, else text. */
  readonly body: unknown;

  constructor({ status, retryAfter, requestId, body }: Refusal) {
    const members = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
    const code = textOf(members.code) ?? textOf(members.error) ?? `HTTP_${status}`;
    const message = textOf(members.message) ?? textOf(members.error_description) ?? 'the answer says no reason';
    super(`${code} (${status}): ${message}`);
    this.status = status;
    this.code = code;
    this.requestId = textOf(members.request_id) ?? requestId;
    this.missingScopes = listOf(members.missing_scopes).filter((one) => typeof one === 'string');
    this.errors = listOf(members.errors) as ErrorDetail[];
    this.retryAfter = retryAfter ?? (typeof members.retry_after === 'number' ? members.retry_after : undefined);
    this.body = body;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

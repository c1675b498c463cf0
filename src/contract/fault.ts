/**
 * The error that refuses a request, in the gateway, the core and the webhook engine. One fault can be rendered in every
 * dialect of the interface (envelope, RFC 9457 problem, OAuth). The code decides the status, the owner names the side that
 * must act, and only `publicText` is sent to the caller.
 * Codes and statuses: `src/contract/interface.md`, section 6.1.
 */

/** code: [status, status in legacy status mode, owner, title of the problem document] */
const table = {
  INVALID_AUTH: [401, 401, 'client', 'Authentication failed'],
  INVALID_KEY: [401, 401, 'client', 'API key refused'],
  RESTAURANT_NOT_FOUND: [401, 401, 'client', 'Restaurant is gone'],
  API_DISABLED: [403, 403, 'client', 'API access is off'],
  ADDRESS_NOT_ALLOWED: [403, 403, 'client', 'Address not allowed'],
  INSUFFICIENT_SCOPE: [403, 403, 'client', 'Scope missing'],
  UNAUTHORIZED: [403, 403, 'client', 'Not allowed'],
  MISSING_PARAMETER: [400, 200, 'client', 'Parameter missing'],
  VALIDATION_ERROR: [400, 200, 'client', 'Request not valid'],
  INVALID_TOKEN: [400, 200, 'client', 'Order token does not fit'],
  INVALID_ACTION: [404, 200, 'client', 'No such operation'],
  NOT_FOUND: [404, 200, 'client', 'Not found'],
  CUSTOMER_NOT_FOUND: [404, 200, 'client', 'Customer not found'],
  CATEGORY_NOT_FOUND: [404, 200, 'client', 'Category not found'],
  PRODUCT_NOT_FOUND: [404, 200, 'client', 'Product not found'],
  METHOD_NOT_ALLOWED: [405, 405, 'client', 'Method not allowed'],
  REQUEST_TIMEOUT: [408, 408, 'client', 'Request came too slowly'],
  TIMEOUT: [409, 200, 'client', 'Countdown is over'],
  CONFLICT: [409, 409, 'client', 'State forbids it'],
  PAYLOAD_TOO_LARGE: [413, 413, 'client', 'Body too large'],
  URI_TOO_LONG: [414, 414, 'client', 'URL too long'],
  UNSUPPORTED_MEDIA_TYPE: [415, 415, 'client', 'Media type not supported'],
  PRODUCT_NOT_AVAILABLE: [422, 200, 'client', 'Product not available'],
  OPTION_NOT_FOUND: [422, 200, 'client', 'Option not found'],
  OPTION_VALUE_NOT_FOUND: [422, 200, 'client', 'Option value not found'],
  INVALID_ADDRESS: [422, 200, 'client', 'Address not served'],
  COUPON_ERROR: [422, 200, 'client', 'Coupon refused'],
  SUBRESTAURANT_NOT_FOUND: [422, 200, 'client', 'Location not found'],
  IMPORT_ERROR: [422, 200, 'client', 'Import refused'],
  CANNOT_APPLY: [422, 200, 'client', 'Coupon does not apply'],
  IDEMPOTENCY_KEY_REUSED: [422, 422, 'client', 'Idempotency key used before'],
  INSUFFICIENT_POINTS: [422, 422, 'client', 'Not enough points'],
  RATE_LIMIT_EXCEEDED: [429, 200, 'client', 'Too many requests'],
  HEADERS_TOO_LARGE: [431, 431, 'client', 'Headers too large'],
  INTERNAL_ERROR: [500, 200, 'platform', 'Internal error'],
  UPSTREAM_UNREACHABLE: [502, 502, 'upstream', 'Upstream not reachable'],
  OVERLOADED: [503, 503, 'platform', 'Overloaded'],
  UPSTREAM_TIMEOUT: [504, 504, 'upstream', 'Upstream too slow'],
} as const satisfies Record<string, readonly [number, number, FaultOwner, string]>;

export type FaultOwner = 'client' | 'config' | 'upstream' | 'platform';
export type FaultCode = keyof typeof table;

/** Detail codes of `errors[]`. Refusals of the domain repeat the code of the fault there. */
export type DetailCode =
  | 'REQUIRED'
  | 'TYPE'
  | 'FORMAT'
  | 'RANGE'
  | 'LENGTH'
  | 'ENUM'
  | 'DUPLICATE'
  | 'CONFLICTING_VALUES'
  | 'READ_ONLY'
  | 'INVALID_JSON'
  | 'TOO_DEEP'
  | 'NOT_ENABLED'
  | 'AMBIGUOUS_CREDENTIALS'
  | 'UNSUPPORTED_VERSION'
  | 'CURSOR_INVALID'
  | 'CURSOR_EXPIRED'
  | 'MIXED_PAGING'
  | 'OPTION_COUNT'
  | 'ORDER_MIN'
  | 'CLOSED'
  | 'TARGET_REFUSED'
  | 'SANDBOX_ONLY'
  | FaultCode;

/** `pointer`: JSON pointer into a nested body, else the name of the parameter or header; `""` = the whole body. */
export type FaultDetail = { pointer: string; code: DetailCode; message: string };

/**
 * units: of a window or a quota. concurrency: running requests. calls: a fixed number of calls of an endpoint that the gateway answers by
 * itself. failures: failed authentications.
 */
export type ReachedLimit = 'units' | 'concurrency' | 'calls' | 'failures';

export type FaultOptions = {
  /** Status when it differs from the status of the code (PRODUCT_NOT_FOUND is 422 inside a body). */
  status?: number;
  errors?: readonly FaultDetail[];
  /** Members beside error and message: missing_scopes, retry_after, order, import. */
  extra?: Readonly<Record<string, unknown>>;
  /** Response headers, lower case: retry-after, allow. */
  headers?: Readonly<Record<string, string>>;
  /** For the log only; never sent. */
  internalText?: string;
  /** Of RATE_LIMIT_EXCEEDED, for metrics only; never sent. */
  limit?: ReachedLimit | undefined;
  cause?: unknown;
};

/** A refusal with a stable code. `publicText` is for the caller and must never hold a secret or a stack. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly status: number;
  readonly owner: FaultOwner;
  readonly publicText: string;
  readonly internalText: string | undefined;
  readonly limit: ReachedLimit | undefined;
  readonly errors: readonly FaultDetail[] | undefined;
  readonly extra: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: FaultCode, publicText: string, options: FaultOptions = {}) {
    super(publicText, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.status = options.status ?? table[code][0];
    this.owner = table[code][2];
    this.publicText = publicText;
    this.internalText = options.internalText;
    this.limit = options.limit;
    this.errors = options.errors;
    this.extra = options.extra;
    this.headers = options.headers;
  }
}

export const isFaultCode = (code: unknown): code is FaultCode => typeof code === 'string' && Object.hasOwn(table, code);

export const faultTitle = (code: FaultCode): string => table[code][3];

export const faultCodes = Object.keys(table) as FaultCode[];

/** The status of a code. */
export const faultStatus = (code: FaultCode): number => table[code][0];

/** The status of a code in legacy status mode (interface 6.1, column "Old"). */
export const faultLegacyStatus = (code: FaultCode): number => table[code][1];

/** An internal error: the caller gets the request id and no reason. */
export const internalFault = (cause: unknown): Fault =>
  new Fault('INTERNAL_ERROR', 'Something went wrong here; quote the request id when you ask for help', {
    cause,
    internalText: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause),
  });

/** All faulty values of a request in one answer; a missing value gives the answer its code (interface 6.1). */
export const validationFault = (errors: readonly FaultDetail[]): Fault => {
  const missing = errors.filter((error) => error.code === 'REQUIRED');
  if (missing.length > 0) {
    return new Fault('MISSING_PARAMETER', textOfMissing(missing).slice(0, 300), { errors });
  }
  return new Fault(
    'VALIDATION_ERROR',
    `${errors.length} ${errors.length === 1 ? 'value is' : 'values are'} not valid`,
    {
      errors,
    },
  );
};

/** Names the missing values first, then the expected ones: a choice of members, or a value where null was sent. */
const textOfMissing = (missing: readonly FaultDetail[]): string => {
  const absent = missing.filter(({ message }) => message.startsWith('is required'));
  const nulls = missing.filter(({ message }) => message === 'must not be null');
  const choices = missing.filter((detail) => !absent.includes(detail) && !nulls.includes(detail));
  const wanted = choices.filter(
    ({ message }) => !choices.some((other) => other.message !== message && other.message.startsWith(message)),
  );
  const parts = [
    ...(absent.length > 0 ? [`Missing: ${absent.map(({ pointer }) => pointer).join(', ')}`] : []),
    ...nulls.map(({ pointer, message }) => `${pointer} ${message}`),
    ...new Set(wanted.map(({ message }) => message)),
  ];
  return parts.join('; ');
};

/** Dialect b of interface 6.3. */
export const envelopeOf = (fault: Fault, requestId: string): Record<string, unknown> => ({
  success: false,
  error: fault.code,
  message: fault.publicText,
  ...(fault.errors === undefined ? undefined : { errors: fault.errors }),
  ...fault.extra,
  request_id: requestId,
});

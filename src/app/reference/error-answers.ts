/** Error answers of an operation in their three dialects (interface 6.3), with an example per code. */
import { type FaultCode, faultStatus, faultTitle } from '#src/contract/fault.ts';
import type { OwnError } from '#src/platform/http/operation.ts';
import { faultTexts } from './error-texts.ts';
import type { Json } from './json-schema.ts';

/** Errors that every operation can give (interface 6.1). */
const general: readonly FaultCode[] = [
  'MISSING_PARAMETER',
  'VALIDATION_ERROR',
  'INVALID_AUTH',
  'INVALID_KEY',
  'RESTAURANT_NOT_FOUND',
  'API_DISABLED',
  'ADDRESS_NOT_ALLOWED',
  'INSUFFICIENT_SCOPE',
  'UNAUTHORIZED',
  'REQUEST_TIMEOUT',
  'URI_TOO_LONG',
  'RATE_LIMIT_EXCEEDED',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
  'UPSTREAM_UNREACHABLE',
  'OVERLOADED',
  'UPSTREAM_TIMEOUT',
];

const generalOfWrites: readonly FaultCode[] = [
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'IDEMPOTENCY_KEY_REUSED',
];

type Wanted = { origin: string; method: string; scopes: readonly string[]; own: readonly OwnError[] };

/** Status → response object. */
export const errorAnswers = ({ origin, method, scopes, own }: Wanted): Json => {
  const all: OwnError[] = [...general, ...(method === 'POST' ? generalOfWrites : []), ...own].filter(
    (code) => code !== 'INSUFFICIENT_SCOPE' || scopes.length > 0,
  );
  const byStatus = new Map<number, Set<FaultCode>>();
  for (const one of all) {
    const [code, status] = typeof one === 'string' ? [one, faultStatus(one)] : one;
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, codes]) => [status, answerOf(origin, status, codes, scopes)]),
  );
};

const answerOf = (origin: string, status: number, codes: ReadonlySet<FaultCode>, scopes: readonly string[]): Json => {
  const isOAuth = status === 400 || status === 401 || status === 403;
  const envelope = { $ref: '#/components/schemas/Error' };
  const envelopes = [...codes].map((code) => [code, { value: envelopeOf(code, scopes) }]);
  const tokens = isOAuth
    ? [...codes].map((code) => [`${code} (Bearer)`, { value: oauthOf(origin, status, code, scopes) }])
    : [];
  const problems = [...codes].map((code) => [code, { value: problemOf(origin, status, code, scopes) }]);
  return {
    description: [...codes].map((code) => `\`${code}\` ${faultTexts[code]}`).join('\n\n'),
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: isOAuth ? { oneOf: [envelope, { $ref: '#/components/schemas/OAuthError' }] } : envelope,
        examples: Object.fromEntries([...envelopes, ...tokens]),
      },
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(problems),
      },
    },
  };
};

const header = (name: string): Json => ({ $ref: `#/components/headers/${name}` });

export const commonHeaders: Json = { 'X-Request-Id': header('RequestId'), 'X-Api-Version': header('ApiVersion') };
export const rateHeaders: Json = { 'RateLimit-Policy': header('RateLimitPolicy'), RateLimit: header('RateLimit') };

/** Statuses of checks before the rate limit: they charge nothing, so their answers have no RateLimit (interface 6.2). */
const beforeLimit: ReadonlySet<number> = new Set([401, 408, 414, 431]);

const headersOf = (status: number): Json => ({
  ...commonHeaders,
  ...(beforeLimit.has(status) ? undefined : rateHeaders),
  ...([400, 401, 403].includes(status) ? { 'WWW-Authenticate': header('Challenge') } : undefined),
  ...([409, 429, 503].includes(status) ? { 'Retry-After': header('RetryAfter') } : undefined),
});

const requestId = 'req_01';

const membersOf = (code: FaultCode, scopes: readonly string[]): Json => {
  switch (code) {
    case 'INSUFFICIENT_SCOPE':
      return { missing_scopes: scopes };
    case 'RATE_LIMIT_EXCEEDED':
      return { retry_after: 12 };
    case 'MISSING_PARAMETER':
      return { errors: [{ pointer: 'restuid', code: 'REQUIRED', message: 'is required' }] };
    case 'VALIDATION_ERROR':
      return { errors: [{ pointer: 'restuid', code: 'TYPE', message: 'must be a string' }] };
    default:
      return {};
  }
};

const messageOf = (code: FaultCode, scopes: readonly string[]): string =>
  code === 'INSUFFICIENT_SCOPE' ? `This operation needs the scope ${scopes.join(' ')}` : faultTitle(code);

const envelopeOf = (code: FaultCode, scopes: readonly string[]): Json => ({
  success: false,
  error: code,
  message: messageOf(code, scopes),
  ...membersOf(code, scopes),
  request_id: requestId,
});

const oauthErrors: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
};

const oauthOf = (origin: string, status: number, code: FaultCode, scopes: readonly string[]): Json => ({
  error: oauthErrors[status],
  error_description: messageOf(code, scopes),
  error_uri: `${origin}/docs/errors#${code}`,
  code,
  ...membersOf(code, scopes),
  request_id: requestId,
});

const problemOf = (origin: string, status: number, code: FaultCode, scopes: readonly string[]): Json => ({
  type: `${origin}/docs/errors#${code}`,
  title: faultTitle(code),
  status,
  detail: messageOf(code, scopes),
  instance: `urn:orderpass:request:${requestId}`,
  code,
  ...membersOf(code, scopes),
  request_id: requestId,
});

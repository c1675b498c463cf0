/** Error answers of an operation in their three dialects (interface 6.3), with an example per code. */
import { STATUS_CODES } from 'node:http';
import { type FaultCode, faultCodes, faultStatus, faultTitle } from '#src/contract/fault.ts';
import type { OwnError } from '#src/platform/http/operation.ts';
import { faultTexts } from './error-texts.ts';
import type { Json } from './json-schema.ts';
import { pascalCase } from './name-schemas.ts';

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

type Wanted = { method: string; scopes: readonly string[]; own: readonly OwnError[] };

/** Status → response object. An answer that has general codes only is a reference to one of `sharedAnswers`. */
export const errorAnswers = ({ origin, method, scopes, own }: Wanted & { origin: string }): Json => {
  const shared = generalCodes(method, scopes.length > 0);
  const added = byStatus(own);
  const statuses = [...new Set([...shared.keys(), ...added.keys()])].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status): [number, Json] => {
      const general = shared.get(status) ?? new Set<FaultCode>();
      const codes = [...(added.get(status) ?? [])];
      if (codes.every((code) => general.has(code)))
        return [status, { $ref: `#/components/responses/${sharedName(status, general)}` }];
      const others = [...general].filter((code) => !codes.includes(code));
      return [status, answerOf(origin, status, { codes, others, scopes })];
    }),
  );
};

/** Answers that operations share, for `components.responses`. */
export const sharedAnswers = (origin: string): Json => {
  const found = new Map<string, Json>();
  for (const method of ['GET', 'POST'])
    for (const hasScopes of [true, false])
      for (const [status, codes] of generalCodes(method, hasScopes))
        found.set(
          sharedName(status, codes),
          answerOf(origin, status, { codes: [...codes], others: [], scopes: ['read:orders'] }),
        );
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
};

const sharedName = (status: number, codes: ReadonlySet<FaultCode>): string => {
  const name = pascalCase(STATUS_CODES[status] ?? String(status));
  return status === 403 && !codes.has('INSUFFICIENT_SCOPE') ? `${name}WithoutScope` : name;
};

const generalCodes = (method: string, hasScopes: boolean): Map<number, Set<FaultCode>> =>
  byStatus(
    [...general, ...(method === 'POST' ? generalOfWrites : [])].filter(
      (code) => code !== 'INSUFFICIENT_SCOPE' || hasScopes,
    ),
  );

const byStatus = (errors: readonly OwnError[]): Map<number, Set<FaultCode>> => {
  const found = new Map<number, Set<FaultCode>>();
  for (const one of errors) {
    const [code, status] = typeof one === 'string' ? [one, faultStatus(one)] : one;
    found.set(status, (found.get(status) ?? new Set()).add(code));
  }
  return found;
};

/** `codes` are explained and have an example; `others` are named. */
type Codes = { codes: readonly FaultCode[]; others: readonly FaultCode[]; scopes: readonly string[] };

const answerOf = (origin: string, status: number, { codes, others, scopes }: Codes): Json => {
  const texts = codes.map((code) => `\`${code}\` ${faultTexts[code]}`);
  const named = others.map((code) => `\`${code}\``).join(', ');
  const examples = codes.map((code) => examplesOf(origin, status, code, scopes));
  return {
    description: [...texts, ...(named === '' ? [] : [`Also ${named}.`])].join('\n\n'),
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${isOAuthStatus(status) ? 'Refusal' : 'Error'}` },
        examples: Object.assign({}, ...examples.map(({ json }) => json)),
      },
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.assign({}, ...examples.map(({ problem }) => problem)),
      },
    },
  };
};

const isOAuthStatus = (status: number): boolean => status === 400 || status === 401 || status === 403;

/** Examples by name. Those that hold for every operation are references to `sharedExamples`. */
const examplesOf = (
  origin: string,
  status: number,
  code: FaultCode,
  scopes: readonly string[],
): { json: Json; problem: Json } => {
  const own = {
    [code]: { value: envelopeOf(code, scopes) },
    ...(isOAuthStatus(status) && { [`${code}_bearer`]: { value: oauthOf(origin, status, code, scopes) } }),
  };
  const problem = { [code]: { value: problemOf(origin, status, code, scopes) } };
  if (status !== faultStatus(code) || code === 'INSUFFICIENT_SCOPE') return { json: own, problem };
  const referTo = (name: string): Json => ({ $ref: `#/components/examples/${name}` });
  return {
    json: Object.fromEntries(Object.keys(own).map((name) => [name, referTo(name)])),
    problem: { [code]: referTo(`${code}_problem`) },
  };
};

/** For `components.examples`. */
export const sharedExamples = (origin: string): Json =>
  Object.fromEntries(
    faultCodes
      .filter((code) => code !== 'INSUFFICIENT_SCOPE')
      .flatMap((code) => {
        const status = faultStatus(code);
        return [
          [code, { value: envelopeOf(code, []) }],
          ...(isOAuthStatus(status) ? [[`${code}_bearer`, { value: oauthOf(origin, status, code, []) }]] : []),
          [`${code}_problem`, { value: problemOf(origin, status, code, []) }],
        ];
      }),
  );

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

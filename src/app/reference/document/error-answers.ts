/** Error answers of an operation in their three dialects (interface 6.3), with an example per form of the envelope. */
import { STATUS_CODES } from 'node:http';
import { type FaultCode, faultCodes, faultStatus, faultTitle } from '#src/contract/fault.ts';
import type { OwnError } from '#src/platform/http/operation.ts';
import { faultTexts } from './error-texts.ts';
import { type Json, nameKey } from './json-schema.ts';
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

/** Failures that any request can meet and that a caller treats alike: they are one answer of the document, `default`. */
const unspecific: ReadonlySet<number> = new Set([408, 413, 414, 415, 431, 500, 502, 503, 504]);

/** `takesKey`: it takes an `Idempotency-Key`. */
type Wanted = { origin: string; id: string; takesKey: boolean; own: readonly OwnError[] };

/** Status → response object, with a name under which operations share it (`share-parts.ts`). */
export const errorAnswers = ({ origin, id, takesKey, own }: Wanted): Json => {
  const shared = byStatus([...general, ...(takesKey ? generalOfWrites : [])]);
  const added = byStatus(own);
  const found: Json = {};
  for (const status of [...new Set([...shared.keys(), ...added.keys()])].sort((a, b) => a - b)) {
    const others = shared.get(status) ?? [];
    const codes = (added.get(status) ?? []).filter((code) => !others.includes(code));
    if (codes.length > 0)
      found[status] = {
        [nameKey]: pascalCase(codes.length > 2 ? `${id} ${status}` : codes.join(' ').toLowerCase()),
        ...answerOf(origin, status, codes, others),
      };
    else if (!unspecific.has(status))
      found[status] = { [nameKey]: generalName(status), ...answerOf(origin, status, others) };
  }
  return { ...found, default: otherFailure };
};

const generalName = (status: number): string => pascalCase(STATUS_CODES[status] ?? String(status));

const byStatus = (errors: readonly OwnError[]): Map<number, FaultCode[]> => {
  const found = new Map<number, FaultCode[]>();
  for (const one of errors) {
    const [code, status] = typeof one === 'string' ? [one, faultStatus(one)] : one;
    const codes = found.get(status) ?? [];
    if (!codes.includes(code)) found.set(status, [...codes, code]);
  }
  return found;
};

/** `codes` are explained and have an example; `others` are named. */
const answerOf = (
  origin: string,
  status: number,
  codes: readonly FaultCode[],
  others: readonly FaultCode[] = [],
): Json => {
  const texts = codes.map((code) => `\`${code}\` ${faultTexts[code]}`);
  const named = others.map((code) => `\`${code}\``).join(', ');
  return {
    description: [...texts, ...(named === '' ? [] : [`Also ${named}.`])].join('\n\n'),
    ...headersOf(status),
    content: contentOf(
      isOAuthStatus(status) ? 'Refusal' : 'Error',
      Object.assign(
        {},
        ...codes.filter(isTelling).map((code) => examplesOf(origin, status, code, oauthExampleOf(codes) === code)),
      ),
    ),
  };
};

const contentOf = (schema: string, examples: Json): Json => ({
  'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples },
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
});

const isOAuthStatus = (status: number): boolean => status === 400 || status === 401 || status === 403;

/** Whether the envelope of a code differs from that of the first one in more than the code and the text. */
const isTelling = (code: FaultCode, index: number): boolean => index === 0 || Object.keys(membersOf(code)).length > 0;

/** The code of which an answer has the OAuth form too. Those of the others differ only in the code and the text. */
const oauthExampleOf = (codes: readonly FaultCode[]): FaultCode | undefined =>
  codes.includes('INSUFFICIENT_SCOPE') ? 'INSUFFICIENT_SCOPE' : codes[0];

/** Examples by name. Where the code has its own status they are references to components, which `shareExamples` makes. */
const examplesOf = (origin: string, status: number, code: FaultCode, hasOAuthForm: boolean): Json => {
  const examples = exampleValues(origin, status, code);
  const wanted = Object.entries(examples).filter(([name]) => hasOAuthForm || name === code);
  if (status !== faultStatus(code)) return Object.fromEntries(wanted);
  return Object.assign({}, ...wanted.map(([name]) => referTo(name)));
};

const referTo = (name: string): Json => ({ [name]: { $ref: `${exampleReference}${name}` } });

const exampleReference = '#/components/examples/';

const exampleValues = (origin: string, status: number, code: FaultCode): Record<string, Json> => ({
  [code]: { value: envelopeOf(code) },
  ...(isOAuthStatus(status) && { [bearerName(code)]: { value: oauthOf(origin, status, code) } }),
});

const bearerName = (code: FaultCode): string => `${code}_bearer`;

/** For `components`: examples that several answers have; any other stands in its answer. */
export const shareExamples = (origin: string, responses: Json): { responses: Json; examples: Json } => {
  const every: Record<string, Json> = Object.assign(
    {},
    ...faultCodes.map((code) => exampleValues(origin, faultStatus(code), code)),
  );
  const names = [...JSON.stringify(responses).matchAll(/"#\/components\/examples\/(\w+)"/g)].map(
    ([, name = '']) => name,
  );
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  const placed = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(placed);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref: reference } = node as Json;
    const name = String(reference).startsWith(exampleReference) ? String(reference).slice(exampleReference.length) : '';
    if (name !== '') return repeated.has(name) ? node : every[name];
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, placed(value)]));
  };
  return {
    responses: placed(responses) as Json,
    examples: Object.fromEntries(Object.entries(every).filter(([name]) => repeated.has(name))),
  };
};

const header = (name: string): Json => ({ $ref: `#/components/headers/${name}` });

export const rateHeaders: Json = { 'RateLimit-Policy': header('RateLimitPolicy'), RateLimit: header('RateLimit') };

const headersOf = (status: number): Json => {
  const headers = {
    ...(status === 429 ? rateHeaders : undefined),
    ...(isOAuthStatus(status) ? { 'WWW-Authenticate': header('Challenge') } : undefined),
    ...([409, 429, 503].includes(status) ? { 'Retry-After': header('RetryAfter') } : undefined),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
};

const otherFailure: Json = {
  [nameKey]: 'OtherFailure',
  description: [...general, ...generalOfWrites]
    .filter((code) => unspecific.has(faultStatus(code)))
    .map((code) => `${faultStatus(code)} \`${code}\` ${faultTexts[code]}`)
    .join('\n\n'),
  ...headersOf(503),
  content: contentOf('Error', referTo('INTERNAL_ERROR')),
};

const requestId = 'req_01';
const scopeOfExamples = 'read:orders';

const membersOf = (code: FaultCode): Json => {
  switch (code) {
    case 'INSUFFICIENT_SCOPE':
      return { missing_scopes: [scopeOfExamples] };
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

const messageOf = (code: FaultCode): string =>
  code === 'INSUFFICIENT_SCOPE' ? `This operation needs the scope ${scopeOfExamples}` : faultTitle(code);

const envelopeOf = (code: FaultCode): Json => ({
  success: false,
  error: code,
  message: messageOf(code),
  ...membersOf(code),
  request_id: requestId,
});

const oauthErrors: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
};

const oauthOf = (origin: string, status: number, code: FaultCode): Json => ({
  error: oauthErrors[status],
  error_description: messageOf(code),
  error_uri: `${origin}/docs/errors#${code}`,
  code,
  ...membersOf(code),
  request_id: requestId,
});

/** The example of the schema Problem. */
export const problemOf = (origin: string, status: number, code: FaultCode): Json => ({
  type: `${origin}/docs/errors#${code}`,
  title: faultTitle(code),
  status,
  detail: messageOf(code),
  instance: `urn:orderpass:request:${requestId}`,
  code,
  ...membersOf(code),
  request_id: requestId,
});

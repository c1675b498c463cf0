/** Parts of the document that every operation shares. */
import { faultCodes } from '#src/contract/fault.ts';
import { detailTexts, oauthTexts } from './error-texts.ts';
import type { Json } from './json-schema.ts';

const text = { type: 'string' };

const detail: Json = {
  type: 'object',
  required: ['pointer', 'code', 'message'],
  properties: {
    pointer: { ...text, description: 'JSON pointer for nested bodies, else the name of the parameter or header' },
    code: { ...text, enum: [...Object.keys(detailTexts), ...faultCodes] },
    message: text,
  },
};

const extraMembers: Json = {
  errors: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
  missing_scopes: { type: 'array', items: text },
  retry_after: { type: 'integer', minimum: 1, description: 'Seconds' },
  order: { type: 'object', description: 'State of the order' },
  import: { type: 'object', description: 'Report of the import that failed' },
  request_id: text,
};

const schemas: Json = {
  ErrorDetail: detail,
  Error: {
    type: 'object',
    description: 'The envelope of a refusal',
    required: ['success', 'error', 'message', 'request_id'],
    properties: { success: { const: false }, error: { ...text, enum: faultCodes }, message: text, ...extraMembers },
  },
  OAuthError: {
    type: 'object',
    description:
      'RFC 6750: every 400, 401 and 403 to a request with a Bearer credential; errors of the OAuth endpoints',
    required: ['error', 'error_description', 'code', 'request_id'],
    properties: {
      error: { ...text, enum: Object.keys(oauthTexts) },
      error_description: { ...text, maxLength: 512 },
      error_uri: { ...text, format: 'uri' },
      code: {
        ...text,
        pattern: '^[A-Za-z0-9_.:-]{1,64}$',
        description:
          'The error code, as in `error` of the envelope. A service behind the gateway may use its own codes',
        examples: ['VALIDATION_ERROR'],
      },
      errors: extraMembers.errors,
      missing_scopes: extraMembers.missing_scopes,
      retry_after: { type: 'integer', minimum: 1 },
      request_id: text,
    },
  },
  Problem: {
    type: 'object',
    description: 'RFC 9457: when Accept names application/problem+json',
    required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
    properties: {
      type: { ...text, format: 'uri' },
      title: text,
      status: { type: 'integer' },
      detail: text,
      instance: { ...text, format: 'uri' },
      code: { ...text, enum: faultCodes },
      ...extraMembers,
    },
  },
};

const parameters: Json = {
  Restuid: {
    name: 'restuid',
    in: 'query',
    schema: { ...text, minLength: 1, maxLength: 64 },
    description: 'The restaurant; required when the client has several. A POST may send it as a member of the body',
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    schema: { ...text, minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    description: 'Key of one request for 48 h: the request sent again gets the same answer and has no second effect',
  },
  ApiVersion: {
    name: 'X-Api-Version',
    in: 'header',
    schema: { ...text, pattern: '^1(\\.\\d+){0,2}$' },
    description: 'Version of the interface that the caller was written for',
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    schema: { ...text, pattern: '^[A-Za-z0-9._-]{1,64}$' },
    description: 'Is repeated in the answer; the server makes one when it is missing',
  },
};

const headerOf = (description: string, example: string | number): Json => ({
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string' },
  example,
});

const headers: Json = {
  RequestId: headerOf('Id of this request; quote it when you ask for help', 'req_01'),
  ApiVersion: headerOf('Version of the interface', '1.0.0'),
  RateLimitPolicy: headerOf('Units and seconds of each window', '"minute";q=600;w=60, "burst";q=100;w=1'),
  RateLimit: headerOf('Units left and seconds to the end of each window', '"minute";r=598;t=41, "burst";r=98;t=1'),
  RetryAfter: headerOf('Seconds to wait', 12),
  Challenge: headerOf(
    'On every 401, and on 400 and 403 to Bearer callers',
    'Bearer realm="orderpass", resource_metadata="https://api.example/.well-known/oauth-protected-resource"',
  ),
  Replayed: headerOf('`true`: this is the answer of an earlier request with the same Idempotency-Key', 'true'),
  IdempotencyExpires: headerOf('Time until which the answer is kept', 'Tue, 03 Mar 2026 17:40:00 GMT'),
};

/** `scopes` in their order, name → description. */
export const componentsOf = (origin: string, scopes: Json): Json => ({
  schemas,
  parameters,
  headers,
  securitySchemes: {
    apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'API key of one restaurant' },
    clientId: { type: 'apiKey', in: 'header', name: 'X-Client-Id', description: 'API client, beside its secret' },
    clientSecret: { type: 'apiKey', in: 'header', name: 'X-Client-Secret', description: 'Secret of the API client' },
    bearer: {
      type: 'oauth2',
      description: 'Access token of an API client (RFC 6749 section 4.4), sent as Authorization: Bearer',
      flows: { clientCredentials: { tokenUrl: `${origin}/api/oauth/token`, scopes } },
    },
    clientBasic: { type: 'http', scheme: 'basic', description: 'Client id and secret at the OAuth endpoints' },
  },
});

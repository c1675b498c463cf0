/** Parts of the document that every operation shares. */
import { faultCodes } from '#src/contract/fault.ts';
import { problemOf, shareExamples } from './error-answers.ts';
import { detailTexts, oauthTexts } from './error-texts.ts';
import type { Json } from './json-schema.ts';
import { shareProperties } from './share-properties.ts';
import { webhookHeaders } from './webhook-paths.ts';

const text = { type: 'string' };
const requestId = {
  ...text,
  description: 'Id of this request, as in the header X-Request-Id; quote it when you ask for help',
};
const message = { ...text, description: 'Says in one sentence what is wrong; for people, and may change' };
const errorCode = { $ref: '#/components/schemas/ErrorCode' };

const detail: Json = {
  type: 'object',
  description: 'One value that is not valid',
  required: ['pointer', 'code', 'message'],
  properties: {
    pointer: { ...text, description: 'JSON pointer for nested bodies, else the name of the parameter or header' },
    code: {
      ...text,
      description: 'What is wrong with the value; it does not change within version 1',
      anyOf: [{ $ref: '#/components/schemas/DetailCode' }, errorCode],
    },
    message: { ...text, description: 'What the value must be; for people, and may change' },
  },
};

const extraMembers: Json = {
  errors: {
    type: 'array',
    description: 'Every value that is not valid; only where values are the reason',
    items: { $ref: '#/components/schemas/ErrorDetail' },
  },
  missing_scopes: {
    type: 'array',
    description: 'Exactly the scopes that the credential lacks; only with INSUFFICIENT_SCOPE',
    items: { ...text, description: 'Name of a scope' },
  },
  retry_after: {
    type: 'integer',
    minimum: 1,
    description:
      'Seconds to wait before the request is sent again, as in the header Retry-After; only with that header',
  },
  order: { type: 'object', description: 'State of the order; only where it forbids the change' },
  import: { type: 'object', description: 'Report of the import that failed; only at menu/import' },
  request_id: requestId,
};

const schemas: Json = {
  Null: { type: 'null', description: 'No value' },
  Success: { type: 'boolean', const: true, description: 'True in every answer that is no refusal' },
  ErrorCode: { ...text, description: 'Code of the error; it does not change within version 1', enum: faultCodes },
  DetailCode: { ...text, description: 'Code of a value that is not valid', enum: Object.keys(detailTexts) },
  ErrorDetail: detail,
  Error: {
    type: 'object',
    description: 'The envelope of a refusal',
    required: ['success', 'error', 'message', 'request_id'],
    properties: {
      success: { type: 'boolean', const: false, description: 'False in every refusal' },
      error: errorCode,
      message,
      ...extraMembers,
    },
  },
  OAuthError: {
    type: 'object',
    description:
      'RFC 6750: every 400, 401 and 403 to a request with a Bearer credential; errors of the OAuth endpoints',
    required: ['error', 'error_description', 'code', 'request_id'],
    properties: {
      error: { ...text, description: 'Error code of RFC 6749, 6750 or 9449', enum: Object.keys(oauthTexts) },
      error_description: { ...message, maxLength: 512 },
      error_uri: { ...text, format: 'uri', description: 'Page about the error' },
      code: {
        ...text,
        pattern: '^[A-Za-z0-9_.:-]{1,64}$',
        description:
          'The error code, as in `error` of the envelope. A service behind the gateway may use its own codes',
        examples: ['VALIDATION_ERROR'],
      },
      errors: extraMembers.errors,
      missing_scopes: extraMembers.missing_scopes,
      retry_after: extraMembers.retry_after,
      request_id: requestId,
    },
  },
  Refusal: {
    description: 'The envelope, or to a request with a Bearer credential an OAuth error',
    oneOf: [{ $ref: '#/components/schemas/Error' }, { $ref: '#/components/schemas/OAuthError' }],
  },
};

const problem: Json = {
  type: 'object',
  description: 'RFC 9457: when Accept names application/problem+json',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
  properties: {
    type: { ...text, format: 'uri', description: 'Page about the error code' },
    title: { ...text, description: 'The same short text for every problem of this type' },
    status: { type: 'integer', description: 'Status of the answer', minimum: 400, maximum: 599 },
    detail: message,
    instance: { ...text, format: 'uri', description: '`urn:orderpass:request:` and the id of this request' },
    code: errorCode,
    ...extraMembers,
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
};

const headerOf = (description: string, example: string | number): Json => ({
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string' },
  example,
});

const headers: Json = {
  RateLimitPolicy: headerOf('Units and seconds of each window', '"minute";q=600;w=60, "burst";q=100;w=1'),
  RateLimit: headerOf('Units left and seconds to the end of each window', '"minute";r=598;t=41, "burst";r=98;t=1'),
  RetryAfter: headerOf('Seconds to wait', 12),
  Challenge: headerOf(
    'On every 401, and on 400 and 403 to Bearer callers',
    'Bearer realm="orderpass", resource_metadata="https://api.example/.well-known/oauth-protected-resource"',
  ),
  BasicChallenge: headerOf('On a 401 to a request with an Authorization header', 'Basic realm="orderpass"'),
  Replayed: headerOf('`true`: this is the answer of an earlier request with the same Idempotency-Key', 'true'),
  IdempotencyExpires: headerOf('Time until which the answer is kept', 'Tue, 03 Mar 2026 17:40:00 GMT'),
};

type Parts = {
  origin: string;
  /** In their order, name → description. */
  scopes: Json;
  /** Those of the operations and events. */
  named: { schemas: Json; responses: Json; parameters: Json };
  signatureHeader: string;
};

export const componentsOf = ({ origin, scopes, named, signatureHeader }: Parts): Json => ({
  schemas: shareProperties({
    ...schemas,
    Problem: { ...problem, examples: [problemOf(origin, 404, 'CUSTOMER_NOT_FOUND')] },
    ...named.schemas,
  }),
  ...shareExamples(origin, named.responses),
  parameters: { ...parameters, ...named.parameters, ...webhookHeaders(signatureHeader) },
  headers,
  securitySchemes: {
    bearer: {
      type: 'oauth2',
      description: 'Access token of an API client (RFC 6749 section 4.4), sent as Authorization: Bearer',
      flows: { clientCredentials: { tokenUrl: `${origin}/api/oauth/token`, scopes } },
    },
    apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'API key of one restaurant' },
    clientId: { type: 'apiKey', in: 'header', name: 'X-Client-Id', description: 'API client, beside its secret' },
    clientSecret: { type: 'apiKey', in: 'header', name: 'X-Client-Secret', description: 'Secret of the API client' },
    clientBasic: { type: 'http', scheme: 'basic', description: 'Client id and secret at the OAuth endpoints' },
  },
});

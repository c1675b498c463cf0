/** The OAuth endpoints and the public documents (interface 4), as paths of the document. */
import { oauthTexts } from './error-texts.ts';
import { sampleIds } from './examples/sample-ids.ts';
import { type Json, nameKey } from './json-schema.ts';
import { pascalCase } from './name-schemas.ts';
import { oauthSchemas as schemas } from './oauth-schemas.ts';
import { documentTag, tagOf } from './tags.ts';

const credentials = { client_id: sampleIds.client, client_secret: 'ops_3x' };

const tokenRequest = { grant_type: 'client_credentials', ...credentials };
const presented = { form: { value: { token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9', ...credentials } } };

const json = (schema: Json, examples: Json): Json => ({
  'application/json': {
    schema,
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  },
});

type Endpoint = {
  id: string;
  summary: string;
  description: string;
  form: Json;
  samples: Json;
  /** Undefined: 200. */
  status?: number;
  answer: Json;
  errors: readonly string[];
  /** Undefined: the client authenticates by HTTP Basic, or by fields of the form. */
  security?: Json[];
};

const common = ['invalid_request', 'invalid_client', 'unauthorized_client', 'slow_down'];
/** RFC 9449, if the operator enables it. */
const proofs = ['invalid_dpop_proof', 'use_dpop_nonce'];
const broken = ['server_error', 'temporarily_unavailable'];
const shared: ReadonlySet<string> = new Set([...common, ...broken]);

const endpoint = (origin: string, { id, summary, description, form, samples, ...rest }: Endpoint): Json => ({
  post: {
    operationId: id,
    tags: [tagOf('/api/oauth').name],
    summary,
    description,
    security: rest.security ?? [{ clientBasic: [] }, {}],
    requestBody: {
      required: true,
      content: { 'application/x-www-form-urlencoded': { schema: form, examples: samples } },
    },
    responses: { [rest.status ?? 200]: { description: 'Done', ...rest.answer }, ...refusals(origin, rest.errors) },
  },
});

const refusals = (origin: string, errors: readonly string[]): Json => {
  const byStatus = Map.groupBy(errors, (error) => oauthTexts[error]?.[0] ?? '400');
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        // Refusals that all three endpoints have are one answer of the document.
        ...(names.every((name) => shared.has(name)) && { [nameKey]: `Oauth${pascalCase(names.join(' '))}` }),
        description: names.map((name) => `\`${name}\` ${oauthTexts[name]?.[2] ?? ''}`).join('\n\n'),
        headers: {
          ...(status === '401' ? { 'WWW-Authenticate': { $ref: '#/components/headers/BasicChallenge' } } : undefined),
          ...(status === '429' || status === '503'
            ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
            : undefined),
        },
        content: json(
          { $ref: '#/components/schemas/OAuthError' },
          // The others differ from the first only in code and text, which the description has.
          Object.fromEntries(names.slice(0, 1).map((name) => [name, refusal(origin, name)])),
        ),
      },
    ]),
  );
};

const refusal = (origin: string, name: string): Json => ({
  error: name,
  error_description: oauthTexts[name]?.[1],
  error_uri: `${origin}/docs/errors#${name}`,
  code: oauthCodes[name] ?? 'VALIDATION_ERROR',
  ...(name === 'slow_down' ? { retry_after: 12 } : undefined),
  request_id: 'req_01',
});

/** `code` of each error; the others have VALIDATION_ERROR or MISSING_PARAMETER. */
const oauthCodes: Readonly<Record<string, string>> = {
  invalid_client: 'INVALID_AUTH',
  unauthorized_client: 'UNAUTHORIZED',
  invalid_grant: 'UNAUTHORIZED',
  invalid_dpop_proof: 'INVALID_AUTH',
  use_dpop_nonce: 'INVALID_AUTH',
  slow_down: 'RATE_LIMIT_EXCEEDED',
  server_error: 'INTERNAL_ERROR',
  temporarily_unavailable: 'OVERLOADED',
};

const publicDocument = (id: string, summary: string, schema: Json, example: Json): Json => ({
  get: {
    operationId: id,
    tags: [documentTag.name],
    summary,
    description: 'Needs no credential.',
    security: [],
    responses: {
      200: {
        description: 'May be cached for five minutes',
        headers: { 'Cache-Control': { schema: { type: 'string' }, example: 'public, max-age=300' } },
        content: json(schema, { document: example }),
      },
    },
  },
});

const authenticationAt = (endpoint: string): Json => ({
  [`${endpoint}_endpoint_auth_methods_supported`]: ['client_secret_post', 'client_secret_basic', 'private_key_jwt'],
  [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: ['ES256', 'EdDSA', 'PS256', 'RS256'],
});

/** Path → path item. `answers`: recorded ones by operation id. */
export const oauthPaths = (origin: string, answers: Readonly<Record<string, Json>>): Json => ({
  '/api/oauth/token': endpoint(origin, {
    id: 'oauth.token',
    summary: 'Access token for a client (RFC 6749 section 4.4)',
    description:
      'Keep the token until shortly before it expires, rather than getting one for each request. Token exchange (RFC 8693) ' +
      'gives a token that can do less, or ends earlier, for one of the same client.',
    form: schemas.tokenForm,
    samples: {
      all: { summary: 'With all scopes of the client', value: tokenRequest },
      some: { summary: 'With some of them', value: { ...tokenRequest, scope: 'read:orders write:orders' } },
    },
    answer: {
      content: json(schemas.tokenAnswer, {
        token: answers['oauth.token'] ?? {},
      }),
    },
    errors: [
      ...common,
      'unsupported_grant_type',
      'invalid_grant',
      'invalid_scope',
      'invalid_target',
      ...proofs,
      ...broken,
    ],
  }),
  '/api/oauth/report-leak': endpoint(origin, {
    id: 'oauth.report-leak',
    summary: 'Ends a credential that was found in public',
    description: 'Needs no credential: the value proves the right to end it. Every gateway refuses it within a second.',
    form: schemas.leakForm,
    samples: { form: { value: { token: 'opk_4fT0a9QbZx1c_', url: 'https://code.example/shop/config.js' } } },
    status: 202,
    answer: { content: json(schemas.leakAnswer, { received: answers['oauth.report-leak'] ?? {} }) },
    errors: ['invalid_request', 'slow_down', ...broken],
    security: [],
  }),
  '/api/oauth/revoke': endpoint(origin, {
    id: 'oauth.revoke',
    summary: 'Revokes a token of the same client (RFC 7009)',
    description: 'Every gateway refuses the token within a second.',
    form: schemas.presentedForm,
    samples: presented,
    answer: { description: 'The token is revoked, or it was not valid before; the body is empty' },
    errors: [...common, ...broken],
  }),
  '/api/oauth/introspect': endpoint(origin, {
    id: 'oauth.introspect',
    summary: 'State of a token, for clients with the introspection right (RFC 7662)',
    description: 'For services that verify tokens of their callers.',
    form: schemas.presentedForm,
    samples: presented,
    answer: {
      content: json(schemas.introspectionAnswer, {
        live: { ...answers['oauth.introspect'], iss: origin, aud: origin },
        refused: { active: false },
      }),
    },
    errors: [...common, ...broken],
  }),
  ...documentPaths(origin),
});

const documentPaths = (origin: string): Json => ({
  '/api/oauth/jwks': publicDocument('oauth.jwks', 'Keys that sign access tokens (RFC 7517)', schemas.keySet, {
    keys: [{ kty: 'EC', kid: 'k1', use: 'sig', alg: 'ES256', crv: 'P-256', x: 'f83O', y: 'x_FE' }],
  }),
  '/.well-known/oauth-authorization-server': publicDocument(
    'metadata.server',
    'Where the OAuth endpoints are (RFC 8414)',
    schemas.serverDocument,
    {
      issuer: origin,
      token_endpoint: `${origin}/api/oauth/token`,
      jwks_uri: `${origin}/api/oauth/jwks`,
      scopes_supported: ['read:orders', 'manage:orders'],
      response_types_supported: [],
      grant_types_supported: ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'],
      ...authenticationAt('token'),
      revocation_endpoint: `${origin}/api/oauth/revoke`,
      ...authenticationAt('revocation'),
      introspection_endpoint: `${origin}/api/oauth/introspect`,
      ...authenticationAt('introspection'),
      introspection_signing_alg_values_supported: ['ES256'],
      authorization_details_types_supported: ['orderpass_access'],
    },
  ),
  '/.well-known/oauth-protected-resource': publicDocument(
    'metadata.resource',
    'Authorization server of this origin (RFC 9728)',
    schemas.resourceDocument,
    {
      resource: origin,
      authorization_servers: [origin],
      scopes_supported: ['read:orders', 'manage:orders'],
      bearer_methods_supported: ['header'],
      authorization_details_types_supported: ['orderpass_access'],
    },
  ),
  '/.well-known/webhook-keys': publicDocument('webhook.keys', 'Keys that sign webhooks (Ed25519)', schemas.keySet, {
    keys: [
      {
        kty: 'OKP',
        kid: 'w1',
        use: 'sig',
        alg: 'EdDSA',
        crv: 'Ed25519',
        x: 'iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w',
      },
    ],
  }),
  '/api/openapi.json': publicDocument(
    'openapi',
    'This document',
    {
      [nameKey]: 'OpenApiDocument',
      type: 'object',
      description: 'An OpenAPI 3.1 document',
      additionalProperties: true,
    },
    { openapi: '3.1.1' },
  ),
});

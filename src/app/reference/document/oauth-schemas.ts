/** Forms and answers of the OAuth endpoints, and the public documents (interface 4), with the meaning of each member. */
import { z } from 'zod';
import { schemaOf } from './json-schema.ts';

const text = z.string();
const texts = z.array(z.string());
const address = z.string().meta({ format: 'uri' });
const tokenType = z.enum(['Bearer', 'DPoP']);
const seconds = z.int();
const audience = z
  .union([address, texts])
  .meta({ id: 'Audience', description: 'This origin, or services behind it (RFC 7519, section 4.1.3)' });

const clientFields = {
  client_id: text.optional().describe('The client; absent with HTTP Basic, and not needed beside an assertion'),
  client_secret: text.optional().describe('A secret of the client; absent with HTTP Basic or an assertion'),
  client_assertion_type: z
    .literal('urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    .optional()
    .describe('Required beside `client_assertion`'),
  client_assertion: text
    .optional()
    .describe('JWT signed by a registered key of the client (RFC 7523); it can be used once, for at most 5 minutes'),
};

const details = z.array(z.record(z.string(), z.unknown())).optional();

const accessTokenType = z.literal('urn:ietf:params:oauth:token-type:access_token');
const byExchange = 'for token exchange only';

const tokenForm = z
  .object({
    grant_type: z
      .enum(['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'])
      .describe('A token for the client, or the exchange of one for a token that can do less (RFC 8693)'),
    ...clientFields,
    subject_token: text.optional().describe(`A live access token of this client; required, and ${byExchange}`),
    subject_token_type: accessTokenType.optional().describe(`Type of the subject token; required, and ${byExchange}`),
    requested_token_type: accessTokenType.optional().describe(`Type of the new token; ${byExchange}`),
    expires_in: z
      .int()
      .min(1)
      .optional()
      .describe(`Wanted lifetime in seconds; the token ends with the subject token at the latest; ${byExchange}`),
    scope: text.optional().describe('Scopes that the token is to have, separated by spaces; absent or empty means all'),
    resource: address
      .optional()
      .describe('What the token is for: this origin or its `/api`, which mean the same, or a service behind it'),
    authorization_details: text.optional().describe('JSON array of objects that limit the token (RFC 9396)'),
  })
  .meta({ id: 'TokenRequest', description: 'A request for an access token' });

const presentedForm = z
  .object({
    token: text.describe('The access token that the request is about'),
    token_type_hint: text.optional().describe('Is ignored'),
    ...clientFields,
  })
  .meta({ id: 'PresentedToken', description: 'An access token to revoke or to introspect' });

const leakForm = z
  .object({
    token: text.describe('The value of an API key, a client secret or an access token'),
    url: text.optional().describe('Where it was found'),
  })
  .meta({ id: 'LeakReport', description: 'A credential that was found where it should not be' });

const leakAnswer = z
  .object({ received: z.literal(true).describe('True for every value, whether it is one of this server or not') })
  .meta({ id: 'LeakReceived', description: 'The report was received' });

const tokenAnswer = z
  .object({
    access_token: text.describe(
      'The token, a JWT; send it as `Authorization: Bearer`, or `DPoP` when it is bound to a key',
    ),
    token_type: tokenType.describe('`DPoP`: it is bound to the key of the proof in the request (RFC 9449)'),
    expires_in: z.int().min(1).describe('Seconds until it expires'),
    scope: text.describe('Scopes that it has, separated by spaces; empty: none'),
    issued_token_type: accessTokenType.optional().describe('Type of the token; only after token exchange'),
    authorization_details: details.describe('What limits it beside the scopes; absent when nothing does'),
  })
  .meta({ id: 'Token', description: 'A new access token' });

const whenActive = 'only when `active` is true';

const introspectionAnswer = z
  .object({
    active: z.boolean().describe('False: the token would be refused now; then there is no other member'),
    scope: text
      .optional()
      .describe(`Scopes that it has and its client still holds, separated by spaces; ${whenActive}`),
    client_id: text.optional().describe(`The client that it was issued to; ${whenActive}`),
    sub: text.optional().describe(`The same as \`client_id\`; ${whenActive}`),
    token_type: tokenType.optional().describe(`\`DPoP\`: it is bound to a key; ${whenActive}`),
    exp: seconds.optional().describe(`When it expires, in Unix seconds; ${whenActive}`),
    iat: seconds.optional().describe(`When it was issued, in Unix seconds; ${whenActive}`),
    iss: address.optional().describe(`The issuer, which is this origin; ${whenActive}`),
    aud: audience.optional().describe(`What it is for; ${whenActive}`),
    jti: text.optional().describe(`Its id; ${whenActive}`),
    cnf: z
      .object({
        jkt: text.optional().describe('SHA-256 thumbprint of the key (RFC 7638)'),
        'x5t#S256': text.optional().describe('SHA-256 thumbprint of the certificate (RFC 8705)'),
      })
      .optional()
      .describe('The key (RFC 9449) or certificate that it is bound to; absent for other tokens'),
  })
  .meta({ id: 'Introspection', description: 'State of an access token (RFC 7662)' });

const publicKey = z
  .object({
    kty: z.enum(['EC', 'OKP']).describe('Type of the key: `EC` signs access tokens, `OKP` signs webhooks'),
    kid: text.describe('Id of the key, as in the header of what it has signed'),
    crv: z.enum(['P-256', 'Ed25519']).describe('Its curve'),
    x: text.describe('Its public coordinate x, in base64url'),
    y: text.optional().describe('Its public coordinate y, in base64url; absent for `Ed25519`'),
    use: z.literal('sig').describe('It verifies signatures'),
    alg: z
      .enum(['ES256', 'EdDSA'])
      .optional()
      .describe('Algorithm of its signatures; always there for keys of access tokens'),
  })
  .meta({ id: 'PublicKey', description: 'A public key (RFC 7517)' });

const keySet = z
  .object({ keys: z.array(publicKey).describe('Keys in use, keys that will be used soon, and former keys') })
  .meta({ id: 'KeySet', description: 'Public keys to verify signatures with (RFC 7517)' });

const methods = texts.describe('Ways in which a client may authenticate there');
const algorithms = texts.describe('Algorithms with which an assertion may be signed there');
const scopes = texts.describe('Every scope that there is');
const proofAlgorithms = texts
  .optional()
  .describe('Algorithms with which a proof may be signed; absent unless the operator enables RFC 9449');

const detailTypes = texts.describe('Types of `authorization_details` (RFC 9396)');
const bindsToCertificates = z
  .boolean()
  .optional()
  .describe('Tokens are bound to certificates; absent unless the operator enables RFC 8705');

const serverDocument = z
  .object({
    issuer: address.describe('The origin, which is `iss` of every token'),
    token_endpoint: address.describe('Address for access tokens'),
    jwks_uri: address.describe('Address of the keys that sign access tokens'),
    scopes_supported: scopes,
    response_types_supported: texts.describe('Empty: there is no authorization endpoint'),
    grant_types_supported: texts.describe('`client_credentials`, and token exchange'),
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint: address.describe('Address to revoke a token'),
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint: address.describe('Address to ask for the state of a token'),
    introspection_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_signing_alg_values_supported: texts.describe('Algorithms of signed answers (RFC 9701)'),
    authorization_details_types_supported: detailTypes,
    tls_client_certificate_bound_access_tokens: bindsToCertificates,
    mtls_endpoint_aliases: z
      .record(z.string(), address)
      .optional()
      .describe('Addresses of these endpoints for clients with a certificate (RFC 8705); absent without such a host'),
    dpop_signing_alg_values_supported: proofAlgorithms,
  })
  .meta({ id: 'AuthorizationServer', description: 'Metadata of the authorization server (RFC 8414)' });

const resourceDocument = z
  .object({
    resource: address.describe('The origin, which is `aud` of every token'),
    authorization_servers: z.array(address).describe('Issuers of tokens for it: this origin alone'),
    scopes_supported: scopes,
    bearer_methods_supported: texts.describe('`header` alone: a token is sent in `Authorization` only'),
    authorization_details_types_supported: detailTypes,
    tls_client_certificate_bound_access_tokens: bindsToCertificates,
    dpop_signing_alg_values_supported: proofAlgorithms,
  })
  .meta({ id: 'ProtectedResource', description: 'Metadata of the protected resource (RFC 9728)' });

/** As JSON Schema, for the operations of oauth-paths.ts. */
export const oauthSchemas = {
  tokenForm: schemaOf(tokenForm, 'input'),
  presentedForm: schemaOf(presentedForm, 'input'),
  leakForm: schemaOf(leakForm, 'input'),
  leakAnswer: schemaOf(leakAnswer, 'output'),
  tokenAnswer: schemaOf(tokenAnswer, 'output'),
  introspectionAnswer: schemaOf(introspectionAnswer, 'output'),
  keySet: schemaOf(keySet, 'output'),
  serverDocument: schemaOf(serverDocument, 'output'),
  resourceDocument: schemaOf(resourceDocument, 'output'),
};

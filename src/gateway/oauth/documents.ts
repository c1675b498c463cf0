/** The public documents of interface 4.3: server metadata, resource metadata and the keys of tokens. */
import { detailType } from '../access/rights/access-details.ts';
import type { ProfileRules } from '../dpop/profile.ts';
import { proofAlgorithms } from '../dpop/verify-proof.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import { grantTypes } from './read-token-request.ts';
import { tokenPath } from './token-issuer.ts';
import { assertionAlgorithms } from './verify-assertion.ts';

type DocumentsDeps = {
  origin: string;
  allScopes: () => readonly string[];
  /** Tokens may be bound to keys (RFC 9449). */
  dpop: boolean;
  /** Undefined: the operator has client certificates off. */
  certificates: { readonly hasAuthorities: boolean } | undefined;
  /** Where certificates are requested (RFC 8705 section 5); undefined: at the origin. */
  mtlsOrigin: string | undefined;
  rules: ProfileRules;
  keys: Pick<SigningKeys, 'jwks'>;
  /** Paths that are resources of their own (RFC 9728 section 3.1). */
  resources: readonly string[];
  /** Path below /.well-known/ → body: public documents of other parts of the program. */
  moreDocuments?: Readonly<Record<string, () => string>> | undefined;
};

const jwksPath = '/api/oauth/jwks';
export const revocationPath = '/api/oauth/revoke';
/** It refuses every request: there are no users who could authorize a client. */
export const authorizationPath = '/api/oauth/authorize';
export const introspectionPath = '/api/oauth/introspect';

/** RFC 9396 section 10. */
const details = { authorization_details_types_supported: [detailType] };

const secretMethods = ['client_secret_post', 'client_secret_basic'];

const certificateMethods = (certificates: DocumentsDeps['certificates']): readonly string[] => {
  if (certificates === undefined) return [];
  return certificates.hasAuthorities
    ? ['tls_client_auth', 'self_signed_tls_client_auth']
    : ['self_signed_tls_client_auth'];
};

const aliasesAt = (host: string | undefined): object | undefined =>
  host === undefined
    ? undefined
    : {
        mtls_endpoint_aliases: {
          token_endpoint: host + tokenPath,
          revocation_endpoint: host + revocationPath,
          introspection_endpoint: host + introspectionPath,
        },
      };

/** Path → body. The key set is serialised again only when it was replaced. */
export const createDocuments = ({
  origin,
  allScopes,
  dpop,
  certificates,
  mtlsOrigin,
  rules,
  keys,
  resources,
  moreDocuments = {},
}: DocumentsDeps): ReadonlyMap<string, () => string> => {
  const proofs = dpop ? { dpop_signing_alg_values_supported: proofAlgorithms(rules) } : undefined;
  const authMethods = [
    ...(rules.sharedSecrets ? secretMethods : []),
    'private_key_jwt',
    ...certificateMethods(certificates),
  ];
  const algorithms = assertionAlgorithms(rules);
  const bound = certificates === undefined ? undefined : { tls_client_certificate_bound_access_tokens: true };
  const server = (): object => ({
    issuer: origin,
    // Several clients of such a resource refuse metadata without one, which RFC 8414 section 2 allows for these grants.
    ...(resources.length > 0 ? { authorization_endpoint: origin + authorizationPath } : undefined),
    token_endpoint: origin + tokenPath,
    jwks_uri: origin + jwksPath,
    scopes_supported: allScopes(),
    response_types_supported: [],
    grant_types_supported: grantTypes,
    ...details,
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint: origin + revocationPath,
    revocation_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint: origin + introspectionPath,
    // RFC 9701 section 7.
    introspection_signing_alg_values_supported: ['ES256'],
    introspection_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    ...proofs,
    ...bound,
    ...(certificates === undefined ? undefined : aliasesAt(mtlsOrigin)),
  });
  const resource = (path = ''): object => ({
    resource: origin + path,
    authorization_servers: [origin],
    // Clients of a resource of its own ask for every scope that is listed here, and a client that is not granted one gets none.
    ...(path === '' ? { scopes_supported: allScopes() } : undefined),
    bearer_methods_supported: ['header'],
    ...details,
    ...proofs,
    ...bound,
  });
  let written: { jwks: object; text: string } | undefined;
  const jwksText = (): string => {
    const jwks = keys.jwks();
    if (written?.jwks !== jwks) written = { jwks, text: JSON.stringify(jwks) };
    return written.text;
  };
  return new Map([
    [jwksPath, jwksText],
    ['/.well-known/oauth-authorization-server', () => JSON.stringify(server())],
    ['/.well-known/oauth-protected-resource', () => JSON.stringify(resource())],
    ...resources.map((path): [string, () => string] => [
      `/.well-known/oauth-protected-resource${path}`,
      () => JSON.stringify(resource(path)),
    ]),
    ...Object.entries(moreDocuments),
  ]);
};

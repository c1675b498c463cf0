/**
 * Makes the JWT (RFC 9068) by oidc-provider's model of a client credentials token, without its token endpoint, which would
 * read, check and route every request a second time.
 *
 * It leans on these parts of oidc-provider 9.13 that its documentation does not promise;
 * test/platform/parity/oidc-provider.test.ts holds them:
 * - `new provider.Client(metadata)` makes a client within the call, without the adapter, though its types declare no constructor;
 * - `new provider.ClientCredentials({ client, scope, resourceServer })` makes the token by that resource server alone;
 * - `save()` of such a token answers the JWT and stores nothing, and `expiration` is the lifetime of the configuration;
 * - `jkt` of the token becomes `cnf.jkt`, and `x5t#S256` the member of that name;
 * - `extraTokenClaims` is asked with the token, without a request;
 * - an `ExternalSigningKey` (experimental: `ack: 'experimental-01'`) signs through its method `sign` and nothing else.
 */
import Provider, { type Adapter, type ClientMetadata, type Configuration } from 'oidc-provider';
import { isSandboxId } from '#src/contract/sandbox.ts';
import type { ClientRecord } from '../../credentials/lookup/records.ts';
import type { SigningKey } from '../keys/signing-keys.ts';
import { TokenKey } from './token-key.ts';

export type MadeToken = {
  access_token: string;
  /** Seconds. */
  expires_in: number;
  scope: string;
};

/** `scope`: names, separated by spaces. `jkt`: thumbprint of the key that the token is bound to, `x5t`: of the certificate. */
export type MakeToken = (
  client: ClientRecord,
  scope: string,
  jkt: string | undefined,
  x5t?: string,
) => Promise<MadeToken>;

type TokenMakerDeps = { origin: string; lifetimeS: number; key: SigningKey };

export const createTokenMaker = (deps: TokenMakerDeps): MakeToken => {
  const { origin, key } = deps;
  const provider = new Provider(origin, createConfiguration(deps));
  // The records of the cache are the same object until the client changes.
  const clients = new WeakMap<ClientRecord, ProviderClient>();
  const clientOf = (record: ClientRecord): ProviderClient => {
    const known = clients.get(record);
    if (known !== undefined) return known;
    const client = makeClient(provider, record.clientId);
    clients.set(record, client);
    return client;
  };
  return async (record, scope, jkt, x5t) => {
    const resourceServer = {
      scope,
      // The model reads `scope`; its type wants both.
      scopes: new Set(scope.split(' ')),
      audience: origin,
      accessTokenFormat: 'jwt' as const,
      jwt: { sign: { alg: 'ES256' as const, kid: key.kid } },
      identifier: () => origin,
    };
    const token = new provider.ClientCredentials({ client: clientOf(record), scope, resourceServer });
    if (jkt !== undefined) token.jkt = jkt;
    if (x5t !== undefined) token['x5t#S256'] = x5t;
    return { access_token: await token.save(), expires_in: token.expiration, scope };
  };
};

type ProviderClient = InstanceType<Provider['Client']>;

/** The provider requires a secret in the metadata; this text is never compared. */
const makeClient = (provider: Provider, clientId: string): ProviderClient => {
  const Client = provider.Client as unknown as new (metadata: ClientMetadata) => ProviderClient;
  return new Client({
    client_id: clientId,
    client_secret: 'kept as a digest elsewhere',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  });
};

const createConfiguration = ({ lifetimeS, key }: TokenMakerDeps): Configuration => ({
  adapter: () => noStore,
  jwks: { keys: [new TokenKey(key)] },
  clientAuthMethods: ['client_secret_basic'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  responseTypes: [],
  scopes: [],
  extraTokenClaims: (_context, { clientId = '' }) => (isSandboxId(clientId) ? { sandbox: true } : undefined),
  ttl: { ClientCredentials: lifetimeS },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    // The provider checks no proofs, since it cannot know one that another gateway has seen. It only writes the binding.
    dPoP: { enabled: false },
    externalSigningSupport: { enabled: true, ack: 'experimental-01' },
  },
});

/** Tokens are self-contained and clients come from the credential cache, so the provider stores nothing. */
const nothing = (): Promise<undefined> => Promise.resolve(undefined);
const noStore: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUserCode: nothing,
  findByUid: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
};

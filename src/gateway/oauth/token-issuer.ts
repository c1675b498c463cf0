/**
 * Makes the JWT (RFC 9068) by oidc-provider's model of a client credentials token, without its token endpoint. The client
 * is authenticated before (authenticate-client.ts, for all endpoints), and grants, resources and scopes are those of the
 * gateway's own tables. The provider's endpoint would read, check and route every request a second time.
 */
import Provider, { type Adapter, type ClientMetadata, type Configuration } from 'oidc-provider';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { OAuthSettings } from './config.ts';
import type { SigningKey, SigningKeys } from './keys/signing-keys.ts';
import { TokenKey } from './keys/token-key.ts';
import { OAuthRefusal } from './oauth-answers.ts';
import type { Form } from './read-token-request.ts';

export type TokenIssuerDeps = {
  origin: string;
  settings: Pick<OAuthSettings, 'token_lifetime'>;
  /** Names of all scopes, in the sequence of the route table. */
  allScopes: readonly string[];
  keys: Pick<SigningKeys, 'current'>;
};

type Issued = {
  access_token: string;
  expires_in: number;
  scope: string;
};

/**
 * Rejects with the refusal of RFC 6749 section 5.2 or RFC 8707 section 2, or with whatever failed. `client`: it has proven
 * itself. `jkt`: thumbprint of the key that the token is bound to.
 */
export type IssueToken = (form: Form, client: ClientRecord, jkt?: string) => Promise<Issued>;

export const tokenPath = '/api/oauth/token';

export const createTokenIssuer = (deps: TokenIssuerDeps): IssueToken => {
  let made: { key: SigningKey; makeToken: MakeToken } | undefined;
  return async (form, client, jkt) => {
    requireRights(client);
    requireResource(deps.origin, form.resource);
    const scope = settleScope(deps.allScopes, form.scope, client);
    const key = deps.keys.current();
    // The provider's key set is fixed when it is made, so another key is another provider.
    if (made?.key !== key) made = { key, makeToken: createMakeToken(deps, key) };
    return made.makeToken(client, scope, jkt);
  };
};

type MakeToken = (client: ClientRecord, scope: string, jkt: string | undefined) => Promise<Issued>;

const createMakeToken = (deps: TokenIssuerDeps, key: SigningKey): MakeToken => {
  const provider = new Provider(deps.origin, createConfiguration(deps, key));
  // The records of the cache are the same object until the client changes.
  const clients = new WeakMap<ClientRecord, ProviderClient>();
  const clientOf = (record: ClientRecord): ProviderClient => {
    const known = clients.get(record);
    if (known !== undefined) return known;
    const client = makeClient(provider, record.clientId);
    clients.set(record, client);
    return client;
  };
  return async (record, scope, jkt) => {
    const resourceServer = {
      scope,
      // The model reads `scope`; its type wants both.
      scopes: new Set(scope.split(' ')),
      audience: deps.origin,
      accessTokenFormat: 'jwt' as const,
      jwt: { sign: { alg: 'ES256' as const, kid: key.kid } },
      identifier: () => deps.origin,
    };
    const token = new provider.ClientCredentials({ client: clientOf(record), scope, resourceServer });
    if (jkt !== undefined) token.jkt = jkt;
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

const createConfiguration = (deps: TokenIssuerDeps, key: SigningKey): Configuration => ({
  adapter: () => noStore,
  jwks: { keys: [new TokenKey(key)] },
  clientAuthMethods: ['client_secret_basic'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  responseTypes: [],
  scopes: [],
  ttl: { ClientCredentials: deps.settings.token_lifetime },
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

const requireRights = (client: ClientRecord): void => {
  if (!client.mayUseTokens) throw new OAuthRefusal('unauthorized_client', 400, 'This client may not use tokens');
  if (client.tenants.length === 0) {
    throw new OAuthRefusal('invalid_grant', 400, 'Nothing is granted to this client any more');
  }
};

/** RFC 8707 section 2: the default resource is this server. */
const requireResource = (origin: string, resource = origin): void => {
  if (resource === origin || resource === `${origin}/api`) return;
  const message = 'must be the origin of this server, or its /api';
  throw new OAuthRefusal('invalid_target', 400, `resource ${message}`, {
    errors: [{ pointer: 'resource', code: 'ENUM', message }],
  });
};

/** The requested scopes, or all of the client when none is requested, in the sequence of the table. */
const settleScope = (allScopes: readonly string[], wanted: string | undefined, client: ClientRecord): string => {
  const granted = allScopes.filter((scope) => client.scopes?.includes(scope) ?? true);
  const asked = wanted?.split(' ') ?? granted;
  if (asked.some((scope) => !granted.includes(scope))) {
    const message = 'names something that does not exist or is not granted to the client';
    throw new OAuthRefusal('invalid_scope', 400, `scope ${message}`, {
      errors: [{ pointer: 'scope', code: 'ENUM', message }],
    });
  }
  const scope = granted.filter((name) => asked.includes(name)).join(' ');
  if (scope === '') throw new OAuthRefusal('invalid_scope', 400, 'No scope is granted to the client');
  return scope;
};

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

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
 * - `rar` becomes `authorization_details`, and `aud` may be set to a list;
 * - `iat` and `exp` of the token, where they are set, are its times;
 * - `extraTokenClaims` is asked with the token, without a request;
 * - an `ExternalSigningKey` (experimental: `ack: 'experimental-01'`) signs through its method `sign` and nothing else.
 */
import Provider, { type Adapter, type ClientMetadata, type Configuration } from 'oidc-provider';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { unixSeconds } from '#src/platform/clock.ts';
import type { ClientRecord } from '../../credentials/lookup/records.ts';
import type { SigningKey } from '../keys/signing-keys.ts';
import { TokenKey } from './token-key.ts';

export type MadeToken = {
  access_token: string;
  /** Seconds. */
  expires_in: number;
  scope: string;
  authorization_details?: readonly object[];
};

export type TokenContent = {
  /** Names, separated by spaces; empty: none. */
  scope: string;
  /** Thumbprint of the key that the token is bound to. */
  jkt: string | undefined;
  /** Thumbprint of the certificate that it is bound to. */
  x5t: string | undefined;
  /** Audiences of services; undefined: the whole server. */
  audiences: readonly string[] | undefined;
  /** The claim `authorization_details`. */
  details: readonly object[] | undefined;
  /** Claims about the tokens that it was exchanged from; undefined: it was not exchanged. */
  lineage?: { ancestors: readonly string[]; ancestors_iat: number };
  /** Unix time of its end at the latest. */
  endSeconds?: number;
  /** By the clock by which tokens are checked and revoked, since that of this machine may be another. */
  issuedAt: Date;
  /** A shorter lifetime than the configured one. */
  wantedSeconds?: number | undefined;
};

export type MakeToken = (client: ClientRecord, content: TokenContent) => Promise<MadeToken>;

type TokenMakerDeps = { origin: string; lifetimeS: number; key: SigningKey };

export const createTokenMaker = (deps: TokenMakerDeps): MakeToken => {
  const { origin, key } = deps;
  const lineages = new WeakMap<object, object>();
  const provider = new Provider(origin, createConfiguration(deps, lineages));
  // The records of the cache are the same object until the client changes.
  const clients = new WeakMap<ClientRecord, ProviderClient>();
  const clientOf = (record: ClientRecord): ProviderClient => {
    const known = clients.get(record);
    if (known !== undefined) return known;
    const client = makeClient(provider, record.clientId);
    clients.set(record, client);
    return client;
  };
  return async (record, content) => {
    const { scope, jkt, x5t, audiences, details, lineage, endSeconds, issuedAt } = content;
    const resourceServer = {
      scope,
      // The model reads `scope`; its type wants both.
      scopes: new Set(scope.split(' ')),
      audience: origin,
      accessTokenFormat: 'jwt' as const,
      jwt: { sign: { alg: 'ES256' as const, kid: key.kid } },
      identifier: () => origin,
    };
    const token: ProviderToken = new provider.ClientCredentials({ client: clientOf(record), scope, resourceServer });
    if (jkt !== undefined) token.jkt = jkt;
    if (x5t !== undefined) token['x5t#S256'] = x5t;
    if (details !== undefined) token.rar = details;
    if (lineage !== undefined) lineages.set(token, lineage);
    // Releases that do not know these claims refuse a list, and with it a token that would be worth more to them.
    if (audiences !== undefined) token.aud = audiences.length === 1 ? audiences[0] : audiences;
    else if (details !== undefined || lineage !== undefined) token.aud = [origin];
    const issuedSeconds = unixSeconds(issuedAt);
    const seconds = Math.min(token.expiration, content.wantedSeconds ?? Number.POSITIVE_INFINITY);
    token.iat = issuedSeconds;
    token.exp = Math.min(issuedSeconds + seconds, endSeconds ?? Number.POSITIVE_INFINITY);
    const access_token = await token.save();
    return {
      access_token,
      expires_in: token.exp - issuedSeconds,
      scope,
      ...(details && { authorization_details: details }),
    };
  };
};

/** The members that the provider writes into the token, as wide as they are. */
type ProviderToken = Omit<InstanceType<Provider['ClientCredentials']>, 'aud' | 'rar' | 'iat' | 'exp'> & {
  aud?: string | readonly string[] | undefined;
  rar?: unknown;
  iat?: number | undefined;
  exp?: number | undefined;
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

const createConfiguration = ({ lifetimeS, key }: TokenMakerDeps, lineages: WeakMap<object, object>): Configuration => ({
  adapter: () => noStore,
  jwks: { keys: [new TokenKey(key)] },
  clientAuthMethods: ['client_secret_basic'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  responseTypes: [],
  scopes: [],
  extraTokenClaims: (_context, token) => ({
    ...(isSandboxId(token.clientId ?? '') && { sandbox: true }),
    ...lineages.get(token),
  }),
  // The provider leaves an empty scope out. Every check of tokens, also that of the previous release, needs the claim.
  formats: {
    customizers: {
      jwt: (_context, _token, { payload }) => {
        payload.scope ??= '';
      },
    },
  },
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

/**
 * oidc-provider, set up for one grant and one kind of token. It checks resource and scope and makes the JWT. The client
 * has been authenticated before (authenticate-client.ts, for all endpoints alike), and what is allowed to it is decided
 * here. Nothing of its other endpoints is reachable: only requests that were written here are put into it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import Provider, {
  type Adapter,
  type ClientMetadata,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import type { CredentialCache } from '../credentials/credential-cache.ts';
import type { ClientRecord } from '../credentials/credential-records.ts';
import type { OAuthSettings } from './config.ts';
import type { Form } from './read-token-request.ts';
import type { SigningKey, SigningKeys } from './signing-keys.ts';
import { TokenKey } from './token-key.ts';

export type TokenIssuerDeps = {
  origin: string;
  settings: Pick<OAuthSettings, 'token_lifetime'>;
  /** Names of all scopes, in the sequence of the route table. */
  allScopes: readonly string[];
  keys: Pick<SigningKeys, 'current'>;
  credentials: Pick<CredentialCache, 'findClient'>;
};

export type Issued = {
  access_token: string;
  expires_in: number;
  scope: string;
};

/**
 * Resolves with the token, or rejects with the provider's error or whatever failed. `client`: it has proven itself. `jkt`:
 * thumbprint of the key that the token is bound to.
 */
export type IssueToken = (ctx: Context, form: Form, client: ClientRecord, jkt?: string) => Promise<Issued>;

export const tokenPath = '/api/oauth/token';

export const createTokenIssuer = (deps: TokenIssuerDeps): IssueToken => {
  let made: { key: SigningKey; run: IssueToken } | undefined;
  return (ctx, form, client, jkt) => {
    const key = deps.keys.current();
    // The provider's key set is fixed when it is made, so another key is another provider.
    if (made?.key !== key) made = { key, run: mount(createProvider(deps, key)) };
    return made.run(ctx, form, client, jkt);
  };
};

/** Known to this process only: with it a request in the provider's hands shows that the client has been authenticated. */
const handover = randomBytes(32).toString('base64url');

/** Ids and the handover hold nothing that would have to be encoded. */
const handOver = ({ scope, resource }: Form, { clientId }: ClientRecord): Buffer => {
  let fields = `grant_type=client_credentials&client_id=${clientId}&client_secret=${handover}`;
  if (scope !== undefined) fields += `&scope=${encodeForm(scope)}`;
  if (resource !== undefined) fields += `&resource=${encodeForm(resource)}`;
  return Buffer.from(fields);
};

/** Text with half of a surrogate pair cannot be encoded; the whole form would be lost with it. */
const encodeForm = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The provider checks no proofs: with several gateways it could not tell a used one. It writes what was found here. */
const boundTo = new WeakMap<object, string>();

const corsHeader = 'access-control-allow-origin';

/**
 * Runs the provider's own stack on our context, the way koa-mount does, with two differences: it gets a body that was
 * written here, and the outcome is returned instead of being left as the answer.
 */
const mount = (provider: Provider): IssueToken => {
  const [stack] = provider.middleware;
  if (stack === undefined) throw new Error('oidc-provider has no middleware');
  const failures = new WeakMap<object, unknown>();
  const keep = (ctx: object, error: unknown): void => void failures.set(ctx, error);
  provider.on('grant.error', keep);
  provider.on('server_error', keep);
  return async (ctx, form, client, jkt) => {
    const { req } = ctx;
    const { headers } = req;
    const body = handOver(form, client);
    ctx.req = replayed(body);
    req.headers = handedHeaders(headers, body.length);
    // The provider leaves CORS alone when somebody before it has decided.
    ctx.set(corsHeader, '');
    if (jkt !== undefined) boundTo.set(ctx, jkt);
    try {
      await stack(ctx, passOn);
    } finally {
      ctx.req = req;
      req.headers = headers;
      ctx.remove(corsHeader);
      ctx.remove('www-authenticate');
    }
    const failure = failures.get(ctx);
    if (failure !== undefined) throw failure;
    const answer: unknown = ctx.body;
    if (!isIssued(answer)) throw new Error('oidc-provider gave no token and no error');
    return answer;
  };
};

/** Only what belongs to the body: other headers could mean something to the provider that they do not mean here. */
const handedHeaders = ({ host }: IncomingMessage['headers'], length: number): IncomingMessage['headers'] => ({
  ...(host === undefined ? undefined : { host }),
  'content-type': 'application/x-www-form-urlencoded',
  'content-length': String(length),
});

const passOn = (): Promise<void> => Promise.resolve();

const isIssued = (body: unknown): body is Issued =>
  typeof body === 'object' && body !== null && 'access_token' in body && 'expires_in' in body && 'scope' in body;

/** All that the provider asks of the request beyond its headers, which it reads elsewhere. */
const replayed = (form: Buffer): IncomingMessage => {
  const replay = {
    readable: true,
    readableEncoding: null,
    iterator: async function* () {
      yield form;
    },
  };
  return replay as unknown as IncomingMessage;
};

const createProvider = (deps: TokenIssuerDeps, key: SigningKey): Provider => {
  const provider = new Provider(deps.origin, createConfiguration(deps, key));
  // The library would serialise, hash and look up the metadata of a client on each request; the records of the cache
  // already are the same object until the client changes.
  const clients = new WeakMap<ClientRecord, InstanceType<typeof provider.Client>>();
  const stranger = makeClient(provider, undefined);
  provider.Client.find = async (clientId: string) => {
    const record = await deps.credentials.findClient(clientId);
    if (record === undefined) return stranger;
    let client = clients.get(record);
    if (client === undefined) {
      client = makeClient(provider, record);
      clients.set(record, client);
    }
    return client;
  };
  return provider;
};

type ProviderClient = InstanceType<Provider['Client']>;

const recordOf = new WeakMap<ProviderClient, ClientRecord>();

/** The provider wants a secret in the metadata; it gets a word that is compared with nothing. */
const makeClient = (provider: Provider, record: ClientRecord | undefined): ProviderClient => {
  const Client = provider.Client as unknown as new (metadata: ClientMetadata) => ProviderClient;
  const client = new Client({
    client_id: record?.clientId ?? 'unknown',
    client_secret: 'kept as a digest elsewhere',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  });
  if (record !== undefined) recordOf.set(client, record);
  return Object.assign(client, {
    compareClientSecret: (secret: string): boolean => secret === handover && record?.disabled === false,
    // Asked right after the secret has been proven: what the client may do at all.
    grantTypeAllowed: (): boolean => {
      if (record?.mayUseTokens !== true) throw new errors.UnauthorizedClient('This client may not use tokens');
      if (record.tenants.length === 0) throw nothingGranted();
      return true;
    },
  });
};

const nothingGranted = (): Error =>
  new errors.CustomOIDCProviderError('invalid_grant', 'Nothing is granted to this client any more');

const createConfiguration = (deps: TokenIssuerDeps, key: SigningKey): Configuration => ({
  adapter: () => noStore,
  jwks: { keys: [new TokenKey(key)] },
  clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  responseTypes: [],
  scopes: [],
  formats: {
    customizers: {
      jwt: (ctx, _token, { payload }) => {
        const jkt = boundTo.get(ctx);
        if (jkt !== undefined) payload.cnf = { jkt };
      },
    },
  },
  // Errors are rendered by oauth.ts; the page that a browser would get is thrown away.
  renderError: () => undefined,
  routes: { token: tokenPath },
  ttl: { ClientCredentials: deps.settings.token_lifetime },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    dPoP: { enabled: false },
    externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => deps.origin,
      getResourceServerInfo: (ctx, resource) => {
        const scope = settleScope(deps, ctx, resource);
        return {
          scope,
          audience: deps.origin,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256', kid: key.kid } },
        };
      },
    },
  },
});

/** Which resource, then which scopes: those asked for, else all that the client holds, in the sequence of the table. */
const settleScope = (deps: TokenIssuerDeps, ctx: KoaContextWithOIDC, resource: string): string => {
  if (resource !== deps.origin && resource !== `${deps.origin}/api`) {
    throw new errors.InvalidTarget('resource must be the origin of this server, or its /api');
  }
  const { client, params } = ctx.oidc;
  const record = client === undefined ? undefined : recordOf.get(client);
  const granted = deps.allScopes.filter((scope) => record !== undefined && (record.scopes?.includes(scope) ?? true));
  const asked = typeof params?.scope === 'string' ? params.scope.split(' ') : granted;
  if (asked.some((scope) => !granted.includes(scope))) {
    throw new errors.InvalidScope('scope names something that does not exist or is not granted to the client', '');
  }
  const scope = granted.filter((name) => asked.includes(name)).join(' ');
  if (scope === '') throw new errors.InvalidScope('no scope is granted to the client', '');
  // The provider reads the request's scopes again from here, and would keep the sequence that the caller chose.
  if (params !== undefined) params.scope = scope;
  return scope;
};

/** Tokens are self-contained and clients come from elsewhere, so there is nothing that the provider may keep. */
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

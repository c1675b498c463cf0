/**
 * Issues an access token (RFC 9068) to a client that has authenticated itself (authenticate-client.ts, for all endpoints).
 * Grants, resources and scopes are those of the gateway's own tables; provider/token-maker.ts writes the token.
 */
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { OAuthSettings } from './config.ts';
import type { SigningKey, SigningKeys } from './keys/signing-keys.ts';
import { OAuthRefusal } from './oauth-answers.ts';
import type { MadeToken, MakeToken } from './provider/token-maker.ts';
import type { Form } from './read-token-request.ts';

export type TokenIssuerDeps = {
  origin: string;
  settings: Pick<OAuthSettings, 'token_lifetime'>;
  /** Names of all scopes, in the sequence of the current route table. */
  allScopes: () => readonly string[];
  keys: Pick<SigningKeys, 'current'>;
  /** Paths that are resources of their own; a token is for the whole server all the same. */
  resources: readonly string[];
};

/**
 * Rejects with the refusal of RFC 6749 section 5.2 or RFC 8707 section 2, or with whatever failed. `client`: it has proven
 * itself. `jkt`: thumbprint of the key that the token is bound to, `x5t`: of the certificate.
 */
export type IssueToken = (form: Form, client: ClientRecord, jkt?: string, x5t?: string) => Promise<MadeToken>;

export const tokenPath = '/api/oauth/token';

export const createTokenIssuer = (deps: TokenIssuerDeps): IssueToken => {
  // Loaded beside the rest of the start: of a command's time it would take a fifth, and no command issues tokens.
  const loading = import('./provider/token-maker.ts');
  let made: { key: SigningKey; makeToken: MakeToken } | undefined;
  return async (form, client, jkt, x5t) => {
    requireRights(client);
    requireResource(deps, form.resource);
    const scope = settleScope(deps.allScopes(), form.scope, client);
    const key = deps.keys.current();
    // The provider's key set is fixed when it is made, so another key is another provider.
    if (made?.key !== key) {
      const { createTokenMaker } = await loading;
      made = {
        key,
        makeToken: createTokenMaker({ origin: deps.origin, lifetimeS: deps.settings.token_lifetime, key }),
      };
    }
    return made.makeToken(client, scope, jkt, x5t);
  };
};

const requireRights = (client: ClientRecord): void => {
  if (!client.mayUseTokens) throw new OAuthRefusal('unauthorized_client', 400, 'This client may not use tokens');
  if (client.tenants.length === 0) {
    throw new OAuthRefusal('invalid_grant', 400, 'Nothing is granted to this client any more');
  }
};

/** RFC 8707 section 2: the default resource is this server. */
const requireResource = (
  { origin, resources }: Pick<TokenIssuerDeps, 'origin' | 'resources'>,
  resource = origin,
): void => {
  const paths = ['/api', ...resources];
  if (resource === origin || paths.some((path) => resource === origin + path)) return;
  const message = `must be the origin of this server, or its ${paths.join(' or ')}`;
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

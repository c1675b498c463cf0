/**
 * Issues an access token (RFC 9068) to a client that has authenticated itself (authenticate-client.ts, for all endpoints).
 * Grants, resources and scopes are those of the gateway's own tables; provider/token-maker.ts writes the token.
 */
import { tokenLengthMax } from '../access/bearer-tokens.ts';
import { type AccessDetail, fromClaim, narrowDetails, toClaim } from '../access/rights/access-details.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { RouteTable } from '../model/route.ts';
import { tokenRoute } from '../model/traced-fault.ts';
import type { OAuthSettings } from './config.ts';
import type { SigningKey, SigningKeys } from './keys/signing-keys.ts';
import { readDetails, requireBounds, widerDetails } from './narrow/read-details.ts';
import type { Subject } from './narrow/read-subject.ts';
import { settleAudiences } from './narrow/settle-audiences.ts';
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
  /** The current one. */
  table: () => Pick<RouteTable, 'routes' | 'upstreams' | 'tenantWords'>;
};

/**
 * Thumbprints of the key (RFC 9449) and of the certificate (RFC 8705) that the token is bound to; undefined: it is bound to none.
 * `issuedAt`: a time before the client was read, by which revocations take the token (access/check-token.ts).
 */
type Terms = { jkt: string | undefined; x5t: string | undefined; issuedAt: Date };

/**
 * Rejects with the refusal of RFC 6749 section 5.2 or RFC 8707 section 2, or with whatever failed. `client`: it has proven
 * itself. `subject`: the token that it is exchanged for.
 */
export type IssueToken = (form: Form, client: ClientRecord, terms: Terms, subject?: Subject) => Promise<MadeToken>;

export const tokenPath = tokenRoute.path;

export const createTokenIssuer = (deps: TokenIssuerDeps): IssueToken => {
  // Loaded beside the rest of the start: of a command's time it would take a fifth, and no command issues tokens.
  const loading = import('./provider/token-maker.ts');
  let made: { key: SigningKey; makeToken: MakeToken } | undefined;
  return async (form, client, terms, subject) => {
    const held = subject?.token.limits;
    const audiences = settleAudiences(deps, form.resource, held?.audiences);
    const scope = settleScope(deps.allScopes(), form.scope, client, subject);
    const details = settleDetails(deps, form, client, held?.details);
    const key = deps.keys.current();
    // The provider's key set is fixed when it is made, so another key is another provider.
    if (made?.key !== key) {
      const { createTokenMaker } = await loading;
      made = {
        key,
        makeToken: createTokenMaker({ ...deps, lifetimeS: deps.settings.token_lifetime, key }),
      };
    }
    const token = await made.makeToken(client, {
      scope,
      ...terms,
      audiences,
      details,
      ...(subject && lineageOf(subject)),
    });
    if (token.access_token.length > tokenLengthMax) {
      throw new OAuthRefusal(
        'invalid_request',
        400,
        'The token would be too long: ask for fewer resources and details',
      );
    }
    // Last, so that a refused request uses up none of the exchanges.
    await subject?.count();
    return token;
  };
};

/** Comes before anything that needs the store or a proof (interface 4.1, the sequence of errors). */
export const requireRights = (client: ClientRecord): void => {
  if (!client.mayUseTokens) throw new OAuthRefusal('unauthorized_client', 400, 'This client may not use tokens');
  if (client.tenants.length === 0) {
    throw new OAuthRefusal('invalid_grant', 400, 'Nothing is granted to this client any more');
  }
};

/** The granted details as the token holds them. `held`: those of the subject token of an exchange. */
const settleDetails = (
  { table }: Pick<TokenIssuerDeps, 'table'>,
  { authorization_details: text }: Form,
  client: ClientRecord,
  held: readonly unknown[] | undefined,
): readonly object[] | undefined => {
  if (text === undefined && held === undefined) return undefined;
  const current = table();
  const { list } = current.tenantWords;
  const parent = held?.map((claim) => fromClaim(claim, list)).filter((detail) => detail !== undefined) ?? [{}];
  const details = text === undefined ? parent : narrowed(parent, readDetails(text, current, client));
  requireBounds(details, list);
  return details.map((detail) => toClaim(detail, list));
};

const narrowed = (held: readonly AccessDetail[], wanted: readonly AccessDetail[]): AccessDetail[] => {
  const { details, refused } = narrowDetails(held, wanted);
  if (details === undefined) throw widerDetails(refused);
  return details;
};

/** A token that was exchanged ends with its parent at the latest. */
const lineageOf = ({ token, wantedSeconds }: Subject) => ({
  endSeconds: token.expiresMs / 1000,
  wantedSeconds,
  lineage: {
    ancestors: [token.jti, ...(token.limits?.ancestors ?? [])],
    ancestors_iat: (token.limits?.firstIssuedMs ?? token.issuedMs) / 1000,
  },
});

/**
 * The requested scopes, or all of the client or subject token when none is requested, in the sequence of the table. These may be
 * none, since a route may need a valid credential and no scope, as any other credential of the client passes it.
 */
const settleScope = (
  allScopes: readonly string[],
  wanted: string | undefined,
  client: ClientRecord,
  subject: Subject | undefined,
): string => {
  const granted = allScopes.filter(
    (scope) => (client.scopes?.includes(scope) ?? true) && (subject?.token.scopes.includes(scope) ?? true),
  );
  const asked = wanted?.split(' ') ?? granted;
  if (asked.some((scope) => !granted.includes(scope))) {
    const message = 'names something that does not exist or is not granted to the client';
    throw new OAuthRefusal('invalid_scope', 400, `scope ${message}`, {
      errors: [{ pointer: 'scope', code: 'ENUM', message }],
    });
  }
  return granted.filter((name) => asked.includes(name)).join(' ');
};

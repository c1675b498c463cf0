/** RFC 7662: the claims of a live token; every other value is answered as inactive. */
import { Fault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import type { Authenticator } from '../access/authenticate.ts';
import type { VerifiedToken } from '../access/bearer-tokens.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { Throttle } from '../limits/throttle.ts';
import type { ClientCertificates } from '../request/client-certificate.ts';
import { OAuthRefusal, slowDown } from './oauth-answers.ts';

export type IntrospectDeps = {
  origin: string;
  allScopes: () => readonly string[];
  inspectToken: Authenticator['inspectToken'];
  /** False: every service refuses tokens that are bound to a key. */
  acceptsBoundTokens: boolean;
  /** Undefined: every service refuses tokens that are bound to a certificate. */
  certificates: ClientCertificates | undefined;
  /** Bounds the calls of one client. */
  throttleIntrospection: Throttle;
};

/** Rejects with OAuthRefusal, or with the Fault of an unreachable store. */
export const createIntrospect =
  (deps: IntrospectDeps) =>
  async (client: ClientRecord, text: string): Promise<Record<string, unknown>> => {
    if (!client.mayIntrospect) {
      throw new OAuthRefusal('unauthorized_client', 400, 'This client may not ask about tokens');
    }
    const seconds = await deps.throttleIntrospection(client.clientId);
    if (seconds !== undefined) throw slowDown(`Too many questions; ask again in ${seconds} s`, seconds, 'calls');
    try {
      return await describe(deps, text);
    } catch (error) {
      // Operations refuse a quarantined client, or one without any grant, too, with another code.
      if (error instanceof Fault && (error.status === 401 || error.status === 403)) return { active: false };
      throw error;
    }
  };

const describe = async (deps: IntrospectDeps, text: string): Promise<Record<string, unknown>> => {
  const { token, principal } = await deps.inspectToken(text);
  if (token.jkt !== undefined && !deps.acceptsBoundTokens) return { active: false };
  if (token.x5t !== undefined && deps.certificates === undefined) return { active: false };
  return {
    active: true,
    scope: deps
      .allScopes()
      .filter((scope) => principal.scopes.has(scope))
      .join(' '),
    client_id: token.clientId,
    sub: token.clientId,
    token_type: token.jkt === undefined ? 'Bearer' : 'DPoP',
    exp: token.expiresMs / 1000,
    iat: token.issuedMs / 1000,
    iss: deps.origin,
    aud: audienceOf(token) ?? deps.origin,
    jti: token.jti,
    ...(isSandboxId(token.clientId) && { sandbox: true }),
    ...(token.limits?.details && { authorization_details: token.limits.details }),
    ...(token.limits && token.limits.ancestors.length > 0 && { ancestors: token.limits.ancestors }),
    ...cnfOf(token),
  };
};

/** As the token has it; undefined: the whole server. */
const audienceOf = ({ limits }: VerifiedToken): string | readonly string[] | undefined =>
  limits?.audiences?.length === 1 ? limits.audiences[0] : limits?.audiences;

/** RFC 9449 section 6.2 and RFC 8705 section 3.2. */
const cnfOf = ({ jkt, x5t }: Pick<VerifiedToken, 'jkt' | 'x5t'>): { cnf?: object } =>
  jkt === undefined && x5t === undefined
    ? {}
    : { cnf: { ...(jkt !== undefined && { jkt }), ...(x5t !== undefined && { 'x5t#S256': x5t }) } };

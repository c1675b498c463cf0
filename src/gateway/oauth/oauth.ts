/**
 * The OAuth side of the gateway as Koa middleware: token endpoint, revocation, introspection and the public documents.
 * Other paths are passed on.
 */
import type { Context, Middleware } from 'koa';
import { faultOf } from '#src/platform/http/error-boundary.ts';
import type { Logger } from '#src/platform/log.ts';
import { type TraceSpan, traced } from '#src/platform/telemetry/traces.ts';
import type { ProfileRules } from '../dpop/profile.ts';
import { methodNotAllowed } from '../model/faults.ts';
import type { TokenRefusal } from '../model/traced-fault.ts';
import { firstAuthorization } from '../request/read-credential.ts';
import type { AuditOAuth } from './audit-oauth.ts';
import {
  type AuthenticateClientDeps,
  createAuthenticateClient,
  type IdentifiedClient,
  type ProvenClient,
} from './authenticate-client.ts';
import {
  type BindTokenDeps,
  bindCertificate,
  createBindToken,
  createRequireNonce,
  presentedCertificate,
} from './bind-token.ts';
import { authorizationPath, createDocuments, introspectionPath, revocationPath } from './documents.ts';
import { createIntrospect, type IntrospectDeps } from './introspect.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import type { LimitFailures } from './limit-failures.ts';
import { introspectionJwtType, signIntrospection, wantsJwt } from './narrow/introspection-jwt.ts';
import { NarrowRefusal } from './narrow/narrow-refusal.ts';
import { accessTokenType, createReadSubject, type ReadSubjectDeps } from './narrow/read-subject.ts';
import {
  errorAnswer,
  invalidField,
  invalidRequest,
  type OAuthAnswer,
  OAuthRefusal,
  serverError,
  temporarilyUnavailable,
} from './oauth-answers.ts';
import { readClientProof } from './read-client-proof.ts';
import { exchangeGrant, type Form, readOAuthForm, readTokenRequest } from './read-token-request.ts';
import { createRevoke, type RevokeDeps } from './revoke.ts';
import { createTokenIssuer, requireRights, type TokenIssuerDeps, tokenPath } from './token-issuer.ts';

export type OAuthDeps = Omit<TokenIssuerDeps, 'keys'> &
  Omit<AuthenticateClientDeps, 'credentials'> &
  RevokeDeps &
  IntrospectDeps &
  ReadSubjectDeps &
  BindTokenDeps & {
    realm: string;
    limitFailures: LimitFailures;
    /** Those of the whole gateway. */
    rules: ProfileRules;
    audit: AuditOAuth;
    /** As in AuditOAuth, which counts the outcomes that it records. */
    countToken: (outcome: string) => void;
    /** Called for each refusal of the token endpoint whose client was identified. */
    tokenRefused: (refusal: TokenRefusal) => void;
    log: Logger;
    keys: Pick<SigningKeys, 'current' | 'jwks'>;
    credentials: AuthenticateClientDeps['credentials'] & RevokeDeps['credentials'];
    /** Paths that are resources of their own (RFC 9728). */
    resources: readonly string[];
    /** Where certificates are requested; undefined: at the origin. */
    mtlsOrigin: string | undefined;
    moreDocuments?: Readonly<Record<string, () => string>> | undefined;
  };

/** Expects `ctx.state.requestId`. Throws METHOD_NOT_ALLOWED for documents; the endpoints answer their own errors. */
export const createOAuth = (deps: OAuthDeps): Middleware => {
  const endpoints = createEndpoints(deps);
  const documents = createDocuments({ ...deps, dpop: deps.dpop !== undefined });
  return async (ctx, next) => {
    const endpoint = endpoints.get(ctx.path);
    if (endpoint !== undefined) return writeAnswer(ctx, await endpoint(ctx));
    const document = documents.get(ctx.path);
    if (document === undefined) return next();
    serveDocument(ctx, document);
  };
};

const documentMethods = 'GET, HEAD, OPTIONS';

const serveDocument = (ctx: Context, document: () => string): void => {
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204;
    ctx.set('allow', documentMethods);
    return;
  }
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(documentMethods);
  ctx.status = 200;
  ctx.set('cache-control', 'public, max-age=300');
  ctx.set('content-type', 'application/json; charset=utf-8');
  ctx.body = document();
};

/** Leaves in `ctx.state.refused` what was refused (own-paths.ts). */
export const writeAnswer = (ctx: Context, { status, headers, body, jwt, refused }: OAuthAnswer): void => {
  ctx.status = status;
  ctx.state.refused = refused;
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  ctx.set('cache-control', 'no-store');
  // RFC 6749 section 5.1 demands it beside Cache-Control, for caches of HTTP/1.0.
  ctx.set('pragma', 'no-cache');
  if (status === 204) return;
  if (jwt !== undefined) {
    ctx.set('content-type', jwt.type);
    ctx.body = jwt.text;
    return;
  }
  if (body === undefined) {
    ctx.body = '';
    ctx.remove('content-type');
    return;
  }
  ctx.set('content-type', 'application/json; charset=utf-8');
  ctx.body = JSON.stringify(body);
};

/** The form of a request, from which the audit of its refusal reads the claimed client. */
const formOf = (ctx: Context): Form | undefined => ctx.state.form as Form | undefined;

const keepForm = (ctx: Context, form: Form): Form => {
  ctx.state.form = form;
  return form;
};

const spanOf = (ctx: Context): TraceSpan | undefined => ctx.state.span as TraceSpan | undefined;

type Endpoint = (ctx: Context) => Promise<OAuthAnswer>;

const createEndpoints = (deps: OAuthDeps): ReadonlyMap<string, Endpoint> => {
  const prove = createAuthenticateClient(deps);
  const authenticate: Authenticate = async (ctx, form, beforeUse = () => undefined) => {
    const { req } = ctx;
    // First, so that a request that could not pass in any case is refused as what it is.
    const presented = deps.certificates === undefined ? undefined : () => presentedCertificate(deps, req);
    const proof = readClientProof(form, req.rawHeaders, deps.rules, presented);
    ctx.state.proof = proof;
    const identified = (client: IdentifiedClient): void => {
      ctx.state.clientId = client.clientId;
      ctx.state.identified = client;
    };
    const beforeUseOf = (clientId: string): void => {
      // The assertion is right, so a refusal from here on is one of this client.
      ctx.state.clientId = clientId;
      beforeUse();
    };
    return deps.limitFailures(req, form, () => prove(req, proof, identified, beforeUseOf));
  };
  const issue = createTokenIssuer(deps);
  const bind = createBindToken(deps);
  const requireNonce = createRequireNonce(deps);
  const readSubject = createReadSubject(deps);
  const revoke = createRevoke(deps);
  const answers: [string, Endpoint][] = [
    [
      tokenPath,
      async (ctx) => {
        const form = keepForm(ctx, await readTokenRequest(ctx.req, ctx.querystring));
        // The client proves itself after this time: what ends the proof while the request waits ends its token too.
        const issuedAt = deps.clock.now();
        const proven = await authenticate(ctx, form, () => requireNonce(ctx));
        requireRights(proven.client);
        const jkt = await bind(ctx, proven.client, proven.certificate !== undefined);
        const x5t = bindCertificate(deps, ctx.req, proven.client, proven.certificate, jkt);
        const isExchange = form.grant_type === exchangeGrant;
        const subject = isExchange ? await readSubject(form, proven.client, { jkt, x5t }) : undefined;
        const { access_token, ...made } = await traced(spanOf(ctx), 'issue token', () =>
          issue(form, proven.client, { jkt, x5t, issuedAt }, subject),
        );
        const { scope } = made;
        await traced(spanOf(ctx), 'write audit', () => deps.audit.issued(ctx, proven, { access_token, scope }));
        const token_type = jkt === undefined ? 'Bearer' : 'DPoP';
        const issued = isExchange ? { issued_token_type: accessTokenType } : undefined;
        return { status: 200, headers: {}, body: { access_token, ...issued, token_type, ...made } };
      },
    ],
    [
      revocationPath,
      async (ctx) => {
        const form = keepForm(ctx, await readOAuthForm(ctx.req, ctx.querystring));
        const proven = await authenticate(ctx, form);
        const revoked = await revoke(proven.client, requireToken(form), deps.audit.about(ctx, proven));
        if (!revoked) deps.audit.revokedNothing(ctx, proven);
        return { status: 200, headers: {}, body: undefined };
      },
    ],
    introspectionEndpoint(deps, authenticate),
  ];
  return new Map([
    ...answers.map(([path, answer]): [string, Endpoint] => [path, createEndpoint(deps, answer)]),
    ...(deps.resources.length > 0 ? [refuseAuthorization(deps)] : []),
  ]);
};

type Authenticate = (ctx: Context, form: Form, beforeUse?: () => void) => Promise<ProvenClient>;

const introspectionEndpoint = (deps: OAuthDeps, authenticate: Authenticate): [string, Endpoint] => {
  const introspect = createIntrospect(deps);
  return [
    introspectionPath,
    async (ctx) => {
      const form = keepForm(ctx, await readOAuthForm(ctx.req, ctx.querystring));
      const proven = await authenticate(ctx, form);
      const body = await introspect(proven.client, requireToken(form));
      await deps.audit.introspected(ctx, proven, typeof body.jti === 'string' ? body.jti : null);
      if (!wantsJwt(ctx.headers.accept)) return { status: 200, headers: {}, body };
      const { origin, keys, clock } = deps;
      const said = { issuer: origin, audience: proven.client.clientId, answer: body, nowMs: clock.now().getTime() };
      const jwt = { type: introspectionJwtType, text: signIntrospection(said, keys.current()) };
      return { status: 200, headers: {}, body, jwt };
    },
  ];
};

const refuseAuthorization = ({ origin }: OAuthDeps): [string, Endpoint] => {
  const text = 'There are no users here: get a token from the token endpoint by client_credentials';
  const refusal = new OAuthRefusal('unauthorized_client', 400, text);
  return [authorizationPath, (ctx) => Promise.resolve(errorAnswer(refusal, origin, String(ctx.state.requestId)))];
};

const requireToken = ({ token }: Form): string => {
  if (token === undefined) throw invalidField('token', 'REQUIRED', 'is missing');
  return token;
};

const createEndpoint = (deps: OAuthDeps, answer: Endpoint): Endpoint => {
  return async (ctx) => {
    const requestId = String(ctx.state.requestId);
    const startedAtMs = performance.now();
    if (ctx.method === 'OPTIONS') return { status: 204, headers: { allow: 'POST' }, body: undefined };
    try {
      if (ctx.method !== 'POST') throw invalidRequest('This address takes POST only', 405, { allow: 'POST' });
      return await answer(ctx);
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal.status >= 500) {
        if (ctx.path === tokenPath) deps.countToken(refusal.error);
        deps.log.error({ request_id: requestId, trace_id: spanOf(ctx)?.traceId, err: error }, 'OAuth request failed');
      } else {
        await deps.audit.refused(ctx, formOf(ctx), refusal);
        const clientId = ctx.state.clientId as string | undefined;
        const durationMs = Math.round(performance.now() - startedAtMs);
        const { status, error: code } = refusal;
        if (clientId !== undefined && ctx.path === tokenPath)
          deps.tokenRefused({ clientId, requestId, status, code, durationMs });
      }
      return errorAnswer(withChallenge(refusal, ctx, deps.realm), deps.origin, requestId);
    }
  };
};

/** RFC 6749 section 5.2: a refused Authorization header is answered with the scheme that is accepted. */
const withChallenge = (refusal: OAuthRefusal, ctx: Context, realm: string): OAuthRefusal =>
  refusal.error === 'invalid_client' && firstAuthorization(ctx.req.rawHeaders) !== undefined
    ? new OAuthRefusal(refusal.error, refusal.status, refusal.description, {
        ...refusal,
        headers: { ...refusal.headers, 'www-authenticate': `Basic realm="${realm}"` },
      })
    : refusal;

const refusalOf = ({ error, pointer, code, text, message }: NarrowRefusal): OAuthRefusal =>
  new OAuthRefusal(error, 400, message, {
    ...(code === 'REQUIRED' && { code: 'MISSING_PARAMETER' }),
    errors: pointer === undefined ? undefined : [{ pointer, code, message: text }],
  });

/** Maps what was thrown to an error of interface 4.1; an unexpected error shows no detail. */
export const toRefusal = (error: unknown): OAuthRefusal => {
  if (error instanceof OAuthRefusal) return error;
  if (error instanceof NarrowRefusal) return refusalOf(error);
  return faultOf(error).code === 'OVERLOADED' ? temporarilyUnavailable() : serverError();
};

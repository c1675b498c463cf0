/**
 * The Shared Signals transmitter as Koa middleware: its metadata, its key set and the endpoints of streams. Other paths are
 * passed on. A caller is a client with a Bearer token and a scope of the CAEP interoperability profile.
 */
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import { validationFault } from '#src/contract/fault.ts';
import { readJsonObject } from '#src/platform/http/read-body.ts';
import { readQuery } from '#src/platform/http/validate.ts';
import type { Kv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { createThrottle, type Throttle } from '../../../limits/throttle.ts';
import { insufficientScope, limitedTo, methodNotAllowed, noCredential, rateLimited } from '../../../model/faults.ts';
import type { Principal } from '../../../model/principal.ts';
import { type Route, routeOfGateway } from '../../../model/route.ts';
import type { Exchange, Step } from '../../../request/exchange.ts';
import { manageScope, readScope, type SignalsSettings } from '../config.ts';
import { createPollWaits } from '../delivery/poll-waits.ts';
import { createSignSet } from '../delivery/sign-set.ts';
import { openSignalKeys } from '../delivery/signal-keys.ts';
import { metadataOf, paths } from './paths.ts';
import { createPoll } from './poll-endpoint.ts';
import { createStreamEndpoints, type SignalAnswer, type SignalRequest, type StreamDeps } from './stream-endpoints.ts';

type SignalsDeps = Omit<StreamDeps, 'box'> & {
  box: StreamDeps['box'] & Parameters<typeof openSignalKeys>[0]['box'];
  settings: SignalsSettings;
  kv: Kv;
  log: Logger;
  /** With the current route table. */
  current: {
    get: () => { identifyCaller: Step; recheckCaller: (exchange: Exchange, before: Principal) => Promise<unknown> };
  };
  /** See RecordDecision. */
  access: { decisions: { allow: Step; settle: (exchange: Exchange) => void } };
};

export type Signals = { middleware: Middleware; close: () => void };

type Answer = (request: SignalRequest, gone: AbortSignal, stillAllowed: () => Promise<void>) => Promise<SignalAnswer>;
/** `scope`: the one that is needed; `manageScope` includes the other. */
type Endpoint = { scope: typeof manageScope | typeof readScope; answer: Answer };

/** What a token that was exchanged without any limit opens. */
const exchangedText = 'the operations of the API, because it was exchanged';

const bodyBounds = { bytesMax: 64 * 1024, timeoutMs: 10_000 };
const callsMax = 600;

/** For limits, the audit and logs. */
const signalsRoute: Route = routeOfGateway({
  id: 'signals',
  method: 'POST',
  path: paths.streams,
  upstream: 'signals',
  body: 'any',
});

/** Undefined: the setting is off. */
export const openSignals = async (deps: SignalsDeps): Promise<Signals | undefined> => {
  if (deps.settings.signals === 'off') return undefined;
  const keys = await openSignalKeys(deps);
  const waits = createPollWaits(deps.db);
  const endpoints = endpointsOf(createStreamEndpoints(deps), createPoll({ ...deps, waits, sign: createSignSet(keys) }));
  const metadata = JSON.stringify(metadataOf(deps.origin));
  const documents = new Map<string, () => string | Promise<string>>([
    [paths.metadata, () => metadata],
    [paths.jwks, async () => JSON.stringify(await keys.jwks())],
  ]);
  const { decisions } = deps.access;
  const identifyCaller: Step = (exchange) => deps.current.get().identifyCaller(exchange);
  const recheck = async (exchange: Exchange): Promise<void> => {
    if (exchange.principal !== undefined) await deps.current.get().recheckCaller(exchange, exchange.principal);
  };
  const throttle = createThrottle({ kv: deps.kv, name: 'signals', callsMax, windowSeconds: 60 });
  const middleware: Middleware = async (ctx, next) => {
    const document = documents.get(ctx.path);
    if (document !== undefined) return serveDocument(ctx, await document());
    const methods = endpoints.get(ctx.path);
    if (methods === undefined) return next();
    const allow = Object.keys(methods).join(', ');
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('allow', allow);
      return;
    }
    const endpoint = methods[ctx.method];
    if (endpoint === undefined) throw methodNotAllowed(allow);
    const exchange = exchangeOf(ctx);
    const clientId = await identify(exchange, identifyCaller, throttle, endpoint.scope);
    await decisions.allow(exchange);
    const about = aboutOf(exchange);
    if (exchange.dpopNonce !== undefined) ctx.set('dpop-nonce', exchange.dpopNonce);
    const request = { ...(await readRequest(ctx, clientId)), about };
    write(ctx, await endpoint.answer(request, goneSignal(ctx), () => recheck(exchange)));
    decisions.settle(exchange);
  };
  return { middleware, close: waits.close };
};

const endpointsOf = (
  streams: ReturnType<typeof createStreamEndpoints>,
  poll: Answer,
): ReadonlyMap<string, Readonly<Record<string, Endpoint>>> => {
  const managed = (answer: Answer): Endpoint => ({ scope: manageScope, answer });
  const reading = (answer: Answer): Endpoint => ({ scope: readScope, answer });
  return new Map<string, Record<string, Endpoint>>([
    [
      paths.streams,
      {
        GET: reading(streams.read),
        POST: managed(streams.create),
        PATCH: managed(streams.update),
        PUT: managed(streams.replace),
        DELETE: managed(streams.remove),
      },
    ],
    [paths.status, { GET: reading(streams.readStatus), POST: managed(streams.setStatus) }],
    [paths.addSubject, { POST: managed(streams.addSubject) }],
    [paths.removeSubject, { POST: managed(streams.removeSubject) }],
    [paths.verify, { POST: managed(streams.verify) }],
    [paths.poll, { POST: reading(poll) }],
  ]);
};

const serveDocument = (ctx: Context, text: string): void => {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
  ctx.status = 200;
  ctx.set('cache-control', 'public, max-age=300');
  ctx.set('content-type', 'application/json; charset=utf-8');
  ctx.body = text;
};

const exchangeOf = (ctx: Context): Exchange => {
  const { exchange } = ctx.req as IncomingMessage & { exchange?: Exchange };
  if (exchange === undefined) throw new Error('a request bypassed the gateway');
  return exchange;
};

/** Id of the client. Throws INVALID_AUTH, UNAUTHORIZED for a narrowed token, INSUFFICIENT_SCOPE or RATE_LIMIT_EXCEEDED. */
const identify = async (
  exchange: Exchange,
  identifyCaller: Step,
  throttle: Throttle,
  scope: string,
): Promise<string> => {
  exchange.route = signalsRoute;
  await identifyCaller(exchange);
  const { principal } = exchange;
  if (principal?.kind !== 'bearer') throw noCredential();
  // Streams are no operation of the route table, so no details name them (interface 30.1).
  if (principal.narrow !== undefined) {
    principal.narrow.requireWhole();
    throw limitedTo(principal.id, principal.narrow.text || exchangedText);
  }
  if (!principal.scopes.has(manageScope) && !principal.scopes.has(scope)) throw insufficientScope([scope]);
  const seconds = await throttle(principal.id);
  if (seconds !== undefined) throw rateLimited(seconds, 'calls');
  return principal.id;
};

/** What the event of a change notes of its request. */
const aboutOf = ({ requestId, allowed }: Exchange): SignalRequest['about'] => {
  if (allowed === undefined) return {};
  const { fingerprint, token_id, group } = allowed;
  const { kind, route_id, address } = group.shared;
  return { request_ids: [requestId], fingerprint, token_id, kind, route_id, address };
};

const readRequest = async (ctx: Context, clientId: string): Promise<Omit<SignalRequest, 'about'>> => {
  const { values, errors } = readQuery(ctx.querystring);
  if (errors.length > 0) throw validationFault(errors);
  return { clientId, streamId: values.stream_id, body: await readJsonObject(ctx.req, bodyBounds) };
};

const goneSignal = (ctx: Context): AbortSignal => {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  return gone.signal;
};

const write = (ctx: Context, { status, body }: SignalAnswer): void => {
  ctx.status = status;
  ctx.set('cache-control', 'no-store');
  if (status === 204) return;
  if (body === undefined) {
    ctx.body = '';
    ctx.remove('content-type');
    return;
  }
  ctx.set('content-type', 'application/json; charset=utf-8');
  ctx.body = JSON.stringify(body);
};

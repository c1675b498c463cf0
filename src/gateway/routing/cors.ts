/**
 * The CORS protocol (Fetch standard, section 3.3): headers that let a browser show an answer to scripts of listed origins, and
 * preflights. A preflight has no credential, so it is answered from the route table alone.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { anyOrigin, type CorsPolicy } from '../model/cors.ts';
import type { Route, RouteTable } from '../model/route.ts';
import type { Exchange } from '../request/exchange.ts';
import { type CompiledRoutes, findRoute, hostName, routesAt } from './route-table.ts';

/** Fields of the gateway's own answers that scripts may read. */
const exposedAlways = [
  'allow',
  'deprecation',
  'dpop-nonce',
  'idempotency-expires',
  'idempotent-replayed',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'sunset',
  'www-authenticate',
  'x-api-version',
  'x-request-id',
];

type AllowOriginsDeps = {
  routes: CompiledRoutes;
  table: Pick<RouteTable, 'cors' | 'routes'>;
  answerPreflight: (exchange: Exchange, headers: string[]) => void;
};

/**
 * Sets the CORS headers of the answer, also for a path that does not exist. True: the request was a preflight and is
 * answered.
 */
export type AllowOrigins = (exchange: Exchange) => boolean;

/** Undefined: CORS is off on every route. */
export const createAllowOrigins = ({ routes, table, answerPreflight }: AllowOriginsDeps): AllowOrigins | undefined => {
  const ofHost = hostPolicies(table);
  if (ofHost === undefined && !table.routes.some(({ cors }) => cors !== undefined && cors !== false)) return undefined;
  return (exchange) => {
    const { headers } = exchange.req;
    const asked = preflightMethod(exchange.method, headers);
    const own = ownPolicy(routes, exchange, asked ?? exchange.method);
    const policy = own === undefined ? ofHost?.(exchange.host) : own;
    if (policy === undefined || policy === false) return false;
    if (asked === undefined) {
      exchange.corsHeaders = corsHeaders(policy, headers.origin);
      return false;
    }
    exchange.answered = true;
    answerPreflight(exchange, preflightHeaders(policy, asked, headers));
    return true;
  };
};

/** Undefined: no host has a policy. */
const hostPolicies = ({
  cors,
}: Pick<RouteTable, 'cors'>): ((host: string | undefined) => CorsPolicy | undefined) | undefined => {
  const byHost = new Map(Object.entries(cors));
  if (byHost.size === 0) return undefined;
  return (host = '') => byHost.get(hostName(host)) ?? byHost.get('*');
};

type Place = Pick<Exchange, 'path' | 'host'>;

export type ExplainedCors = { setBy: 'route' | 'host'; origins: readonly string[] };

/** For people, not for requests: the origins whose scripts may use `method`, and which member sets them. Undefined: no policy applies. */
export const explainCors = (
  routes: CompiledRoutes,
  table: Pick<RouteTable, 'cors'>,
  { method, ...place }: Place & { method: string },
): ExplainedCors | undefined => {
  const own = ownPolicy(routes, place, method);
  const policy = own === undefined ? hostPolicies(table)?.(place.host) : own;
  if (policy === undefined) return undefined;
  const allows = policy !== false && policy.methods?.includes(method) !== false;
  return { setBy: own === undefined ? 'host' : 'route', origins: allows ? policy.origins : [] };
};

/** For a method that the path does not have, a policy of another of its methods makes the refusal readable. */
const ownPolicy = (routes: CompiledRoutes, { path, host }: Place, method: string): Route['cors'] => {
  const route = findRoute(routes, { path, host, method });
  if (route !== undefined) return route.cors;
  return routesAt(routes, { path, host }).find(({ cors }) => cors !== undefined)?.cors;
};

const allowedOrigin = ({ origins, credentials }: CorsPolicy, origin: string | undefined): string[] => {
  if (origins.includes(anyOrigin)) return ['access-control-allow-origin', anyOrigin];
  if (origin === undefined || !origins.includes(origin)) return [];
  const allowed = ['access-control-allow-origin', origin];
  if (credentials) allowed.push('access-control-allow-credentials', 'true');
  return allowed;
};

/** For every answer under the policy, also to requests without Origin, since caches may show it to others. */
const corsHeaders = (policy: CorsPolicy, origin: string | undefined): string[] => {
  const headers = allowedOrigin(policy, origin);
  if (headers.length > 0)
    headers.push('access-control-expose-headers', exposedAlways.concat(policy.exposeHeaders).join(', '));
  if (!policy.origins.includes(anyOrigin)) headers.push('vary', 'origin');
  return headers;
};

/** The method that a preflight asks about; undefined for any other request. */
const preflightMethod = (method: string, headers: IncomingHttpHeaders): string | undefined => {
  if (method !== 'OPTIONS' || headers.origin === undefined) return undefined;
  const asked = headers['access-control-request-method'];
  return asked === undefined || asked === '' ? undefined : asked;
};

/**
 * Headers of the answer to a preflight. Without `access-control-allow-origin` the browser does not send the request. A method
 * that the path does not have is allowed: its refusal is then readable.
 */
const preflightHeaders = (policy: CorsPolicy, asked: string, { origin }: IncomingHttpHeaders): string[] => {
  const headers = ['vary', 'origin, access-control-request-method, access-control-request-headers'];
  const allowed = allowedOrigin(policy, origin);
  if (allowed.length === 0 || policy.methods?.includes(asked) === false || !/^[A-Za-z-]{1,20}$/.test(asked))
    return headers;
  headers.push(...allowed, 'access-control-allow-methods', asked);
  if (policy.headers.length > 0) headers.push('access-control-allow-headers', policy.headers.join(', '));
  headers.push('access-control-max-age', String(policy.maxAgeSeconds));
  return headers;
};

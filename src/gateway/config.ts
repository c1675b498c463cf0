/** The settings of the gateway, from those of its parts. They are checked completely before any socket opens. */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { integer, number } from '#src/platform/settings.ts';
import { auditSettings } from './audit/config.ts';
import { signalsSettings } from './audit/signals/config.ts';
import { trustSettings } from './credentials/trust/config.ts';
import { dpopSettings } from './dpop/config.ts';
import { profileSettings } from './dpop/profile.ts';
import { mcpSettings } from './edge/mcp/config.ts';
import { leakSettings } from './incident/leak/config.ts';
import { limitsSettings } from './limits/config.ts';
import { isUpstreamUrl, upstreamName } from './model/upstream-policy.ts';
import { oauthSettings } from './oauth/config.ts';
import { addressesOf, policySettings } from './policy/config.ts';
import { certificateSettings } from './request/certificate-config.ts';
import { requestLogSettings } from './whoami/requests/config.ts';

export { signalScopes } from './audit/signals/config.ts';
export { mayBeAnonymous, type Route, type RouteTable, scopeSetsOf } from './model/route.ts';
export { routeFileSchema } from './model/route-file.ts';
export { unitsOfRoute } from './model/route-limits.ts';
export { turnedOnPaths } from './model/route-path.ts';
export { upstreamsBehind } from './model/upstream-policy.ts';
export { type ExplainedRoute, explainRoute } from './routing/explain-route.ts';
export {
  loadRouteTable,
  loadScopeNames,
  ownAudienceProblems,
  ownPathProblems,
  plainAddressProblems,
  readRouteTable,
  routeTableProblems,
  upstreamNamesIn,
} from './routing/load-route-table.ts';
export { documentItemsOf, namesIn } from './routing/openapi/document-items.ts';
export { exportRoutes } from './routing/openapi/export-routes.ts';
export { importRoutes } from './routing/openapi/import-routes.ts';

/**
 * `core=http://10.0.0.5:8081|http://10.0.0.6:8081,other=http://10.0.0.7:8081` from the environment, an object from a file;
 * several addresses of one upstream are separated by `|` in both.
 */
const upstreams = z.preprocess(
  (value) => (typeof value === 'string' ? parsePairs(value) : value),
  z.record(
    upstreamName,
    z
      .string()
      .refine(
        areUpstreamUrls,
        'must be http://host[:port] or https://host[:port], without a path; several separated by |',
      ),
  ),
);

export const gatewaySettings = z.strictObject({
  realm: z
    .string()
    .regex(/^[A-Za-z0-9 ._-]{1,64}$/, 'at most 64 letters, digits, spaces, dots, hyphens and underscores')
    .default('orderpass')
    .meta({ description: 'Realm that challenges name', env: 'ORDERPASS_REALM' }),
  routes_file: z.string().min(1).optional().meta({
    description:
      'Route table (JSON or YAML): operations, scopes, limits, upstreams. Default: `config/routes.json` of the program',
    env: 'ORDERPASS_ROUTES_FILE',
  }),
  routes_watch: z.enum(['on', 'off']).default('off').meta({
    description:
      '`on`: a changed route table is read and served within 3 s; SIGHUP and `config reload` work without it',
    env: 'ORDERPASS_WATCH',
  }),
  upstreams: upstreams.default({}).meta({
    description:
      'Addresses of the services behind the gateway, as name=url pairs, several for one name as url|url; they win over those in the route table; role all fills in its own',
    env: 'ORDERPASS_UPSTREAMS',
  }),
  hsts_seconds: number(0, 63_072_000, 31_536_000).meta({
    description:
      'Seconds for which browsers then use https only (Strict-Transport-Security), when the public address is https; 0 makes them forget it',
    env: 'ORDERPASS_HSTS_SECONDS',
  }),
  url_bytes_max: number(256, 16_384, 8_192).meta({
    description: 'Longest request target (414)',
    env: 'ORDERPASS_URL_BYTES_MAX',
  }),
  header_bytes_max: number(1_024, 16_384, 16_384).meta({
    description: 'All header fields of a request together (431)',
    env: 'ORDERPASS_HEADER_BYTES_MAX',
  }),
  upstream_connect_timeout_ms: integer(50, 60_000).optional().meta({
    description: 'Time to open a connection to any upstream (502). Default: as the route table says, else 5000',
    env: 'ORDERPASS_UPSTREAM_CONNECT_TIMEOUT_MS',
  }),
  upstream_connections_max: integer(1, 10_000).optional().meta({
    description: 'Connections to one address of any upstream. Default: as the route table says, else 256',
    env: 'ORDERPASS_UPSTREAM_CONNECTIONS_MAX',
  }),
  upstream_waiting_max: integer(0, 100_000).optional().meta({
    description:
      'Requests that may wait for a connection to one upstream; more are refused (503). Default: as the route table says, else 1024',
    env: 'ORDERPASS_UPSTREAM_WAITING_MAX',
  }),
  ...policySettings.shape,
  ...oauthSettings.shape,
  ...profileSettings.shape,
  ...dpopSettings.shape,
  ...certificateSettings.shape,
  ...limitsSettings.shape,
  ...auditSettings.shape,
  ...requestLogSettings.shape,
  ...mcpSettings.shape,
  ...leakSettings.shape,
  ...trustSettings.shape,
  ...signalsSettings.shape,
});

export type GatewaySettings = z.infer<typeof gatewaySettings>;

/** The route table that the settings name, or the one that comes with the program. */
export const routesFileOf = (settings: Pick<GatewaySettings, 'routes_file'>): string =>
  settings.routes_file ?? fileURLToPath(new URL('../../config/routes.json', import.meta.url));

function areUpstreamUrls(value: string): boolean {
  const addresses = addressesOf(value);
  return (
    addresses.every(isUpstreamUrl) && new Set(addresses.map((url) => new URL(url).origin)).size === addresses.length
  );
}

/** Text that is not made of pairs is returned unchanged, so that the schema reports it. */
const parsePairs = (text: string): unknown => {
  const pairs = text.split(',').map((part) => part.trim().split(/=(.*)/s, 2));
  if (pairs.some((pair) => pair.length !== 2)) return text;
  return Object.fromEntries(pairs.map(([name, url]) => [name, url]));
};

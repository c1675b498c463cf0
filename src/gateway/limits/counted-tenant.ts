/**
 * The tenant whose units a request uses (interface 20.2). A caller with exactly one tenant acts for that one. Any other caller
 * acts for the tenant that the request names where the route says, if the caller reaches it: otherwise a caller could use up
 * the units of a tenant that it has nothing to do with.
 */
import { malformedRequest } from '../model/faults.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { plainName, segmentsOf } from '../model/route-path.ts';

type Asked = { route: Pick<Route, 'tenant' | 'path'>; path: string; search: string };

/** Undefined: no tenant, so none is charged. Throws when the query names the parameter twice, since readers differ then. */
export const countedTenant = (
  { tenants }: Pick<Principal, 'tenants'>,
  { route, path, search }: Asked,
): string | undefined => {
  if (tenants.length <= 1) return tenants[0];
  const named = namedTenant({ route, path, search });
  return named !== undefined && tenants.includes(named) ? named : undefined;
};

/** The tenant that the request names where the route says, whether it exists or not. Throws as `countedTenant`. */
export const namedTenant = ({ route, path, search }: Asked): string | undefined => {
  const { tenant } = route;
  if (tenant === undefined) return undefined;
  return tenant.startsWith('?')
    ? inQuery(search, tenant.slice(1))
    : inPath(segmentsOf(path)[segmentsOf(route.path).indexOf(tenant)]);
};

const inQuery = (search: string, name: string): string | undefined => {
  const given = new URLSearchParams(search).getAll(name);
  if (given.length > 1) throw malformedRequest(name, 'must be given once');
  return given[0];
};

/** As the service may read it: another spelling of a tenant would use its units without being counted. */
const inPath = (segment: string | undefined): string | undefined =>
  segment === undefined ? undefined : (plainName(segment) ?? segment);

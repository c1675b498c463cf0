/** The limits that a request meets beside those of its caller: of the caller on the route, and of the tenant. */
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { countedTenant } from './counted-tenant.ts';
import type { FurtherLimits } from './rate-limits.ts';
import type { RatePolicy } from './rate-window.ts';

type Windows = { perMinute?: number | undefined; burst?: number | undefined };

type Asked = { path: string; search: string; principal: Principal | undefined };

/** Undefined: none. A request without a credential is charged to no tenant, since every client could name one. */
export type FindFurtherLimits = (route: Route, callerId: string, asked: Asked) => readonly FurtherLimits[] | undefined;

export const createFindFurtherLimits = (): FindFurtherLimits => {
  // The limits of a table go with it.
  const known = new WeakMap<Windows, readonly RatePolicy[]>();
  const policiesOf = (windows: Windows, name: 'route' | 'tenant'): readonly RatePolicy[] => {
    const found = known.get(windows);
    if (found !== undefined) return found;
    const made = ratePolicies(windows, name);
    known.set(windows, made);
    return made;
  };

  return (route, callerId, { principal, path, search }) => {
    const { limits, tenantLimits } = route;
    if (limits === undefined && tenantLimits === undefined) return undefined;
    const found: FurtherLimits[] = [];
    const ofRoute = limits === undefined ? [] : policiesOf(limits, 'route');
    if (ofRoute.length > 0) found.push({ id: `${callerId} ${route.id}`, policies: ofRoute });
    const ofTenant = tenantLimits === undefined ? [] : policiesOf(tenantLimits, 'tenant');
    const tenant =
      ofTenant.length === 0 || principal === undefined ? undefined : countedTenant(principal, { route, path, search });
    if (tenant !== undefined) found.push({ id: tenant, policies: ofTenant });
    return found.length === 0 ? undefined : found;
  };
};

const ratePolicies = ({ perMinute, burst }: Windows, name: 'route' | 'tenant'): readonly RatePolicy[] => [
  ...(perMinute === undefined ? [] : [{ name: `${name}-minute`, quota: perMinute, windowSeconds: 60 }]),
  ...(burst === undefined ? [] : [{ name: `${name}-burst`, quota: burst, windowSeconds: 1 }]),
];

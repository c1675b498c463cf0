/** Interface 6.2, step 7: requires what limits the token, and the scopes of the route, in the sequence of the table. */

import { namedTenant } from '../../limits/counted-tenant.ts';
import { apiDisabled, insufficientScope, limitedTo } from '../../model/faults.ts';
import type { Principal } from '../../model/principal.ts';
import { mayBeAnonymous, neededScopes, ownUpstream, type Route } from '../../model/route.ts';
import type { Exchange, Step } from '../../request/exchange.ts';

export const createRequireScopes = (): Step => {
  return (exchange) => {
    const { route } = exchange;
    let { principal } = exchange;
    if (principal === undefined && mayBeAnonymous(route)) return;
    if (route === undefined || principal === undefined)
      throw new Error('cannot check scopes before the route and the caller are known');
    if (principal.narrow !== undefined) {
      principal = limitCaller(exchange, principal, route);
      exchange.principal = principal;
    }
    for (const scope of route.anyOf.length === 0 ? route.scopes : neededScopes(route, principal.scopes)) {
      if (!principal.scopes.has(scope)) {
        throw insufficientScope(neededScopes(route, principal.scopes).filter((name) => !principal.scopes.has(name)));
      }
    }
  };
};

/** The caller with the tenants that its token has for this route (interface 30.1). */
const limitCaller = ({ path, search }: Exchange, principal: Principal, route: Route): Principal => {
  const { narrow } = principal;
  if (narrow === undefined) return principal;
  const caller = narrow.callerFor(route);
  if (narrow.details === undefined) return caller;
  const { tenants, tenantsDisabled } = caller;
  if (tenants.length === 1 && tenantsDisabled.length === 1 && route.upstream !== ownUpstream) throw apiDisabled(caller);
  const named = namedTenant({ route, path, search });
  if (named !== undefined && !tenants.includes(named)) throw limitedTo(caller.id, narrow.text);
  return caller;
};

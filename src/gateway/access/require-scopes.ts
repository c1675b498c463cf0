/** Interface 6.2, step 7: requires the scopes of the route, in the sequence of the table. */

import { insufficientScope } from '../model/faults.ts';
import { neededScopes } from '../model/needed-scopes.ts';
import { mayBeAnonymous } from '../model/route.ts';
import type { Step } from '../request/exchange.ts';

export const createRequireScopes = (): Step => {
  return ({ route, principal }) => {
    if (principal === undefined && mayBeAnonymous(route)) return;
    if (route === undefined || principal === undefined)
      throw new Error('cannot check scopes before the route and the caller are known');
    for (const scope of route.anyOf.length === 0 ? route.scopes : neededScopes(route, principal.scopes)) {
      if (!principal.scopes.has(scope)) {
        throw insufficientScope(neededScopes(route, principal.scopes).filter((name) => !principal.scopes.has(name)));
      }
    }
  };
};

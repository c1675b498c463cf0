/** Interface 6.2, step 7: requires the scopes of the route, in the sequence of the table. */

import { insufficientScope } from '../model/faults.ts';
import type { Step } from '../request/exchange.ts';

export const createRequireScopes = (): Step => {
  return ({ route, principal }) => {
    if (route === undefined || principal === undefined)
      throw new Error('cannot check scopes before the route and the caller are known');
    for (const scope of route.scopes) {
      if (!principal.scopes.has(scope)) {
        throw insufficientScope(route.scopes.filter((name) => !principal.scopes.has(name)));
      }
    }
  };
};

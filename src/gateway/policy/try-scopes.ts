/** Counts the callers that lack scopes in a dry run of the route. No caller is refused. */
import type { Exchange, Step } from '../request/exchange.ts';

/** `missing`: scopes of the dry run that the caller does not hold, joined by spaces in the sequence of the route. */
export type NoteDryRun = (routeId: string, callerId: string, missing: string) => void;

export const createTryScopes = ({ noteDryRun }: { noteDryRun: NoteDryRun }): Step => {
  return ({ route, principal }: Exchange) => {
    const tried = route?.dryRun?.scopes;
    if (tried === undefined || route === undefined || principal === undefined) return;
    for (const scope of tried) {
      if (principal.scopes.has(scope)) continue;
      noteDryRun(route.id, principal.id, tried.filter((name) => !principal.scopes.has(name)).join(' '));
      return;
    }
  };
};

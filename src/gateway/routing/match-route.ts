/** Interface 6.2, steps 2 and 3: finds the operation, before any credential is read. */

import { methodNotAllowed, noSuchOperation } from '../model/faults.ts';
import type { Step } from '../request/exchange.ts';
import type { AllowOrigins } from './cors.ts';
import { allowOf, type CompiledRoutes, findRoute } from './route-table.ts';

type MatchRouteDeps = {
  routes: CompiledRoutes;
  answerOptions: (exchange: Parameters<Step>[0], allow: string) => void;
  /** Undefined: the answers are not for scripts of other origins. */
  allowOrigins?: AllowOrigins | undefined;
};

/**
 * The raw path must match a listed one. Nothing is decoded, folded or resolved, so `..`, `//`, `%2F`, another case, `*` and a
 * target of another host (node-http/origin-form.ts) are paths that do not exist; what was checked here is byte for byte what the
 * upstream will see.
 */
export const createMatchRoute = ({ routes, answerOptions, allowOrigins }: MatchRouteDeps): Step => {
  return (exchange) => {
    if (allowOrigins?.(exchange) === true) return;
    // A fragment has no meaning in a request target (RFC 9112 section 3.2); two parsers could cut it differently.
    if (exchange.search.includes('#')) throw noSuchOperation();
    const route = findRoute(routes, exchange);
    if (route !== undefined) {
      exchange.route = route;
      return;
    }
    const allow = allowOf(routes, exchange);
    if (allow === undefined) throw noSuchOperation();
    if (exchange.method !== 'OPTIONS') throw methodNotAllowed(allow);
    exchange.answered = true;
    answerOptions(exchange, allow);
  };
};

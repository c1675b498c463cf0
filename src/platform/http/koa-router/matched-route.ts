/**
 * The path of the operation that served a request.
 *
 * It leans on this part of koa-router 14 that its README does not promise; test/platform/parity/koa-router.test.ts holds it:
 * - `ctx._matchedRoute` is the path as it was given to the router, with its prefix and the names of its parameters, and stays
 *   on the context after the route has answered or thrown.
 */
import type { Context } from 'koa';

/** Known paths; all other paths are `none`, so that labels of metrics are bounded. */
export const matchedRouteOf = (ctx: Context): string => {
  const matched: unknown = ctx._matchedRoute;
  return typeof matched === 'string' ? matched : 'none';
};

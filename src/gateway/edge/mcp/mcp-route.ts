/** The route of the protocol itself, for limits, audit, figures and logs: every credential may use it, and it needs no scope. */
import { type Route, routeOfGateway } from '../../model/route.ts';
import { mcpPath } from '../../model/route-path.ts';

/** Another name than that of the gateway's own operations, since those answer callers whose API access is off. */
export const mcpRoute: Route = routeOfGateway({
  id: 'mcp',
  method: 'POST',
  path: mcpPath,
  upstream: 'mcp',
  body: 'any',
});

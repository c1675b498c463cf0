/** The request that is measured for each operation of the OpenAPI document. */
import { gatewayRequests } from './gateway-requests.ts';
import { orderingRequests, type RequestOf } from './ordering-requests.ts';

export const operationRequests: Readonly<Record<string, RequestOf>> = { ...orderingRequests, ...gatewayRequests };

/** Operations that a large installation does not make dearer: a sandbox has one restaurant of its own. */
const unmeasured: ReadonlySet<string> = new Set(['POST /api/sandbox/clock']);

type Paths = Record<string, Record<string, unknown>>;

/** Names of the operations to measure, like `GET /api/whoami`. */
export const measuredOperations = (paths: Paths): string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`)
      .filter((name) => !unmeasured.has(name)),
  );

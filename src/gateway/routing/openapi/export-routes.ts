/** Pure: describes a route table as an OpenAPI 3.1 document. */
import { mayBeAnonymous, type Route, type RouteTable, scopeSetsOf } from '../../model/route.ts';
import { isParameter, segmentsOf } from '../../model/route-path.ts';

type Operation = Record<string, unknown>;

/** `origin`: address of the gateway, without a slash at the end. HEAD is left out where GET is described. */
export const exportRoutes = (table: RouteTable, origin: string, version: string): Record<string, unknown> => {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of table.routes) {
    const path = pathOf(route);
    const item = paths[path] ?? {};
    // Several routes differ by their hosts only; OpenAPI has one operation for a path and method.
    item[route.method.toLowerCase()] ??= operationOf(route, table);
    paths[path] = item;
  }
  for (const item of Object.values(paths)) if (item.get !== undefined) delete item.head;
  return {
    openapi: '3.1.0',
    info: { title: 'Routes of this gateway', version },
    servers: [{ url: origin }],
    paths,
    components: { securitySchemes: schemesOf(table, origin) },
  };
};

/** OpenAPI has no path for everything below, so it becomes a parameter. */
const pathOf = ({ path }: Route): string => path.replace(/\/\*$/, '/{rest}');

const operationOf = (route: Route, table: RouteTable): Operation => {
  const names = segmentsOf(pathOf(route)).filter(isParameter);
  const isSole = table.routes.filter(({ id }) => id === route.id).length === 1;
  const content = contentOf(route);
  return {
    operationId: isSole ? route.id : `${route.id}.${route.method.toLowerCase()}`,
    tags: [route.upstream],
    ...(route.deprecation === undefined ? {} : { deprecated: true }),
    ...(route.path.endsWith('/*') ? { description: 'Also every path below.' } : {}),
    ...(names.length > 0
      ? {
          parameters: names.map((name) => ({
            name: name.slice(1, -1),
            in: 'path',
            required: true,
            schema: { type: 'string' },
          })),
        }
      : {}),
    ...(content === undefined ? {} : { requestBody: { content } }),
    security: securityOf(route),
    responses: { default: { description: 'Answer of the service, or a refusal of the gateway' } },
  };
};

const contentOf = ({ method, body }: Route): Record<string, object> | undefined => {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return undefined;
  const types = body === 'json' ? ['application/json'] : body === 'any' ? ['*/*'] : body;
  return Object.fromEntries(types.map((type) => [type, {}]));
};

/** One alternative for each kind of credential, and for each set of scopes. An empty one: no credential is needed. */
const securityOf = (route: Route): Record<string, readonly string[]>[] => [
  // OpenAPI 3.1 lets every scheme name what a caller must have.
  ...scopeSetsOf(route).flatMap((names) => [
    ...(route.kinds.includes('bearer') ? [{ bearer: names }] : []),
    ...(route.kinds.includes('api_client') ? [{ clientId: names, clientSecret: names }] : []),
    ...(route.kinds.includes('api_key') ? [{ apiKey: names }] : []),
  ]),
  ...(mayBeAnonymous(route) ? [{}] : []),
];

const schemesOf = ({ scopes }: RouteTable, origin: string): Record<string, object> => ({
  bearer: {
    type: 'oauth2',
    flows: {
      clientCredentials: {
        tokenUrl: `${origin}/api/oauth/token`,
        scopes: Object.fromEntries(scopes.map(({ name, description }) => [name, description])),
      },
    },
  },
  clientId: { type: 'apiKey', in: 'header', name: 'X-Client-Id' },
  clientSecret: { type: 'apiKey', in: 'header', name: 'X-Client-Secret' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
});

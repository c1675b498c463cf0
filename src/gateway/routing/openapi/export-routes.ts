/** Pure: describes a route table as an OpenAPI 3.1 document. What the document cannot say becomes a remark. */
import { mayBeAnonymous, type Route, type RouteTable, scopeSetsOf } from '../../model/route.ts';
import { type DocumentItem, documentItemsOf, hasTail, namesIn } from './document-items.ts';
import type { Remark } from './open-document.ts';

type Exported = { document: Record<string, unknown>; remarks: readonly Remark[] };

/** `origin`: address of the gateway, without a slash at the end. HEAD is left out where the route of GET answers it. */
export const exportRoutes = (table: RouteTable, origin: string, version: string): Exported => {
  const remarks: Remark[] = [];
  const items = itemsOf(table, remarks);
  return {
    document: {
      openapi: '3.1.0',
      info: { title: 'Routes of this gateway', version },
      servers: [{ url: origin }],
      paths: Object.fromEntries(items.map((item) => [item.path, describeItem(item, table)])),
      components: { securitySchemes: schemesOf(table, origin) },
    },
    remarks,
  };
};

const itemsOf = ({ routes }: RouteTable, remarks: Remark[]): DocumentItem[] => {
  const items = documentItemsOf(routes, (route, before) => remarks.push(...lossOf(route, before)));
  for (const { byMethod } of items) {
    const [get, head] = [byMethod.get('GET'), byMethod.get('HEAD')];
    if (get === undefined || head === undefined) continue;
    if (head.id === get.id || head.anyMethod || (hasTail(head) && !hasTail(get))) byMethod.delete('HEAD');
  }
  return items;
};

/** What the document does not say of `route`, whose place `before` has. */
const lossOf = (route: Route, before: Route): Remark[] => {
  const path = `${route.id}: ${route.method} ${route.path}`;
  if (String(route.hosts) !== String(before.hosts))
    return [{ path, message: `left out: ${before.id} has the same path for other hosts` }];
  if (hasTail(route) && !hasTail(before))
    return [{ path, message: `left out: OpenAPI cannot tell the path from ${before.path} of ${before.id}` }];
  return [];
};

const describeItem = ({ path, byMethod }: DocumentItem, table: RouteTable): Record<string, Operation> =>
  Object.fromEntries(
    [...byMethod].map(([method, route]) => [method.toLowerCase(), operationOf(route, namesIn(path), table)]),
  );

type Operation = Record<string, unknown>;

const operationOf = (route: Route, names: readonly string[], table: RouteTable): Operation => {
  const isSole = table.routes.filter(({ id }) => id === route.id).length === 1;
  const content = contentOf(route);
  return {
    operationId: isSole ? route.id : `${route.id}.${route.method.toLowerCase()}`,
    tags: [route.upstream],
    ...(route.deprecation === undefined ? {} : { deprecated: true }),
    ...(hasTail(route) ? { description: 'Also every path below.' } : {}),
    ...(names.length > 0
      ? {
          parameters: names.map((name) => ({
            name,
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

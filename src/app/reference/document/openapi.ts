/**
 * The OpenAPI 3.1 document (interface 4.3), generated from what the program enforces: the route table gives paths, scopes,
 * kinds and rate classes, the zod schemas that validate requests and answers give their shapes, the fault list gives the errors.
 */
import { documentItemsOf, type Route, type RouteTable } from '#src/gateway/config.ts';
import type { DescribedSelfOperation } from '#src/gateway/index.ts';
import type { DescribedEvent } from '#src/ordering/index.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import type { OwnEvent } from '#src/webhooks/index.ts';
import { componentsOf } from './components.ts';
import { type Described, describeOperation } from './describe-operation.ts';
import { type Examples, examplesAt } from './examples/recorded-answers.ts';
import type { Json } from './json-schema.ts';
import { nameSchemas } from './name-schemas.ts';
import { oauthPaths } from './oauth-paths.ts';
import { shareParts } from './share-parts.ts';
import { tagsOf } from './tags.ts';
import { webhooksOf } from './webhook-paths.ts';

export type OpenApiParts = {
  origin: string;
  table: RouteTable;
  operations: readonly Operation[];
  selfOperations: readonly DescribedSelfOperation[];
  events: readonly DescribedEvent[];
  /** Events that the webhook engine makes itself: test and digest. */
  ownEvents: readonly OwnEvent[];
  signatureHeader: string;
  /** When the document is made: dates of examples lie ahead of it. */
  now: Date;
};

const interfaceVersion = '1.0.0';

const introduction = `JSON over HTTPS for restaurants, their orders, customers, menus and loyalty points.

Present one credential: an API key, the two headers of an API client, or an access token of that client. Every answer is an
envelope with \`success\`; refusals have an \`error\` code (see [all codes](/docs/errors)). Refusals 400, 401 and 403 to a Bearer
credential are OAuth errors, and with \`Accept: application/problem+json\` other refusals are RFC 9457 problems. The operator may
enable the old statuses for callers without a Bearer credential; then most refusals are 200 with \`success\` false.

Where an operation has the parameter \`Idempotency-Key\`, a request that is sent again with the same key has no second effect.
Parameters of a POST that are not nested may also be sent in the query.

Every request may have \`X-Request-Id\` (\`^[A-Za-z0-9._-]{1,64}$\`; the server makes one when it is missing) and \`X-Api-Version\` (the version of
the interface that the caller was written for, such as 1.0.0). Every answer has both: quote the id when you ask for help.

A member whose name ends with \`_iso\` is an instant of RFC 3339 in whole seconds, with the offset of the venue. Its twin without the
ending is the same instant as a legacy date, \`YYYY-MM-DD hh:mm:ss\` in the API time zone of the restaurant. Amounts and points have at most
two decimals.

What is stored is what was sent, except that blanks around text are removed. A JSON number for a member of type \`string\` is refused with the
detail code \`TYPE\`: put it in quotes. A number with more decimals than its type has is refused with \`FORMAT\` and one beyond its
bounds with \`RANGE\`, compared by the digits that were sent and never rounded; a decimal string may stand for a number. A member
that is given twice in one object is refused with \`DUPLICATE\`, wherever it stands. Bodies are UTF-8. Two bodies that differ in
any digit are two requests for \`Idempotency-Key\`.`;

export const buildOpenApi = (parts: OpenApiParts): Json => {
  const { origin, table } = parts;
  const examples = examplesAt(parts.now);
  const { schemas, ...described } = nameSchemas(
    { ...routePaths(parts, examples), ...oauthPaths(origin, examples.answers) },
    webhooksOf(parts.events, parts.ownEvents, parts.signatureHeader, examples.events),
  );
  const { paths, webhooks, ...shared } = shareParts(described.paths, described.webhooks);
  return {
    openapi: '3.1.1',
    info: { title: 'Orderpass', version: interfaceVersion, description: introduction },
    servers: [{ url: origin }],
    tags: tagsOf(table.routes.map(({ path }) => path)),
    paths,
    webhooks,
    components: componentsOf({
      origin,
      scopes: Object.fromEntries(table.scopes.map(({ name, description }) => [name, description])),
      named: { schemas, ...shared },
      signatureHeader: parts.signatureHeader,
    }),
  };
};

const routePaths = ({ origin, table, operations, selfOperations }: OpenApiParts, examples: Examples): Json => {
  const paths: Record<string, Json> = {};
  const ids = Map.groupBy(table.routes, ({ id }) => id);
  for (const { path, byMethod } of documentItemsOf(table.routes)) {
    const item: Json = {};
    for (const route of byMethod.values()) {
      const method = route.method.toLowerCase();
      // A route with several methods is several operations, whose ids must differ.
      const operationId = ids.get(route.id)?.length === 1 ? route.id : `${route.id}.${method}`;
      item[method] = describeOperation(
        { origin, path, operationId, examples },
        route,
        describedOperation(route, operations) ?? describedSelf(route, selfOperations),
      );
    }
    paths[path] = item;
  }
  return paths;
};

const describedOperation = (route: Route, operations: readonly Operation[]): Described | undefined => {
  const found = operations.find(({ method, path }) => method === route.method && `/api${path}` === route.path);
  if (found === undefined) return undefined;
  return {
    summary: found.summary,
    errors: found.errors ?? [],
    emits: found.emits ?? [],
    params: found.params,
    answer: found.answer as Described['answer'],
    restaurant: found.hasTenant !== false,
    addsOnly: found.addsOnly,
    hasScopesOfBody: found.scopesOf !== undefined,
  };
};

const describedSelf = (route: Route, operations: readonly DescribedSelfOperation[]): Described | undefined => {
  const found = operations.find(({ id }) => id === route.id);
  return found === undefined ? undefined : { ...found, emits: [], restaurant: false, hasScopesOfBody: false };
};

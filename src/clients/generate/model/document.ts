/** The OpenAPI document from which the clients are made: that of this program with the route table that it comes with. */
import { buildOpenApi } from '#src/app/reference/document/openapi.ts';
import { eventKinds } from '#src/app/webhooks/event-kinds.ts';
import { kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { describedSelfOperations } from '#src/gateway/index.ts';
import { describedEvents, describedOperations } from '#src/ordering/index.ts';
import {
  describedOperations as describedWebhookOperations,
  describedEvents as ownWebhookEvents,
} from '#src/webhooks/index.ts';

export type Json = Record<string, unknown>;

/** What every route gives a body, unless it says otherwise. */
const usualBodyMs = 30_000;

/**
 * Seconds of an attempt of the routes that give a body more time, by id: to send it, for the service to answer, and five for the
 * way. The general time of a client would end such an attempt while the body is sent.
 */
export const longAttempts = (): ReadonlyMap<string, number> =>
  new Map(
    readRouteTable(routesFileOf({}))
      .routes.filter(({ timeouts }) => timeouts.bodyMs > usualBodyMs)
      .map(({ id, timeouts }) => [id, (timeouts.bodyMs + timeouts.answerMs) / 1000 + 5]),
  );

/** Built in this process, without a database and without a listener. */
export const programDocument = (): Json => {
  const table = readRouteTable(routesFileOf({}));
  const document = buildOpenApi({
    // Dates of examples in comments depend on it.
    now: new Date('2026-03-01'),
    origin: 'https://api.example',
    table,
    operations: [...describedOperations(), ...describedWebhookOperations(kindScopes)],
    selfOperations: describedSelfOperations(table.tenantWords),
    events: describedEvents,
    ownEvents: ownWebhookEvents(eventKinds),
    signatureHeader: 'X-Orderpass-Signature',
  });
  const { components, ...others } = document as { components: { schemas: Json } };
  const schemas = Object.fromEntries(Object.entries(components.schemas).filter(([name]) => !nullName.test(name)));
  return withNull({ ...others, components: { ...components, schemas } }) as Json;
};

const nullName = /^Null(able.+)?$/;
const nullable = '#/components/schemas/Nullable';

/** Languages write "or null" at a type, so clients need no name for it. */
const withNull = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(withNull);
  if (typeof node !== 'object' || node === null) return node;
  const { $ref: reference, ...rest } = node as Json;
  if (typeof reference !== 'string' || !reference.startsWith(nullable))
    return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, withNull(value)]));
  return { ...rest, anyOf: [{ $ref: reference.replace(nullable, '#/components/schemas/') }, { type: 'null' }] };
};

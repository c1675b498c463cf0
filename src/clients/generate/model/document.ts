/** The OpenAPI document from which the clients are made: that of this program with the route table that it comes with. */
import { buildOpenApi } from '#src/app/reference/document/openapi.ts';
import { eventKinds, kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { describedSelfOperations } from '#src/gateway/index.ts';
import { describedEvents, describedOperations } from '#src/ordering/index.ts';
import {
  describedOperations as describedWebhookOperations,
  describedEvents as ownWebhookEvents,
} from '#src/webhooks/index.ts';

export type Json = Record<string, unknown>;

/** Built in this process, without a database and without a listener. */
export const programDocument = (): Json => {
  const table = readRouteTable(routesFileOf({}));
  return buildOpenApi({
    origin: 'https://api.example',
    table,
    operations: [...describedOperations(), ...describedWebhookOperations(kindScopes)],
    selfOperations: describedSelfOperations(table.tenantWords),
    events: describedEvents,
    ownEvents: ownWebhookEvents(eventKinds),
    signatureHeader: 'X-Orderpass-Signature',
  });
};

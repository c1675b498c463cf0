/**
 * The public documents: /api/openapi.json, /docs/asyncapi.json, the collections, the schema of the route table, and the guide with the reference below
 * /docs. They are made from data that every gateway has, so a gateway without a core serves them too. Each is made
 * with its first request, because making the OpenAPI document would take a tenth of a start.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type RouteTable, routeFileSchema } from '#src/gateway/config.ts';
import { describedSelfOperations, type Page } from '#src/gateway/index.ts';
import { describedEvents, describedOperations } from '#src/ordering/index.ts';
import { type Clock, dayMs, systemClock } from '#src/platform/clock.ts';
import {
  describedOperations as describedWebhookOperations,
  describedEvents as ownWebhookEvents,
} from '#src/webhooks/index.ts';
import type { Settings } from '../settings/config.ts';
import { eventKinds } from '../webhooks/event-kinds.ts';
import { kindScopes } from '../webhooks/wire-engine.ts';
import { buildAsyncApi } from './document/asyncapi.ts';
import { brunoCollection } from './document/collections/bruno.ts';
import { postmanCollection } from './document/collections/postman.ts';
import { type Samples, withSamples } from './document/examples/sample-ids.ts';
import { withNamedAlternatives } from './document/name-alternatives.ts';
import { buildOpenApi } from './document/openapi.ts';
import { withSharedMembers } from './document/share-members.ts';
import { withSampleRequests } from './document/with-sample-requests.ts';
import { createGuide } from './guide/guide.ts';
import { lazy } from './guide/lazy.ts';

/** A redelivery begins at most 30 days ago, and an example begins it on the day before its document was made. */
const renewedDays = 7;

/**
 * Path → page, for a route table. Only the description of the operations depends on it. `samples`: what the examples are
 * about, where there is a demo restaurant. Documents with examples are made anew each week, since their dates would become too old.
 */
export const createReference = (
  { webhooks, panel }: Pick<Settings, 'webhooks' | 'panel'>,
  origin: string,
  samples: Samples | undefined,
  clock: Clock = systemClock,
): ((table: RouteTable) => ReadonlyMap<string, Page>) => {
  const ownEvents = ownWebhookEvents(eventKinds);
  const version = (): string => String(Math.floor(clock.now().getTime() / (renewedDays * dayMs)));
  const guide = createGuide({
    origin,
    hasPanel: panel.enabled === 'on',
    signatureHeader: webhooks.signature_header,
    events: [...describedEvents, ...ownEvents],
  });
  return (table) => {
    const document = lazy(
      () =>
        buildOpenApi({
          origin,
          table,
          operations: [...describedOperations(), ...describedWebhookOperations(kindScopes)],
          selfOperations: describedSelfOperations(table.tenantWords),
          events: describedEvents,
          ownEvents,
          signatureHeader: webhooks.signature_header,
          now: clock.now(),
        }),
      version,
    );
    const withExamples = (value: () => unknown): Page => ({
      ...json('application/json; charset=utf-8', value),
      version,
    });
    return new Map<string, Page>([
      [
        '/api/openapi.json',
        withExamples(() => withSampleRequests(withSharedMembers(withNamedAlternatives(document())), samples)),
      ],
      ['/docs/asyncapi.json', withExamples(() => buildAsyncApi(document()))],
      ['/docs/postman.json', withExamples(() => withSamples(postmanCollection(document()), samples))],
      ['/docs/bruno.json', withExamples(() => withSamples(brunoCollection(document()), samples))],
      ['/docs/routes.schema.json', json('application/schema+json', routeFileSchema)],
      ['/docs/assets/swagger-ui-bundle.js', viewerFile('swagger-ui-bundle.js', 'text/javascript; charset=utf-8')],
      ['/docs/assets/swagger-ui.css', viewerFile('swagger-ui.css', 'text/css; charset=utf-8')],
      ...guide(document),
    ]);
  };
};

const json = (type: string, value: () => unknown): Page => ({ type, body: () => JSON.stringify(value()) });

const viewerFile = (name: string, type: string): Page => ({
  type,
  body: () => {
    const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
    return readFileSync(join(folder, name));
  },
});

/**
 * The public documents: /api/openapi.json, /docs/asyncapi.json, the collections, /docs, /docs/errors, /docs/webhooks, /docs/callers, /docs/cells and /docs/changelog. They are rendered once at
 * start from data that every gateway has, so a gateway without a core serves them too.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type RouteTable, routeFileSchema } from '#src/gateway/config.ts';
import { describedSelfOperations, type Page } from '#src/gateway/index.ts';
import { describedEvents, describedOperations } from '#src/ordering/index.ts';
import {
  describedOperations as describedWebhookOperations,
  describedEvents as ownWebhookEvents,
} from '#src/webhooks/index.ts';
import type { Settings } from '../settings/config.ts';
import { eventKinds, kindScopes } from '../webhooks/wire-engine.ts';
import { callersPage } from './callers-page.ts';
import { changelogPage } from './changelog-page.ts';
import { buildAsyncApi } from './document/asyncapi.ts';
import { brunoCollection } from './document/collections/bruno.ts';
import { postmanCollection } from './document/collections/postman.ts';
import { type Samples, withSamples } from './document/examples/sample-ids.ts';
import type { Json } from './document/json-schema.ts';
import { buildOpenApi } from './document/openapi.ts';
import { withSampleRequests } from './document/with-sample-requests.ts';
import { errorsPage } from './errors-page.ts';
import { cellsPage } from './pages/cells-page.ts';
import { errorsStyle, viewerPage, viewerScript, viewerStyle } from './viewer-page.ts';
import { webhooksPage } from './webhooks-page.ts';

/**
 * Path → page, for a route table. Only the description of the operations depends on it. `samples`: what the examples are
 * about, where there is a demo restaurant.
 */
export const createReference = (
  { webhooks, panel }: Pick<Settings, 'webhooks' | 'panel'>,
  origin: string,
  samples: Samples | undefined,
): ((table: RouteTable) => ReadonlyMap<string, Page>) => {
  const fixed: readonly (readonly [string, Page])[] = [
    ['/docs/routes.schema.json', { type: 'application/schema+json', body: JSON.stringify(routeFileSchema()) }],
    ['/docs', html(viewerPage({ hasPanel: panel.enabled === 'on' }))],
    ['/docs/errors', html(errorsPage())],
    ['/docs/webhooks', html(webhooksPage(webhooks.signature_header))],
    ['/docs/callers', html(callersPage())],
    ['/docs/cells', html(cellsPage())],
    ['/docs/changelog', html(changelogPage())],
    ['/docs/assets/reference.js', script(viewerScript)],
    ['/docs/assets/reference.css', style(viewerStyle)],
    ['/docs/assets/errors.css', style(errorsStyle)],
    ['/docs/assets/swagger-ui-bundle.js', script(viewerFile('swagger-ui-bundle.js'))],
    ['/docs/assets/swagger-ui.css', style(viewerFile('swagger-ui.css'))],
  ];
  return (table) => {
    const document = buildOpenApi({
      origin,
      table,
      operations: [...describedOperations(), ...describedWebhookOperations(kindScopes)],
      selfOperations: describedSelfOperations(table.tenantWords),
      events: describedEvents,
      ownEvents: ownWebhookEvents(eventKinds),
      signatureHeader: webhooks.signature_header,
      now: new Date(),
    });
    const json = (value: Json): Page => ({
      type: 'application/json; charset=utf-8',
      body: JSON.stringify(value),
    });
    return new Map<string, Page>([
      ['/api/openapi.json', json(withSampleRequests(document, samples))],
      ['/docs/asyncapi.json', json(buildAsyncApi(document))],
      ['/docs/postman.json', json(withSamples(postmanCollection(document), samples))],
      ['/docs/bruno.json', json(withSamples(brunoCollection(document), samples))],
      ...fixed,
    ]);
  };
};

/**
 * The pages load nothing from other hosts, run no inline script or style, and cannot be framed. The style sheet of the viewer
 * has its arrows and icons in data: addresses.
 */
const policy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const html = (body: string): Page => ({
  type: 'text/html; charset=utf-8',
  body,
  headers: { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' },
});

const script = (body: string | Buffer): Page => ({ type: 'text/javascript; charset=utf-8', body });
const style = (body: string | Buffer): Page => ({ type: 'text/css; charset=utf-8', body });

const viewerFile = (name: string): Buffer => {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return readFileSync(join(folder, name));
};

/**
 * The panel at /panel: API access for restaurants, clients for support, audit for security.
 *
 * Owns the pages, and nothing that lasts: it has no table and no SQL. Accounts and sessions of staff as well as restaurants,
 * credentials, deliveries and the audit belong to the features; pages call ports (ports/), which the app wires, so it knows
 * no other feature.
 *
 * The way through: frame/router -> frame/assets or a page for everybody (sign-in/) -> the session (ports/staff), role,
 * restaurant and CSRF token -> the page's handler -> frame/layout. A page is data (frame/page.ts); each area has its list:
 * home/, account/, users/, restaurant/, support/, security/, integrator/; pages.ts joins them. What changes while a page is
 * open is told by topics (frame/topic.ts) over frame/event-streams. What a page shows is `html` (frame/html.ts), which
 * escapes; its words stand in texts/.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { loadAssets } from './frame/assets.ts';
import { createChangeWatch, type Listen } from './frame/change-watch.ts';
import { createEventStreams } from './frame/event-streams.ts';
import { createFlashes } from './frame/flashes.ts';
import { createRouter, type PanelHandler } from './frame/router.ts';
import { createSecurityHeaders } from './frame/security-headers.ts';
import { allPages, allPublicPages, allTopics } from './pages.ts';
import type { Ports } from './ports.ts';

export { panelSettings } from './config.ts';
export type { PanelHandler } from './frame/router.ts';
export type * from './ports/restaurant.ts';
export type {
  AuditChart,
  AuditEntry,
  AuditFilter,
  AuditPage,
  CredentialState,
  CredentialTrace,
  DryRun,
  HashedCredential,
  IssuedToken,
  LiveCredential,
  Ports,
  Reader,
  SecurityPorts,
  SignedHead,
  StaffPorts,
  SupportPorts,
  Verification,
} from './ports.ts';
export { linkPath, providerReturnPath } from './sign-in/places.ts';

export type PanelDeps = {
  clock: Clock;
  log: Logger;
  /** Is it the store's failure of a moment, which goes away by itself? */
  isPassing: (thrown: unknown) => boolean;
  /** Hears of changes in the store; undefined: the panel looks every few seconds only. */
  listen: Listen | undefined;
  /** Public address. */
  origin: string;
  /** Which address a request comes from, past proxies of our own. */
  sourceOf: (request: IncomingMessage) => string;
  ports: Ports;
  /** How often an event stream looks whether its session goes on. Default 25 s. */
  streamBeatMs?: number;
};

const streamBeatMs = 25_000;

export type Panel = {
  /** Is this the target of a request for the panel? */
  owns: (url: string) => boolean;
  handler: PanelHandler;
  services: Service[];
  /** Streams would keep the listener from closing. */
  close: () => void;
};

export const createPanel = (deps: PanelDeps): Panel => {
  const { clock, log, isPassing, origin, sourceOf, ports } = deps;
  const watch = createChangeWatch({ topics: allTopics, ports, log, listen: deps.listen });
  const streams = createEventStreams({ watch: watch.watch, beatMs: deps.streamBeatMs ?? streamBeatMs });
  const handler = createRouter({
    pages: allPages,
    publicPages: allPublicPages,
    assets: loadAssets(),
    flashes: createFlashes(ports.staff),
    ports,
    clock,
    log,
    isPassing,
    origin,
    sourceOf,
    headers: createSecurityHeaders(origin),
    watch,
    streams,
  });
  return { owns: ownsTarget, handler, services: watch.services, close: streams.close };
};

/** `/panel` and everything below it. One look at the beginning for whatever else a gateway answers. */
const ownsTarget = (url: string): boolean =>
  url.startsWith('/panel') && (url.length === 6 || url[6] === '/' || url[6] === '?');

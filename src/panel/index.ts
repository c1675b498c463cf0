/**
 * The panel at /panel: restaurants for owners, clients for support, the audit for security, a portal for contacts of clients.
 *
 * The panel owns the pages and stores nothing: it has no table and no SQL. Accounts, sessions, restaurants, credentials,
 * deliveries and the audit belong to the features. Pages call ports (ports/) that the app wires, so the panel imports no
 * other feature.
 *
 * Folders, each of which imports only those before it: texts/ and ports/; page/ (what a page is, and `html`, which escapes);
 * view/ (layout and the parts that pages share); live/ (topics and event streams, which tell open pages about changes);
 * server/ (the Koa application: checks, routes, responses); one folder for each area of pages. pages.ts joins the lists of
 * pages. The way of a request: the steps of server/panel-app.ts -> an asset, or a public page (sign-in/), or session, role,
 * restaurant and CSRF token are checked -> the page's handler -> view/layout. README.md says more.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createChangeWatch, type Listen } from './live/change-watch.ts';
import { createEventStreams } from './live/event-streams.ts';
import { allPages, allPublicPages, allTopics } from './pages.ts';
import type { Ports } from './ports/ports.ts';
import type { Visitor } from './ports/staff.ts';
import { loadAssets } from './server/assets.ts';
import { createFlashes } from './server/flashes.ts';
import { createPanelApp } from './server/panel-app.ts';
import { createSecurityHeaders } from './server/security-headers.ts';

export { searchedRestaurants } from './ports/overview.ts';
export { type OwnClient, type OwnRoute, ownRoutes } from './ports/portal.ts';
export type {
  AuditEntry,
  AuditNames,
  CertificatePorts,
  FirstStep,
  LimitPorts,
  LocatedKind,
  MenuPorts,
  OrderingPorts,
  OverviewPorts,
  PortalPorts,
  Reader,
  RequestPorts,
  SecurityPorts,
  SignalPorts,
  SupportPorts,
} from './ports/ports.ts';
export type * from './ports/restaurant.ts';

export type PanelDeps = {
  clock: Clock;
  log: Logger;
  /** Tells whether a thrown error is a temporary failure of the store. */
  isPassing: (thrown: unknown) => boolean;
  /** Calls back when the store notifies of a change. Undefined: the panel only polls, every few seconds. */
  listen: Listen | undefined;
  /** Public origin of the server. */
  origin: string;
  /** For Strict-Transport-Security; default one year. */
  hstsSeconds?: number;
  /** The source of a request, behind the trusted proxies. */
  readSource: (request: IncomingMessage) => Pick<Visitor, 'address' | 'network'>;
  ports: Ports;
  /** How often an event stream checks that its session is still live. Default 25 s. */
  streamBeatMs?: number;
};

const streamBeatMs = 25_000;
const hstsSecondsDefault = 31_536_000;

export type Panel = {
  /** Tells whether a request target belongs to the panel. */
  owns: (url: string) => boolean;
  handler: RequestListener;
  services: Service[];
  /** Ends the event streams, which would keep the listener from closing. */
  close: () => void;
};

export const createPanel = (deps: PanelDeps): Panel => {
  const { clock, log, isPassing, origin, readSource, ports } = deps;
  const watch = createChangeWatch({ topics: allTopics, ports, log, listen: deps.listen });
  const streams = createEventStreams({ watch: watch.watch, beatMs: deps.streamBeatMs ?? streamBeatMs });
  const handler = createPanelApp({
    pages: allPages,
    publicPages: allPublicPages,
    assets: loadAssets(),
    flashes: createFlashes(ports.staff),
    ports,
    clock,
    log,
    isPassing,
    origin,
    readSource,
    headers: createSecurityHeaders(origin, deps.hstsSeconds ?? hstsSecondsDefault),
    watch,
    streams,
  });
  return { owns: ownsTarget, handler, services: watch.services, close: streams.close };
};

/** `/panel` and everything below it. One `startsWith` is all that other requests pay. */
const ownsTarget = (url: string): boolean =>
  url.startsWith('/panel') && (url.length === 6 || url[6] === '/' || url[6] === '?');

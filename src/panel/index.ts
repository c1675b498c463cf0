/**
 * The panel at /panel: API access for restaurants, clients for support, audit for security.
 *
 * Owns staff accounts, their sessions and the pages; its own PostgreSQL schema holds nothing else. It leaves every other
 * thing to the features: pages call ports (ports/), which the app wires, so it has no SQL about restaurants, credentials or
 * deliveries and knows no other feature.
 *
 * The way through: frame/router -> frame/assets or a page for everybody (sign-in/) -> accounts/sessions, role, restaurant and
 * CSRF token -> the page's handler -> frame/layout. A page is data (frame/page.ts); each area has its list: home/,
 * account/, users/, restaurant/, support/, security/, integrator/; pages.ts joins them. What a page shows is `html` (frame/html.ts), which
 * escapes; its words stand in texts/.
 */
import type { IncomingMessage } from 'node:http';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Store } from '#src/platform/db/index.ts';
import { listenOn } from '#src/platform/db/listen.ts';
import { loadMigrations } from '#src/platform/db/migrate.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createAccounts } from './accounts/accounts.ts';
import { createFlashes } from './accounts/flashes.ts';
import { createUpkeep } from './accounts/upkeep.ts';
import type { PanelSettings } from './config.ts';
import { loadAssets } from './frame/assets.ts';
import { createChangeWatch, type Listen } from './frame/change-watch.ts';
import { createEventStreams } from './frame/event-streams.ts';
import { createRouter, type PanelHandler } from './frame/router.ts';
import { createSecurityHeaders } from './frame/security-headers.ts';
import { allPages, allPublicPages, allTopics } from './pages.ts';
import type { Ports, RecordEvents } from './ports.ts';

export { createUsers, type ShownUser, type Users } from './accounts/users.ts';
export { type PanelSettings, panelSettings } from './config.ts';
export { roles } from './frame/page.ts';
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
  PanelAction,
  PanelEvent,
  Ports,
  Reader,
  RecordEvents,
  SecurityPorts,
  SignedHead,
  SupportPorts,
  Verification,
} from './ports.ts';

export const panelMigrations = loadMigrations('panel', new URL('./migrations/', import.meta.url));

export type PanelDeps = {
  db: Kysely<unknown>;
  pool: Store['pool'];
  box: SecretBox;
  clock: Clock;
  log: Logger;
  settings: Omit<PanelSettings, 'enabled'>;
  /** Public address. */
  origin: string;
  /** Which address a request comes from, past proxies of our own. */
  sourceOf: (request: IncomingMessage) => string;
  record: RecordEvents;
  ports: Ports;
  /** How often an event stream looks whether its session goes on. Default 25 s. */
  streamBeatMs?: number;
};

const streamBeatMs = 25_000;
const hintsPoolMin = 5;

export type Panel = {
  /** Is this the target of a request for the panel? */
  owns: (url: string) => boolean;
  handler: PanelHandler;
  services: Service[];
  /** Streams would keep the listener from closing. */
  close: () => void;
};

export const createPanel = (deps: PanelDeps): Panel => {
  const { db, pool, clock, log, origin, sourceOf, ports } = deps;
  const accounts = createAccounts(deps);
  // Of fewer connections none can be kept for hints; the panel then looks every few seconds.
  const listen: Listen | undefined =
    pool.options.max < hintsPoolMin
      ? undefined
      : (channels, onNews, signal) => listenOn(pool, channels, onNews, signal);
  const watch = createChangeWatch({ topics: allTopics, ports, accounts, log, listen });
  const streams = createEventStreams({ watch: watch.watch, beatMs: deps.streamBeatMs ?? streamBeatMs });
  const handler = createRouter({
    pages: allPages,
    publicPages: allPublicPages,
    assets: loadAssets(),
    accounts,
    flashes: createFlashes(db),
    ports,
    clock,
    log,
    origin,
    sourceOf,
    headers: createSecurityHeaders(origin),
    watch,
    streams,
  });
  return { owns: ownsTarget, handler, services: [...watch.services, createUpkeep(deps)], close: streams.close };
};

/** `/panel` and everything below it. One look at the beginning for whatever else a gateway answers. */
const ownsTarget = (url: string): boolean =>
  url.startsWith('/panel') && (url.length === 6 || url[6] === '/' || url[6] === '?');

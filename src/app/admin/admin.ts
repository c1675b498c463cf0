/**
 * The functions of the command line on an installation, running or not. Each function is one transaction over the features
 * that it changes, so that a restaurant never exists in the core and not in the gateway.
 */
import { assertionKeyLabel } from '#src/contract/assertion.ts';
import { Fault } from '#src/contract/fault.ts';
import { loadScopeNames, readRouteTable, routesFileOf, signalScopes } from '#src/gateway/config.ts';
import {
  createCredentials,
  createSignalAdmin,
  readBounds,
  replaceSigningKeys,
  reportCallerUsage,
  reportUsage,
  revokePresentedToken,
  rotateSigningKey,
} from '#src/gateway/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { type Installation, openInstallation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { createForwardEvents } from '../webhooks/forward-events.ts';
import { createWebhookAdmin } from '../webhooks/webhook-admin.ts';
import { actorName } from './actor-name.ts';
import { createAuditAdmin } from './admin-audit.ts';
import { createDirectoryAdmin } from './admin-directory.ts';
import { createRequestsAdmin } from './admin-requests.ts';
import { createMenuAdmin, createRestaurantAdmin } from './admin-restaurants.ts';
import { createSandboxAdmin } from './admin-sandbox.ts';
import { createUsersAdmin } from './admin-users.ts';
import { createWebhooksAdmin } from './admin-webhooks.ts';

export type { CallerUsage, Traced } from '#src/gateway/index.ts';
export type { LocationTerms } from '#src/ordering/index.ts';
export type { Candidate } from './admin-directory.ts';
export type { ImportedMenu } from './admin-restaurants.ts';

export type Admin = ReturnType<typeof createAdmin>;

const createAdmin = (installation: Installation, settings: Settings) => {
  const { store, box, clock } = installation;
  const scopes = [...loadScopeNames(routesFileOf(settings.gateway)), ...signalScopes(settings.gateway)];
  const actor = actorName();
  const credentials = createCredentials({ db: store.db, box, clock, scopes, actor });
  const webhooks = createWebhookAdmin(installation, settings, actor);
  const forwardEvents = createForwardEvents(installation, settings, webhooks);
  const deps = { installation, settings, actor, credentials, webhooks };
  // `listen` runs for days, also on machines that sleep. Its end is not awaited, since a silent database would then keep
  // a finished command alive.
  const ended = new AbortController();
  void supervise([installation.clockService], ended.signal, installation.log);
  return {
    ...createDirectoryAdmin(deps),
    ...createRestaurantAdmin(deps),
    ...createMenuAdmin(deps),
    sandbox: createSandboxAdmin(deps),
    ...createAuditAdmin(deps),
    ...createRequestsAdmin(deps),
    ...createWebhooksAdmin(deps),
    createKey: credentials.createApiKey,
    revokeKey: credentials.revokeApiKey,
    createClient: credentials.createClient,
    disableClient: credentials.disableClient,
    signals: createSignalAdmin({ db: store.db, box, clock, actor }),
    /** All other changes of credentials (src/gateway/credentials). */
    credentials,
    ...usageAdmin({ db: store.db, clock }),
    revokeToken: (token: string) => revokePresentedToken({ db: store.db, box, clock }, token, actor),
    rotateSigningKey: () => rotateSigningKey({ db: store.db, box, clock, actor }),
    replaceSigningKeys: () => replaceSigningKeys({ db: store.db, box, clock, actor }),
    /** Base64. VALIDATION_ERROR when no upstream of this name gets assertions. */
    upstreamKey: (name: string): string => {
      const { routes, upstreams } = readRouteTable(routesFileOf(settings.gateway));
      if (!routes.some(({ upstream }) => upstream === name) || !getsAssertions(upstreams[name]?.identity))
        throw new Fault('VALIDATION_ERROR', `The route table has no upstream ${name} with identity assertion`);
      return box.derive(assertionKeyLabel(name)).toString('base64');
    },
    users: createUsersAdmin(deps),
    forwardEvents,
    close: async (): Promise<void> => {
      ended.abort();
      await webhooks.close();
      await forwardEvents.close();
      await store.close();
    },
  };
};

const getsAssertions = (identity: unknown): boolean => {
  const kind = typeof identity === 'object' && identity !== null && 'kind' in identity ? identity.kind : identity;
  return kind === undefined || kind === 'assertion';
};

/** Limits of credentials, and what they used. Counts and limits only, so a reading is not in the audit. */
const usageAdmin = (deps: Parameters<typeof reportUsage>[0]) => ({
  readBounds: (kind: 'client' | 'key', id: string) => readBounds(deps.db, kind, id),
  reportUsage: (asked: Parameters<typeof reportUsage>[1]) => reportUsage(deps, asked),
  reportCallerUsage: (asked: Parameters<typeof reportCallerUsage>[1]) => reportCallerUsage(deps, asked),
});

/** Opens the installation for one command; the caller closes it. */
export const openAdmin = async (settings: Settings, log: Logger): Promise<Admin> => {
  const installation = await openInstallation(settings, log, { exclusive: false });
  try {
    return createAdmin(installation, settings);
  } catch (error) {
    // An open store keeps the command alive and its data folder in use, for ever.
    await installation.store.close();
    throw error;
  }
};

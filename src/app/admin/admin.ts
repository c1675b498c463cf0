/**
 * What the command line may do to an installation, running or not: each function is one transaction over the features
 * that it touches, so that a restaurant never exists for the core and not for the gateway.
 */
import { userInfo } from 'node:os';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { loadScopeNames, readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import {
  appendChange,
  createCredentials,
  type ExportRequest,
  exportAudit,
  reportDryRuns,
  reportUnusedScopes,
  revokePresentedToken,
  revokeTraced,
  rotateSigningKey,
  searchAudit,
  traceCredential,
  verifyAgainst,
  verifyAudit,
} from '#src/gateway/index.ts';
import {
  createGenerator,
  createLocation,
  findRestaurant,
  generatorView,
  importMenu,
  type LocationAddress,
  type LocationTerms,
  locationSettings,
  MenuRefused,
  type MenuToImport,
  type NewGenerator,
  type NewRestaurant,
  type RestaurantSettings,
  setLocation,
  setRestaurant,
} from '#src/ordering/index.ts';
import { enabledKinds, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { createEndpoint, type EndpointsDeps, rotateWebhookKey } from '#src/webhooks/index.ts';
import { type Installation, openInstallation } from '../installation/installation.ts';
import { allMigrations } from '../installation/migrations.ts';
import type { Settings } from '../settings/config.ts';
import { createForwardEvents } from '../webhooks/forward-events.ts';
import { createWebhookAdmin, type Payload } from '../webhooks/webhook-admin.ts';
import { eventKinds } from '../webhooks/wire-engine.ts';
import { createWholeRestaurant, tenantFacts } from './create-restaurant.ts';
import { usersOf } from './staff.ts';

/** What an export may be written as, and how much a search shows at once. */
export { exportFormats, searchLimitMax } from '#src/gateway/index.ts';
export type { LocationTerms } from '#src/ordering/index.ts';
export { roles as roleNames } from '#src/staff/index.ts';

export { eventKinds } from '../webhooks/wire-engine.ts';

type ImportOutcome = Awaited<ReturnType<typeof importMenu>>;

/** How an import ended, in the words of the interface. */
export type ImportedMenu = Pick<ImportOutcome, 'state' | 'version' | 'counts' | 'warnings' | 'errors'> & {
  restuid: string;
  base_version: number;
};

export type Admin = ReturnType<typeof createAdmin>;

export const createAdmin = (installation: Installation, settings: Settings) => {
  const { store, box, clock } = installation;
  const scopes = loadScopeNames(routesFileOf(settings.gateway));
  const actor = `cli:${userName()}`;
  const credentials = createCredentials({ db: store.db, box, clock, scopes, actor });
  const webhooks = createWebhookAdmin(installation, settings, actor);
  const users = usersOf(installation, settings);
  const forwardEvents = createForwardEvents(installation, settings, webhooks.call);
  /** Who set what of a restaurant, in the transaction that sets it. */
  const note = (tx: Kysely<unknown>, restuid: string, details: Readonly<Record<string, unknown>>): Promise<void> =>
    appendChange(tx, box, clock.now(), {
      ...{ action: 'tenant.changed', actor, tenants: [restuid], details: JSON.stringify(details) },
    });
  return {
    createRestaurant: async (restaurant: NewRestaurant): Promise<{ restuid: string }> => ({
      restuid: await createWholeRestaurant(installation, actor, restaurant),
    }),
    /** Returns all settings as they are then, in the words of the interface. */
    setRestaurant: (restuid: string, { apiEnabled, ...settings }: RestaurantSettings & { apiEnabled?: boolean }) =>
      inTransaction(store.db, async (tx) => {
        const now = await setRestaurant(tx, restuid, settings);
        if (now === undefined) throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
        await note(tx, restuid, { operation: 'restaurant/set', ...settings });
        if (apiEnabled !== undefined) await credentials.setTenantApiEnabled(restuid, apiEnabled, tx);
        if (settings.timeZone !== undefined) await credentials.describeTenant(restuid, tenantFacts(now), tx);
        return {
          restuid,
          api_enabled: await credentials.isTenantApiEnabled(restuid, tx),
          time_zone: now.timeZone,
          api_time_zone: now.apiTimeZone,
          confirmation_required: now.confirmationRequired,
          countdown_minutes: now.countdownMinutes,
          points_per_unit: now.pointsPerUnit,
          point_value: now.pointValue,
          signup_points: now.signupPoints / 100,
        };
      }),
    /** Returns the location in the words and units that it is made with. */
    createLocation: (restuid: string, terms: LocationTerms & { name: string }) =>
      inTransaction(store.db, async (tx) => {
        const made = shown(restuid, await createLocation(tx, restuid, terms, clock.now()));
        await note(tx, restuid, { operation: 'location/create', ...terms });
        return made;
      }),
    setLocation: (restuid: string, address: LocationAddress, terms: LocationTerms) =>
      inTransaction(store.db, async (tx) => {
        const now = shown(restuid, await setLocation(tx, restuid, address, terms));
        await note(tx, restuid, { operation: 'location/set', location: address, ...terms });
        return now;
      }),
    /** Returns the generator in the words of the interface. */
    createGenerator: async (restuid: string, generator: NewGenerator): Promise<Record<string, unknown>> => {
      await assertRestaurant(store.db, restuid);
      const made = await inTransaction(store.db, async (tx) => {
        await note(tx, restuid, { operation: 'generator/create', ...generator });
        return createGenerator(tx, restuid, generator, clock.now());
      });
      return { restuid, ...generatorView(made) };
    },
    /** What was wrong or odd is told, not thrown. A dry run leaves nothing behind. */
    importMenu: async (menu: Omit<MenuToImport, 'now'>): Promise<ImportedMenu> => {
      await assertRestaurant(store.db, menu.restuid);
      if (menu.owner !== null) await credentials.showClient(menu.owner);
      const rehearsal = new Error('nothing of a dry run is kept');
      let outcome: ImportOutcome | undefined;
      try {
        await inTransaction(store.db, async (tx) => {
          outcome = await importMenu(tx, { ...menu, now: clock.now() });
          if (menu.dryRun === true) throw rehearsal;
          const { state, version } = outcome;
          await note(tx, menu.restuid, { operation: 'menu/import', state, version });
        });
      } catch (error) {
        if (error instanceof MenuRefused) outcome = error.outcome;
        else if (error !== rehearsal) throw error;
      }
      if (outcome === undefined) throw new Error('an import had no outcome');
      const { state, version, baseVersion, counts, warnings, errors } = outcome;
      return { restuid: menu.restuid, state, version, base_version: baseVersion, counts, warnings, errors };
    },
    createKey: credentials.createApiKey,
    revokeKey: credentials.revokeApiKey,
    createClient: credentials.createClient,
    disableClient: credentials.disableClient,
    /** Everything else that may be done to credentials, see gateway/credentials. */
    credentials,
    revokeToken: (token: string) => revokePresentedToken({ db: store.db, box, clock }, token, actor),
    rotateSigningKey: () => rotateSigningKey({ db: store.db, box, clock, actor }),
    createEndpoint: async (endpoint: { tenant: string; url: string; kinds?: readonly string[] }) => {
      await assertRestaurant(store.db, endpoint.tenant);
      return createEndpoint(
        endpointsDeps(installation, settings),
        { ...endpoint, owner: { kind: 'panel', id: 'cli' } },
        // Path and query of an address often hold its secret.
        (tx, { tenant, uid, url, kinds }) =>
          webhooks.note(tx, tenant, { operation: 'webhook/create', uid, origin: new URL(url).origin, kinds }),
      );
    },
    /** Returns what is on afterwards. */
    setNotifications: async (restuid: string, kinds: Record<string, boolean>): Promise<Record<string, boolean>> => {
      await assertRestaurant(store.db, restuid);
      await inTransaction(store.db, async (tx) => {
        await setKinds(tx, restuid, kinds);
        await webhooks.note(tx, restuid, { operation: 'notifications/set', kinds });
      });
      const now = await enabledKinds(store.db, restuid);
      return Object.fromEntries(eventKinds.map((kind) => [kind, now[kind] ?? false]));
    },
    /** Who would be refused by the scopes that routes try out; `days`: seen within so many. */
    reportDryRuns: (options: { days: number }) =>
      reportDryRuns({ db: store.db, clock, table: readRouteTable(routesFileOf(settings.gateway)) }, options),
    verifyAudit: (onProgress: (events: number) => void) => verifyAudit({ db: store.db, box }, onProgress),
    /** `lines`: of an export. Fault VALIDATION_ERROR when they are none. */
    verifyAgainst: (lines: AsyncIterable<string>) => verifyAgainst({ db: store.db, box }, lines),
    /** These note in the audit who read it, before they read. */
    searchAudit: (search: Parameters<typeof searchAudit>[1]) =>
      searchAudit({ db: store.db, box, clock, actor }, search),
    exportAudit: (request: ExportRequest) => exportAudit({ db: store.db, box, clock, actor }, request),
    reportUnusedScopes: (options: { days: number }) =>
      reportUnusedScopes(
        { db: store.db, box, clock, actor, table: readRouteTable(routesFileOf(settings.gateway)) },
        options,
      ),
    /** Reading the audit is part of the audit, and stands in it before anything is shown. */
    traceCredential: async (value: string) => {
      const traced = await traceCredential({ db: store.db, box }, value);
      const { fingerprint, client_id, credential_id } = traced;
      await inTransaction(store.db, (tx) =>
        appendChange(tx, box, clock.now(), { action: 'audit.read', actor, fingerprint, client_id, credential_id }),
      );
      return traced;
    },
    revokeTraced: (value: string) => revokeTraced({ db: store.db, box, clock, actor }, value),
    rotateWebhookKey: () =>
      inTransaction(store.db, async (tx) => {
        const made = await rotateWebhookKey(tx, { box, clock });
        const details = JSON.stringify({ operation: 'webhook/rotate-signing-key', kid: made.kid });
        await appendChange(tx, box, clock.now(), { action: 'webhook.changed', actor, details });
        return made;
      }),
    /** An operation of the webhook engine on a restaurant, in the words of the interface. */
    callWebhook: async (restuid: string, path: string, params: Payload): Promise<Payload> => {
      await assertRestaurant(store.db, restuid);
      return webhooks.call(restuid, path, params);
    },
    /** Staff accounts of the panel. */
    users: {
      create: async (user: { email: string; role: string; restaurants: readonly string[] }) => {
        for (const restuid of user.restaurants) await assertRestaurant(store.db, restuid);
        return users.create(actor, user);
      },
      set: async (email: string, given: { role?: string; restaurants?: readonly string[] }) => {
        for (const restuid of given.restaurants ?? []) await assertRestaurant(store.db, restuid);
        return users.set(actor, email, given);
      },
      makeLink: (email: string) => users.makeLink(actor, email),
      disable: (email: string) => users.disable(actor, email),
      enable: (email: string) => users.enable(actor, email),
      removeTotp: (email: string) => users.removeTotp(actor, email),
      list: users.list,
    },
    forwardEvents,
    countMigrations: async (): Promise<number> => allMigrations.length,
    close: async (): Promise<void> => {
      await webhooks.close();
      await forwardEvents.close();
      await store.close();
    },
  };
};

/** Who sits at the command line, for the history; a container may have no name for its user. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
};

const shown = (restuid: string, location: Parameters<typeof locationSettings>[0] | undefined) => {
  if (location === undefined) throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
  return { restuid, ...locationSettings(location) };
};

const assertRestaurant = async (db: Kysely<unknown>, restuid: string): Promise<void> => {
  if ((await findRestaurant(db, restuid)) === undefined)
    throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
};

/** `allowedOrigins`: receivers of our own. */
export const endpointsDeps = (
  { store, box, clock }: Installation,
  settings: Settings,
  allowedOrigins: readonly string[] = [],
): EndpointsDeps => ({
  db: store.db,
  box,
  clock,
  rules: { allowPrivate: settings.webhooks.allow_private_targets, allowedOrigins },
  kinds: eventKinds,
});

/** Opens the installation for one command; the caller closes it. */
export const openAdmin = async (settings: Settings, log: Logger): Promise<Admin> =>
  createAdmin(await openInstallation(settings, log, { exclusive: false }), settings);

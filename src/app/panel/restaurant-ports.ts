/** Implements the ports of the panel's restaurant pages with the features. */
import { loadScopeNames, routesFileOf } from '#src/gateway/config.ts';
import { type Credentials, createCredentials, createKeyViews, readEpoch } from '#src/gateway/index.ts';
import { findRestaurant, listRestaurants } from '#src/ordering/index.ts';
import type { RestaurantPorts } from '#src/panel/index.ts';
import { pageOf } from './page-cursor.ts';
import type { PortDeps } from './port-deps.ts';
import { createKeyPorts } from './restaurant-keys.ts';
import { createNotificationPorts } from './restaurant-notifications.ts';
import { createWebhookPorts } from './restaurant-webhooks.ts';

export const createRestaurantPorts = (deps: PortDeps): RestaurantPorts => {
  const { installation, settings, origin } = deps;
  const { store, box, clock } = installation;
  const scopes = loadScopeNames(routesFileOf(settings.gateway));
  const credentialsOf = (actor: string): Credentials => createCredentials({ db: store.db, box, clock, scopes, actor });
  const tenants = createKeyViews({ db: store.db, clock });
  return {
    origin,
    list: async ({ limit, ...search }) => {
      const rows = await listRestaurants(store.db, { ...search, limit: limit + 1 });
      const open = new Set(await tenants.listOpenTenants(rows.map(({ uid }) => uid)));
      const listed = rows.map(({ uid, name }) => ({ restuid: uid, name, apiEnabled: open.has(uid) }));
      return pageOf(listed, limit, ({ restuid }) => restuid);
    },
    mark: async () => JSON.stringify((await readEpoch(store.db)).credentials),
    find: async (restuid) => {
      const found = await findRestaurant(store.db, restuid);
      if (found === undefined) return undefined;
      const [open] = await tenants.listOpenTenants([restuid]);
      return { restuid, name: found.name, timeZone: found.timeZone, apiEnabled: open === restuid };
    },
    setApiEnabled: (actor, restuid, enabled) => credentialsOf(actor).setTenantApiEnabled(restuid, enabled),
    keys: createKeyPorts({ installation, credentialsOf }),
    notifications: createNotificationPorts(installation),
    ...createWebhookPorts(deps),
  };
};

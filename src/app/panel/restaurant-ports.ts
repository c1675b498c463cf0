/** The ports of the panel's restaurant pages. */
import { appendChange, type Credentials, createCredentials, readEpoch } from '#src/gateway/index.ts';
import { listRestaurants } from '#src/ordering/index.ts';
import type { RestaurantPorts } from '#src/panel/index.ts';
import { pageOf } from '#src/platform/db/age-pages.ts';
import { enabledKinds, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createWebhookViews } from '#src/webhooks/index.ts';
import { createWebhookChanges } from './change-webhooks.ts';
import { findRestaurants, withAccess } from './find-restaurants.ts';
import type { PortDeps } from './port-deps.ts';
import { createKeyPorts } from './restaurant-keys.ts';

export const createRestaurantPorts = (deps: PortDeps): RestaurantPorts => {
  const { installation, routeTable, origin } = deps;
  const { store, box, clock } = installation;
  // Of the table that is served at that moment, whatever its file holds.
  const credentialsOf = (actor: string): Credentials => {
    const scopes = routeTable().scopes.map(({ name }) => name);
    return createCredentials({ db: store.db, box, clock, scopes, actor });
  };
  const views = createWebhookViews({ db: store.db, clock });
  const { redeliver, redeliverEvents, redeliverSince, ...changes } = createWebhookChanges(deps);
  return {
    origin,
    list: async ({ limit, ...search }) => {
      const rows = await listRestaurants(store.db, { ...search, limit: limit + 1 });
      return pageOf(await withAccess(store, rows), limit, ({ restuid }) => restuid);
    },
    mark: async () => JSON.stringify((await readEpoch(store.db)).credentials),
    find: async (restuid) => (await findRestaurants(store, [restuid]))[0],
    setApiEnabled: (actor, restuid, enabled) => credentialsOf(actor).setTenantApiEnabled(restuid, enabled),
    keys: createKeyPorts({ installation, credentialsOf }),
    notifications: {
      read: (restuid) => enabledKinds(store.db, restuid),
      set: (actor, restuid, kind, on) =>
        inTransaction(store.db, async (tx) => {
          await setKinds(tx, restuid, { [kind]: on });
          const details = JSON.stringify({ notifications: { [kind]: on } });
          await appendChange(tx, box, clock.now(), { action: 'tenant.changed', actor, tenants: [restuid], details });
        }),
    },
    endpoints: { list: views.listEndpoints, find: views.findEndpoint, history: views.history, ...changes },
    deliveries: {
      search: views.searchDeliveries,
      count: views.countDeliveries,
      resendable: views.findResendable,
      find: views.findDelivery,
      redeliver,
      redeliverEvents,
      redeliverSince,
      redelivery: views.findRedelivery,
      mark: views.deliveryMark,
    },
  };
};

/** The ports of the panel's support pages. */
import { Fault } from '#src/contract/fault.ts';
import type { RouteTable } from '#src/gateway/config.ts';
import {
  createCredentials,
  newestCall,
  newestClientUse,
  pageClients,
  pageGrants,
  readEpoch,
  reportClientUse,
  shrinkClientScopes,
} from '#src/gateway/index.ts';
import { RestaurantRefused, searchRestaurants } from '#src/ordering/index.ts';
import type { SupportPorts } from '#src/panel/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createWholeRestaurant } from '../admin/create-restaurant.ts';
import { findRestaurants, withAccess } from './find-restaurants.ts';
import type { PortDeps } from './port-deps.ts';
import { underLock } from './under-lock.ts';

const limit = 25;
const useWrittenMs = 15_000;

export const createSupportPorts = ({ installation, routeTable }: PortDeps): SupportPorts => ({
  ...restaurantPorts(installation),
  ...clientPorts(installation, routeTable),
  ...marks(installation),
  get scopes() {
    return routeTable().scopes.map(({ name, description }) => ({
      name,
      description,
      isRead: name.startsWith('read:'),
    }));
  },
});

type Installation = PortDeps['installation'];

const restaurantPorts = (installation: Installation) => {
  const { store } = installation;
  return {
    listRestaurants: async (search, before) => {
      const found = await searchRestaurants(store.db, { search, before, limit: limit + 1 });
      const page = found.slice(0, limit);
      const next = found.length > limit ? (page.at(-1)?.uid ?? null) : null;
      return { restaurants: await withAccess(store, page), next };
    },
    findRestaurant: async (restuid) => (await findRestaurants(store, [restuid]))[0],
    namesOf: (restuids) => findRestaurants(store, restuids),
    createRestaurant: async (actor, restaurant) => {
      try {
        return await createWholeRestaurant(installation, actor, restaurant);
      } catch (error) {
        if (error instanceof RestaurantRefused) throw new Fault('VALIDATION_ERROR', error.message);
        throw error;
      }
    },
  } satisfies Partial<SupportPorts>;
};

const clientPorts = ({ store, box, clock }: Installation, routeTable: () => RouteTable) => {
  const { db } = store;
  const scopesNow = (): string[] => routeTable().scopes.map(({ name }) => name);
  const by = (actor: string) => createCredentials({ db, box, clock, actor, scopes: scopesNow() });
  const show = (reading: typeof db, clientId: string) =>
    createCredentials({ db: reading, box, clock, actor: 'panel', scopes: scopesNow() }).showClient(clientId);
  return {
    listClients: ({ text, restaurant, live }, cursor) =>
      pageClients(db, { search: text, tenant: restaurant, live, cursor, limit }),
    showClient: (clientId) => show(db, clientId),
    addedBy: (clientId, actor) => by('panel').showAddedBy(clientId, actor),
    listGrants: async (clientId, after) => {
      const { tenants, next } = await pageGrants(db, clientId, { after, limit });
      const known = new Map((await findRestaurants(store, tenants)).map((one) => [one.restuid, one]));
      return { restaurants: tenants.flatMap((uid) => known.get(uid) ?? []), next };
    },
    createClient: (actor, client) => by(actor).createClient(client),
    rotateSecret: (actor, clientId, overlapHours) => by(actor).rotateClientSecret(clientId, overlapHours),
    retireSecret: (actor, clientId, secretId, force) => by(actor).retireClientSecret(clientId, secretId, force),
    disableClient: (actor, clientId) => by(actor).disableClient(clientId),
    quarantine: (actor, clientId, reason) => by(actor).quarantine('client', clientId, reason),
    reactivate: (actor, clientId, reason, check) =>
      underLock(db, 'client', clientId, async (tx) => {
        check(await show(tx, clientId));
        await by(actor).reactivate('client', clientId, reason, tx);
      }),
    grant: (actor, clientId, restuids) =>
      inTransaction(db, async (tx) => {
        for (const restuid of restuids) await by(actor).grantTenant(clientId, restuid, tx);
      }),
    withdraw: (actor, clientId, restuid) => by(actor).withdrawTenant(clientId, restuid),
    setScopes: (actor, clientId, wanted, check) =>
      underLock(db, 'client', clientId, async (tx) => {
        check(await show(tx, clientId));
        await by(actor).setClientScopes(clientId, wanted, tx);
      }),
    shrinkScopes: (actor, clientId, unused) =>
      shrinkClientScopes({ db, box, clock, actor, scopes: scopesNow() }, clientId, unused),
    clientUse: (actor, clients, days) =>
      reportClientUse({ db, box, clock, actor, table: routeTable() }, clients, { days }),
  } satisfies Partial<SupportPorts>;
};

const marks = ({ store, clock }: Installation) =>
  ({
    credentialsMark: async () => JSON.stringify((await readEpoch(store.db)).credentials),
    callsMark: async (clientId) => {
      const newest = await (clientId === undefined ? newestClientUse(store.db) : newestCall(store.db, clientId));
      return String(newest?.getTime());
    },
    useMark: async () => String(Math.floor(clock.now().getTime() / useWrittenMs)),
  }) satisfies Partial<SupportPorts>;

/** Implements the ports of the panel's support pages with the features. */
import { Fault } from '#src/contract/fault.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import {
  createCredentials,
  listTenantStates,
  newestCall,
  newestClientUse,
  pageClients,
  pageGrants,
  readEpoch,
  reportClientUse,
  type ShownClient as ShownGatewayClient,
  shrinkClientScopes,
} from '#src/gateway/index.ts';
import { type FoundRestaurant, RestaurantRefused, restaurantsByUid, searchRestaurants } from '#src/ordering/index.ts';
import type { SupportPorts } from '#src/panel/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createWholeRestaurant } from '../admin/create-restaurant.ts';
import type { PortDeps } from './port-deps.ts';

const pageSize = 25;
const useWrittenMs = 15_000;

type Table = ReturnType<typeof readRouteTable>;

export const createSupportPorts = (deps: PortDeps): SupportPorts => {
  const table = readRouteTable(routesFileOf(deps.settings.gateway));
  const { store, clock } = deps.installation;
  return {
    ...restaurantPorts(deps),
    ...clientLists(deps),
    ...clientChanges(deps, table),
    ...scopePorts(deps, table),
    credentialsMark: async () => JSON.stringify((await readEpoch(store.db)).credentials),
    callsMark: async (clientId) =>
      String(
        (clientId === undefined ? await newestClientUse(store.db) : await newestCall(store.db, clientId))?.getTime(),
      ),
    useMark: async () => String(Math.floor(clock.now().getTime() / useWrittenMs)),
  };
};

const restaurantPorts = ({ installation }: PortDeps) => {
  const { db } = installation.store;
  return {
    listRestaurants: async (search, cursor) => {
      const found = await searchRestaurants(db, { search, before: cursor, limit: pageSize + 1 });
      const page = found.slice(0, pageSize);
      return {
        restaurants: await withStates(installation, page),
        next: found.length > pageSize ? (page.at(-1)?.uid ?? null) : null,
      };
    },
    findRestaurant: async (restuid) => (await withStates(installation, await restaurantsByUid(db, [restuid])))[0],
    namesOf: async (restuids) => withStates(installation, await restaurantsByUid(db, restuids)),
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

const withStates = async ({ store }: PortDeps['installation'], restaurants: readonly FoundRestaurant[]) => {
  const states = await listTenantStates(
    store.db,
    restaurants.map(({ uid }) => uid),
  );
  const enabled = new Map(states.map(({ id, apiEnabled, gone }) => [id, apiEnabled && !gone]));
  return restaurants.map(({ uid, ...rest }) => ({ restuid: uid, ...rest, apiEnabled: enabled.get(uid) ?? false }));
};

const clientLists = (deps: PortDeps) => {
  const { installation } = deps;
  const { db } = installation.store;
  return {
    listClients: async ({ text, restaurant, live }, cursor) => {
      const { clients, next } = await pageClients(db, {
        search: text,
        tenant: restaurant,
        live,
        cursor,
        limit: pageSize,
      });
      return {
        clients: clients.map(({ tenantsCount, ...client }) => ({ ...client, restaurants: tenantsCount })),
        next,
      };
    },
    showClient: async (clientId) => {
      const { secrets, keys, ...client } = await credentialsFor(deps, 'panel').showClient(clientId);
      return {
        ...clientFacts(client),
        secrets,
        keys,
      };
    },
    listGrants: async (clientId, cursor) => {
      const { tenants, next } = await pageGrants(db, clientId, { after: cursor, limit: pageSize });
      const known = new Map((await restaurantsByUid(db, tenants)).map((one) => [one.uid, one]));
      const page = tenants.flatMap((uid) => known.get(uid) ?? []);
      return { restaurants: await withStates(installation, page), next };
    },
  } satisfies Partial<SupportPorts>;
};

const clientFacts = (client: ShownGatewayClient) => ({
  clientId: client.clientId,
  name: client.name,
  // A client has no expiry.
  state: client.state === 'expired' ? ('revoked' as const) : client.state,
  reason: client.reason,
  actor: client.actor,
  changed: client.changed,
  created: client.created,
  scopes: client.scopes,
  mayUseTokens: client.mayUseTokens,
  mayIntrospect: client.mayIntrospect,
  dpopRequired: client.dpop === 'required',
});

const clientChanges = (deps: PortDeps, table: Table) => {
  const { store } = deps.installation;
  const by = (actor: string) => credentialsFor(deps, actor, table);
  return {
    createClient: async (actor, { name, restaurants, scopes, mayIntrospect, dpopRequired }) => {
      const { client_id, client_secret } = await by(actor).createClient({
        name,
        tenants: restaurants,
        mayIntrospect,
        dpopRequired,
        ...(scopes === null ? undefined : { scopes }),
      });
      return { clientId: client_id, secret: client_secret };
    },
    rotateSecret: async (actor, clientId, overlapHours) =>
      (await by(actor).rotateClientSecret(clientId, overlapHours)).client_secret,
    retireSecret: (actor, clientId, secretId, force) => by(actor).retireClientSecret(clientId, secretId, force),
    disableClient: (actor, clientId) => by(actor).disableClient(clientId),
    quarantine: (actor, clientId, reason) => by(actor).quarantine('client', clientId, reason),
    reactivate: (actor, clientId, reason) => by(actor).reactivate('client', clientId, reason),
    grant: (actor, clientId, restuids) =>
      inTransaction(store.db, async (tx) => {
        for (const restuid of restuids) await by(actor).grantTenant(clientId, restuid, tx);
      }),
    withdraw: (actor, clientId, restuid) => by(actor).withdrawTenant(clientId, restuid),
    setScopes: (actor, clientId, scopes) => by(actor).setClientScopes(clientId, scopes),
  } satisfies Partial<SupportPorts>;
};

const scopePorts = (deps: PortDeps, table: Table) => {
  const { store, box, clock } = deps.installation;
  const names = table.scopes.map(({ name }) => name);
  return {
    scopes: table.scopes.map(({ name, description }) => ({ name, description, isRead: name.startsWith('read:') })),
    shrinkScopes: (actor, clientId, keep) =>
      shrinkClientScopes({ db: store.db, box, clock, actor, scopes: names }, clientId, keep),
    clientUse: (actor, clients, days) => reportClientUse({ db: store.db, box, clock, actor, table }, clients, { days }),
  } satisfies Partial<SupportPorts>;
};

const credentialsFor = ({ installation: { store, box, clock } }: PortDeps, actor: string, table?: Table) =>
  createCredentials({
    db: store.db,
    box,
    clock,
    actor,
    ...(table && { scopes: table.scopes.map(({ name }) => name) }),
  });

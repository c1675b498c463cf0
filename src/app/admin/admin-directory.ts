/** Which restaurants there are, by id or name, and in which cell each one is. */
import { Fault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { findClientsByName, findKeysByName } from '#src/gateway/index.ts';
import { findRestaurant, findRestaurantsByName, searchRestaurants } from '#src/ordering/index.ts';
import { createWebhookViews } from '#src/webhooks/index.ts';
import type { AdminDeps } from './admin-deps.ts';
import { settingsOf } from './admin-restaurants.ts';

/** Candidates that are read for one name, and endpoints of a restaurant among which it is looked for. */
const namedMax = 200;

/** What a name may mean. `about` tells it from the others of the same name. */
export type Candidate = { id: string; about: string };

const isSameName = (name: string, text: string): boolean => name.toLowerCase() === text.trim().toLowerCase();

export const createDirectoryAdmin = ({ installation: { store, clock }, settings, credentials }: AdminDeps) => ({
  /** Newest first. `search`: the start of an id, or starts of words of the name. `next_before`: null on the last page. */
  listRestaurants: async (asked: { search: string; before: string | undefined; limit: number }) => {
    const found = await searchRestaurants(store.db, { ...asked, limit: asked.limit + 1 });
    const restaurants = found.slice(0, asked.limit).map(({ uid, name, timeZone, currency }) => ({
      restuid: uid,
      name,
      sandbox: isSandboxId(uid),
      time_zone: timeZone,
      currency,
    }));
    return { restaurants, next_before: found.length > asked.limit ? (restaurants.at(-1)?.restuid ?? null) : null };
  },
  /** All settings, with the member names of the interface. Throws NOT_FOUND. */
  showRestaurant: async (restuid: string) => {
    const found = await findRestaurant(store.db, restuid);
    if (found === undefined) throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
    const { name, currency, language } = found;
    const api_enabled = await credentials.isTenantApiEnabled(restuid);
    const cell = await credentials.showTenantCell(restuid);
    const sandbox = isSandboxId(restuid);
    return { restuid, name, sandbox, currency, language, api_enabled, ...settingsOf(found), cell };
  },
  /** What a text may mean: the restaurant with that id, or those with this name, ignoring case. */
  restaurantsNamed: async (text: string): Promise<Candidate[]> => {
    if ((await findRestaurant(store.db, text)) !== undefined) return [{ id: text, about: text }];
    const found = await findRestaurantsByName(store.db, { name: text.trim(), limit: namedMax });
    return found.map(({ uid, name }) => ({ id: uid, about: name }));
  },
  /** The same for clients. */
  clientsNamed: async (text: string): Promise<Candidate[]> => {
    const found = await findClientsByName(store.db, { text: text.trim(), limit: namedMax });
    return found.map(({ clientId, name }) => ({ id: clientId, about: name }));
  },
  /** API keys of this name, of one restaurant or of all: those in use, or else those that have ended. */
  keysNamed: async (text: string, restuid: string | undefined): Promise<Candidate[]> => {
    const query = { name: text.trim(), tenant: restuid, now: clock.now(), limit: namedMax };
    const found = await findKeysByName(store.db, query);
    return found.map(({ id, tenant }) => ({ id, about: `of ${tenant}` }));
  },
  /** Endpoints of a restaurant with this address or description. */
  endpointsNamed: async (restuid: string, text: string): Promise<Candidate[]> => {
    const page = { after: undefined, limit: namedMax };
    const { items } = await createWebhookViews({ db: store.db, clock }).listEndpoints(restuid, page);
    const named = items.filter(({ url, description }) => url === text.trim() || isSameName(description ?? '', text));
    // Path and query of an address often hold a secret of the receiver.
    return named.map(({ uid, url, description }) => ({ id: uid, about: description ?? new URL(url).origin }));
  },
  /** The cell that has the restaurant in the directory. */
  showCell: async (restuid: string): Promise<{ restuid: string; cell: string }> => ({
    restuid,
    cell: await credentials.showTenantCell(restuid),
  }),
  /** Gateways forward requests of the restaurant to this cell from now on; its rows are not moved. `cell`: one of the route table. */
  setCell: async (restuid: string, cell: string): Promise<{ restuid: string; cell: string }> => {
    const { upstreams } = readRouteTable(routesFileOf(settings.gateway));
    const known = [...new Set(Object.values(upstreams).flatMap(({ cells = {} }) => Object.keys(cells)))].sort();
    if (!known.includes(cell))
      throw new Fault(
        'VALIDATION_ERROR',
        known.length === 0
          ? 'No upstream of the route table has cells'
          : `The route table has no cell ${cell}; it has ${known.join(', ')}`,
      );
    await credentials.setTenantCell(restuid, cell);
    return { restuid, cell };
  },
});

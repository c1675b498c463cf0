/** Objects whose name, email or phone fits a text, in groups. Each group asks for a bounded number of rows along an index. */

import { pathOfCustomer } from '../ordering/paths.ts';
import type { View } from '../page/page.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { searchHref } from '../security/audit-filter.ts';
import { clientPath } from '../support/client-table.ts';
import type { Texts } from '../texts/en/en.ts';
import { kindOfId } from './search-ids.ts';
import { callersOfRequest, pathOfCall } from './search-target.ts';

/** `more`: there are others. */
export type FoundGroup = {
  name: keyof Texts['overview']['search']['groups'];
  items: readonly { path: string; name: string; id: string }[];
  more: boolean;
};

const groupMax = 10;
/** Restaurants whose customers are searched. */
const restaurantsMax = 20;
const startMin = 2;

const groupOf = (name: FoundGroup['name'], items: FoundGroup['items'], more = false): FoundGroup => ({
  name,
  items: items.slice(0, groupMax),
  more: more || items.length > groupMax,
});

/** Groups without items are left out. */
export const findGroups = async (view: View, text: string): Promise<readonly FoundGroup[]> => {
  const found = [
    await restaurants(view, text),
    await clients(view, text),
    await customers(view, text),
    await users(view, text),
    await requests(view, text),
  ];
  return found.filter((group) => group !== undefined && group.items.length > 0) as FoundGroup[];
};

const restaurants = async ({ user, ports }: View, text: string): Promise<FoundGroup> => {
  if (user.role === 'owner') {
    const among = user.restaurants;
    const { items, next } = await ports.restaurant.list({ among, text, after: undefined, limit: groupMax });
    const shown = items.map(({ restuid, name }) => ({ path: pathOfRestaurant(restuid), name, id: restuid }));
    return groupOf('restaurants', shown, next !== undefined);
  }
  const { restaurants: found, next } = await ports.support.listRestaurants(text, undefined);
  const pathOf = (restaurant: string): string =>
    user.role === 'security' ? searchHref({ restaurant }) : pathOfRestaurant(restaurant);
  const items = found.map(({ restuid, name }) => ({ path: pathOf(restuid), name, id: restuid }));
  return groupOf('restaurants', items, next !== null);
};

const clients = async ({ user, ports }: View, text: string): Promise<FoundGroup | undefined> => {
  if (user.role === 'owner') return undefined;
  const { clients: found, next } = await ports.support.listClients({ text }, undefined);
  const pathOf = (client: string): string => (user.role === 'security' ? searchHref({ client }) : clientPath(client));
  const items = found.map(({ clientId, name }) => ({ path: pathOf(clientId), name, id: clientId }));
  return groupOf('clients', items, next !== null);
};

/** Of an owner's restaurants. Indexes of customers begin with the restaurant, so other roles search inside its pages. */
const customers = async ({ user, ports }: View, text: string): Promise<FoundGroup | undefined> => {
  if (user.role !== 'owner' || text.length < startMin) return undefined;
  const found: FoundGroup['items'][number][] = [];
  for (const restuid of user.restaurants.slice(0, restaurantsMax)) {
    if (found.length > groupMax) break;
    const search = { start: text, after: undefined, limit: groupMax + 1 };
    for (const { uid, firstName, lastName, email, phone } of (await ports.ordering.customers(restuid, search)).items) {
      const name = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
      found.push({ path: pathOfCustomer(restuid, uid), name: name || (email ?? phone ?? uid), id: uid });
    }
  }
  return groupOf('customers', found);
};

const users = async ({ user, ports }: View, text: string): Promise<FoundGroup | undefined> => {
  if (user.role !== 'admin') return undefined;
  const found = await ports.overview.usersByStart(text.toLowerCase(), groupMax + 1);
  const items = found.map(({ userId, email }) => ({
    path: `/panel/users/${encodeURIComponent(userId)}`,
    name: email,
    id: userId,
  }));
  return groupOf('users', items);
};

/** An id that several callers used. */
const requests = async (view: View, text: string): Promise<FoundGroup | undefined> => {
  const mayList = view.user.role === 'owner' || view.user.role === 'support';
  if (!mayList || kindOfId(text) !== 'request') return undefined;
  const found = await callersOfRequest(view, text);
  const names = await view.ports.security.namesOf(found.map(({ caller }) => caller));
  const items = found.map((one) => ({
    path: pathOfCall(one, text),
    name: names.get(one.caller) ?? one.caller,
    id: one.caller,
  }));
  return groupOf('requests', items);
};

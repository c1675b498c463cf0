/** Objects whose name, email or phone fits a text, in groups. Each group asks for a bounded number of rows along an index. */

import { pathOfCustomer } from '../ordering/paths.ts';
import type { View } from '../page/page.ts';
import { keyRequestsPath } from '../restaurant/key-request-pages.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { searchHref } from '../security/audit-filter.ts';
import { clientPath } from '../support/client-table.ts';
import type { Texts } from '../texts/en/en.ts';
import { pathOfEndpoint } from '../webhooks/endpoint-parts.ts';
import { kindOfId } from './search-ids.ts';
import { callersOfRequest, pathOfCall } from './search-target.ts';

/** `more`: there are others. */
export type FoundGroup = {
  name: keyof Texts['overview']['search']['groups'];
  items: readonly { path: string; name: string; id: string }[];
  more: boolean;
};

const groupMax = 10;
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
    await keys(view, text),
    await endpoints(view, text),
    await customers(view, text),
    await users(view, text),
    await contacts(view, text),
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

/** An owner's keys by a part of the name; the index of all keys finds a whole name only. */
const keys = async ({ user, ports }: View, text: string): Promise<FoundGroup> => {
  const among = user.role === 'owner' ? user.restaurants : undefined;
  const found = await ports.overview.keysByName(text, among, groupMax + 1);
  const pathOf =
    user.role === 'security' ? (_: string, credential: string) => searchHref({ credential }) : keyRequestsPath;
  const items = found.map(({ restuid, keyId, name }) => ({ path: pathOf(restuid, keyId), name, id: keyId }));
  return groupOf('keys', items);
};

/** An owner's endpoints by a part of the URL; the index of all endpoints finds the beginning only, as of a host. */
const endpoints = async ({ user, ports }: View, text: string): Promise<FoundGroup | undefined> => {
  const among = user.role === 'owner' ? user.restaurants : undefined;
  if (user.role === 'security' || (among === undefined && text.length < startMin)) return undefined;
  const found = await ports.overview.endpointsByUrl(text, among, groupMax + 1);
  return groupOf(
    'endpoints',
    found.map(({ restuid, uid, url }) => ({ path: pathOfEndpoint(restuid, uid), name: url, id: uid })),
  );
};

/** Indexes of customers begin with the restaurant: other roles than an owner find them by a whole email or phone only. */
const customers = async ({ user, ports }: View, text: string): Promise<FoundGroup | undefined> => {
  const among = user.role === 'owner' ? user.restaurants : undefined;
  if (user.role === 'security' || text.length < startMin || (among === undefined && !isContact(text))) return undefined;
  const found = await ports.overview.customers(text, among, groupMax + 1);
  const items = found.map(({ restuid, uid, firstName, lastName, email, phone }) => {
    const name = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
    return { path: pathOfCustomer(restuid, uid), name: name || (email ?? phone ?? uid), id: uid };
  });
  return groupOf('customers', items);
};

/** A whole email, or a phone of at least six digits. */
const isContact = (text: string): boolean =>
  /^[^\s@]+@[^\s@]+$/.test(text) || (/^[0-9\s()+./-]+$/.test(text) && text.replaceAll(/[^0-9]/g, '').length >= 6);

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

/** By the beginning of the email, which must have its @, so that few accounts of others are read to leave them out. */
const contacts = async ({ user, ports }: View, text: string): Promise<FoundGroup | undefined> => {
  if (user.role !== 'support' || !text.includes('@')) return undefined;
  const found = await ports.overview.usersByStart(text.toLowerCase(), groupMax + 1);
  const accounts = await Promise.all(found.map(({ userId }) => ports.staff.users.find(userId)));
  return groupOf(
    'contacts',
    accounts.flatMap((account) => {
      const [client] = account?.role === 'contact' ? account.clients : [];
      if (account === undefined || client === undefined) return [];
      return [{ path: `${clientPath(client)}/contacts`, name: account.email, id: account.userId }];
    }),
  );
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

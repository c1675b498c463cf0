/** The page of an exact id that the viewer may open. An id of another restaurant gives the same as one that does not exist. */

import { pathOfCustomer, pathOfOrder } from '../ordering/paths.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { LocatedKind, RequestCaller } from '../ports/overview.ts';
import { keyRequestsPath } from '../restaurant/key-request-pages.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { searchHref } from '../security/audit-filter.ts';
import { clientPath } from '../support/client-table.ts';
import { pathOfDeliveries } from '../webhooks/delivery-filter.ts';
import { pathOfEndpoint } from '../webhooks/endpoint-parts.ts';
import { kindOfId, mayBeRestaurant } from './search-ids.ts';

/** Undefined searches every restaurant. */
const amongOf = ({ user }: View): readonly string[] | undefined =>
  user.role === 'owner' ? user.restaurants : undefined;

export const pageOfId = async (view: View, id: string): Promise<string | undefined> => {
  const kind = kindOfId(id);
  switch (kind) {
    case undefined:
      return mayBeRestaurant(id) ? pageOfRestaurant(view, id) : undefined;
    case 'client':
    case 'secret':
      return pageOfClient(view, id);
    case 'request':
      return pageOfRequest(view, id);
    case 'user':
      return view.user.role === 'admin' && (await view.ports.staff.users.find(id)) !== undefined
        ? `/panel/users/${encodeURIComponent(id)}`
        : undefined;
    default:
      return pageOfLocated(view, kind, id);
  }
};

const pageOfRestaurant = async ({ user, ports }: View, id: string): Promise<string | undefined> => {
  if (user.role === 'owner') return user.restaurants.includes(id) ? pathOfRestaurant(id) : undefined;
  if ((await ports.restaurant.find(id)) === undefined) return undefined;
  return user.role === 'security' ? searchHref({ restaurant: id }) : pathOfRestaurant(id);
};

const pageOfClient = async ({ user, ports }: View, id: string): Promise<string | undefined> => {
  if (user.role === 'owner') return undefined;
  const client = await ports.overview.clientOf(id);
  if (client === undefined) return undefined;
  if (user.role !== 'security') return clientPath(client);
  return searchHref(client === id ? { client } : { credential: id });
};

const pageOfLocated = async (view: View, kind: LocatedKind, id: string): Promise<string | undefined> => {
  const isSecurity = view.user.role === 'security';
  if (isSecurity && kind !== 'key') return undefined;
  const restuid = await view.ports.overview.restaurantOf(kind, id, amongOf(view));
  if (restuid === undefined) return undefined;
  return isSecurity ? searchHref({ credential: id }) : locatedPaths[kind](restuid, id);
};

const locatedPaths: Readonly<Record<LocatedKind, (restuid: string, id: string) => string>> = {
  order: pathOfOrder,
  customer: pathOfCustomer,
  endpoint: pathOfEndpoint,
  delivery: (restuid, id) => pathOfRestaurant(restuid, `/deliveries/${encodeURIComponent(id)}`),
  event: (restuid, id) => pathOfDeliveries(restuid, { id }),
  key: keyRequestsPath,
};

/** The audit has every request; the other roles have the requests of the callers that they may see. */
const pageOfRequest = async (view: View, id: string): Promise<string | undefined> => {
  if (view.user.role === 'admin' || view.user.role === 'security') return searchHref({ requestId: id });
  const [only, ...others] = await callersOfRequest(view, id);
  return only === undefined || others.length > 0 ? undefined : pathOfCall(only, id);
};

export const callersOfRequest = (view: View, id: string): Promise<readonly RequestCaller[]> =>
  view.ports.overview.callersOfRequest(id, amongOf(view));

export const pathOfCall = ({ caller, restuid }: RequestCaller, id: string): string =>
  withQuery(restuid === null ? `${clientPath(caller)}/requests` : keyRequestsPath(restuid, caller), { id });

/** The requests of one API key, with those of the keys that it replaced, and their counts. */
import { notFound, page } from '../page/answer.ts';
import type { Html } from '../page/html.ts';
import type { Page, PageHandler, View } from '../page/page.ts';
import type { Texts } from '../texts/en/en.ts';
import { requestHours, requestList } from '../view/request-list.ts';
import { pathOfRestaurant, restaurantPath, restaurantRoles } from './paths.ts';

const requestsPath = `${restaurantPath}/keys/:key/requests`;

export const keyRequestsPath = (restuid: string, keyId: string): string =>
  pathOfRestaurant(restuid, `/keys/${encodeURIComponent(keyId)}/requests`);

type Names = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
type Show = (view: View, shown: { caller: string; path: string; restaurantNames: Names }) => Promise<Html>;

/** Of the key of the path, when it is one of the restaurant. */
const ofKey =
  (titleOf: (texts: Texts) => (name: string) => string, show: Show): PageHandler =>
  async (view) => {
    const { restaurant = '', key: keyId = '' } = view.params;
    const key = await view.ports.restaurant.keys.find(restaurant, keyId);
    if (key === undefined) return notFound();
    // A request may ask for a restaurant of others, whose name its owner alone knows.
    const restaurantNames: Names = async () => {
      const own = await view.ports.restaurant.find(restaurant);
      return new Map(own === undefined ? [] : [[own.restuid, own.name]]);
    };
    const body = await show(view, { caller: key.id, path: keyRequestsPath(restaurant, key.id), restaurantNames });
    return page({ title: titleOf(view.texts)(key.name), body });
  };

export const keyRequestPages: readonly Page[] = [
  {
    method: 'GET',
    path: requestsPath,
    roles: restaurantRoles,
    handle: ofKey(({ requests }) => requests.title, requestList),
  },
  {
    method: 'GET',
    path: `${requestsPath}/hours`,
    roles: restaurantRoles,
    handle: ofKey(({ requests }) => requests.hoursTitle, requestHours),
  },
];

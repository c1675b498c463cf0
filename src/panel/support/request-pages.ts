/** The requests of one client, and their counts. */
import { type Answer, page, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { askedRestaurant, requestFilter, requestHours, requestList, withRestaurant } from '../view/request-list.ts';
import { resolveNames, restaurantSuggestions, unclearNames } from '../view/subject-names.ts';
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';

const requestsPath = '/clients/:client/requests';

export const requestPages: readonly Page[] = [
  {
    method: 'GET',
    path: requestsPath,
    roles: supportRoles,
    nav: (texts) => texts.requests.nav,
    handle: (view) => list(view),
  },
  {
    method: 'GET',
    path: `${requestsPath}/hours`,
    roles: supportRoles,
    handle: async (view) => {
      const { clientId, name } = await view.ports.support.showClient(view.params.client ?? '');
      const shown = { caller: clientId, path: pathOf(clientId) };
      return page({ title: view.texts.requests.hoursTitle(name), body: await requestHours(view, shown) });
    },
  },
];

const list = async (view: View): Promise<Answer> => {
  const { ports, texts, params } = view;
  const { clientId, name } = await ports.support.showClient(params.client ?? '');
  const path = pathOf(clientId);
  const title = texts.requests.title(name);
  const asked = askedRestaurant(view);
  const { ids, unclear } = await resolveNames(view, asked === undefined ? {} : { restaurant: asked });
  const suggestions = await restaurantSuggestions(view);
  if (unclear.length > 0) {
    const candidates = unclearNames(view, unclear, (choice) => withRestaurant(view, path, choice.restaurant ?? ''));
    return page({ title, status: 422, body: html`${candidates}${requestFilter(view, path, suggestions)}` });
  }
  if (ids.restaurant !== undefined && ids.restaurant !== asked)
    return redirect(withRestaurant(view, path, ids.restaurant));
  const restaurantNames = async (restuids: readonly string[]) =>
    new Map((await ports.support.namesOf(restuids)).map((one) => [one.restuid, one.name]));
  const shown = { caller: clientId, path, restaurantNames, restaurantSuggestions: suggestions };
  return page({ title, body: await requestList(view, shown) });
};

const pathOf = (clientId: string): string => `${clientPath(clientId)}/requests`;

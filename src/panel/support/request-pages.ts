/** The requests of one client, and their counts. */
import { page } from '../page/answer.ts';
import type { Page } from '../page/page.ts';
import { requestHours, requestList } from '../view/request-list.ts';
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';

const requestsPath = '/clients/:client/requests';

export const requestPages: readonly Page[] = [
  {
    method: 'GET',
    path: requestsPath,
    roles: supportRoles,
    nav: (texts) => texts.requests.nav,
    handle: async (view) => {
      const { clientId, name } = await view.ports.support.showClient(view.params.client ?? '');
      const shown = { caller: clientId, path: pathOf(clientId) };
      return page({ title: view.texts.requests.title(name), body: await requestList(view, shown) });
    },
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

const pathOf = (clientId: string): string => `${clientPath(clientId)}/requests`;

/** Topics of the portal. */
import type { Topic } from '../live/topic.ts';
import type { RequestFilter } from '../ports/requests.ts';
import { contactRoles } from './portal-parts.ts';

/** Requests of the contact's client. */
export const ownRequestsTopic = 'own-requests';

/** Its webhook endpoints, their health and their deliveries. */
export const ownDeliveriesTopic = 'own-deliveries';

const anyRequest: RequestFilter = {
  status: undefined,
  route: undefined,
  code: undefined,
  requestId: undefined,
  restaurant: undefined,
  since: undefined,
  until: undefined,
};

export const portalTopics: readonly Topic[] = [
  {
    name: ownRequestsTopic,
    roles: contactRoles,
    about: 'client',
    mark: async ({ requests }, clientId) =>
      (await requests.list(clientId, anyRequest, undefined)).items[0]?.requestId ?? '',
  },
  {
    name: ownDeliveriesTopic,
    roles: contactRoles,
    about: 'client',
    mark: ({ portal }, clientId) => portal.deliveryMark(clientId),
  },
];

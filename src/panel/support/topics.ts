/** What pages of the area "support" may watch for changes. */
import type { Topic } from '../frame/topic.ts';
import { supportRoles } from './roles.ts';

/** Clients, their secrets and grants, and who may be reached at all. */
export const credentialsTopic = 'client-credentials';

export const supportTopics: readonly Topic[] = [
  {
    name: credentialsTopic,
    roles: supportRoles,
    perRestaurant: false,
    channels: ['gateway_credentials'],
    mark: (ports) => ports.support.credentialsMark(),
  },
  // Gateways write what they counted now and then and tell nobody.
  { name: 'client-use', roles: supportRoles, perRestaurant: false, mark: (ports) => ports.support.useMark() },
];

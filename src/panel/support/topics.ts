/** What pages of the area "support" may watch for changes. */
import type { Topic } from '../live/topic.ts';
import { supportRoles } from './roles.ts';

/** Clients, their secrets and grants, and who may be reached at all. */
export const credentialsTopic = 'client-credentials';

/** Calls of the client that the page is about. */
export const callsTopic = 'client-calls';

/** Calls of any client. */
export const allCallsTopic = 'calls-of-clients';

export const supportTopics: readonly Topic[] = [
  {
    name: credentialsTopic,
    roles: supportRoles,
    channels: ['gateway_credentials'],
    mark: (ports) => ports.support.credentialsMark(),
  },
  {
    ...{ name: callsTopic, roles: supportRoles, about: 'client' },
    mark: (ports, clientId) => ports.support.callsMark(clientId),
  },
  { name: allCallsTopic, roles: supportRoles, mark: (ports) => ports.support.callsMark(undefined) },
  // Gateways write what they counted now and then and tell nobody.
  { name: 'client-use', roles: supportRoles, mark: (ports) => ports.support.useMark() },
];

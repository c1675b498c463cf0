/** Topics of the pages of support. */
import type { Topic } from '../live/topic.ts';
import { supportRoles } from './roles.ts';

/** Clients, their secrets and grants, and the API access of restaurants. */
export const credentialsTopic = 'client-credentials';

/** Calls of the client that the page is about. */
export const callsTopic = 'client-calls';

/** Calls of any client. */
export const allCallsTopic = 'calls-of-clients';

/** The use of secrets and keys, as gateways have written it. */
export const useTopic = 'client-use';

export const supportTopics: readonly Topic[] = [
  {
    name: credentialsTopic,
    roles: supportRoles,
    channels: ['gateway_credentials'],
    mark: (ports) => ports.support.credentialsMark(),
  },
  {
    name: callsTopic,
    roles: supportRoles,
    about: 'client',
    mark: (ports, clientId) => ports.support.callsMark(clientId),
  },
  { name: allCallsTopic, roles: supportRoles, mark: (ports) => ports.support.callsMark(undefined) },
  // Polled: gateways write their counts every few seconds and send no notification.
  { name: useTopic, roles: supportRoles, mark: (ports) => ports.support.useMark() },
];

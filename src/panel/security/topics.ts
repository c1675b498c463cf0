/** Topics of the pages of security. */
import type { Topic } from '../live/topic.ts';

/** New events in the audit. */
export const newsTopic = 'security-audit';

export const policyTopic = 'security-policy';

export const securityTopics: readonly Topic[] = [
  {
    ...{ name: policyTopic, roles: ['security', 'admin'] },
    mark: async (ports) => JSON.stringify(await ports.security.listDryRuns({ days: 90, limit: 50 })),
  },
  {
    name: newsTopic,
    roles: ['security', 'admin'],
    mark: (ports) => ports.security.auditMark(),
  },
  {
    name: 'security-credentials',
    roles: ['security', 'admin'],
    channels: ['gateway_credentials'],
    mark: (ports) => ports.security.credentialMark(),
  },
  {
    name: 'security-integrity',
    roles: ['security', 'admin'],
    mark: async (ports) => JSON.stringify(await ports.security.listVerifications(1)),
  },
];

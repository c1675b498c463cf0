/** Topics of the pages of security. */
import type { Topic } from '../live/topic.ts';

/** New events in the audit. */
export const newsTopic = 'security-audit';

/** The report of trial scopes. */
export const policyTopic = 'security-policy';

/** All credentials and their states. */
export const credentialsTopic = 'security-credentials';

/** The verifications of the audit. */
export const integrityTopic = 'security-integrity';

/** The streams of security events. */
export const signalsTopic = 'security-signals';

export const securityTopics: readonly Topic[] = [
  {
    name: policyTopic,
    roles: ['security', 'admin'],
    mark: async (ports) => JSON.stringify(await ports.security.listDryRuns({ days: 90, limit: 50 })),
  },
  {
    name: newsTopic,
    roles: ['security', 'admin'],
    mark: (ports) => ports.security.auditMark(),
  },
  {
    name: credentialsTopic,
    roles: ['security', 'admin'],
    channels: ['gateway_credentials'],
    mark: (ports) => ports.security.credentialMark(),
  },
  {
    name: signalsTopic,
    roles: ['security', 'admin'],
    mark: async (ports) => JSON.stringify(await ports.signals.list()),
  },
  {
    name: integrityTopic,
    roles: ['security', 'admin'],
    mark: async (ports) => JSON.stringify(await ports.security.listVerifications(1)),
  },
];

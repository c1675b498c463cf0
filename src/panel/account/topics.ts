/** The own account, as its page watches it. */
import { roles } from '../frame/page.ts';
import type { Topic } from '../frame/topic.ts';

export const ownTopic = 'own-account';

export const accountTopics: readonly Topic[] = [
  {
    ...{ name: ownTopic, roles, about: 'viewer', channels: ['panel_users'] },
    mark: ({ staff }, userId) => staff.own.mark(userId),
  },
];

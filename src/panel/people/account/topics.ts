/** The topic of the user's own account page. */

import type { Topic } from '../../live/topic.ts';
import { roles } from '../../ports/role.ts';

export const ownTopic = 'own-account';

export const accountTopics: readonly Topic[] = [
  {
    name: ownTopic,
    roles,
    about: 'viewer',
    channels: ['panel_users'],
    mark: ({ staff }, userId) => staff.own.mark(userId),
  },
];

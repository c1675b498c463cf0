/** The topic of the pages about accounts and sessions. */
import type { Topic } from '../live/topic.ts';

export const usersTopics: readonly Topic[] = [
  {
    name: 'users',
    roles: ['admin'],
    channels: ['panel_users'],
    mark: ({ staff }) => staff.users.mark(),
  },
];

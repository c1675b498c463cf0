/** The topic of the pages about accounts and sessions. */
import type { Topic } from '../../live/topic.ts';

/** All accounts and sessions. */
export const usersTopic = 'users';

export const usersTopics: readonly Topic[] = [
  {
    name: usersTopic,
    roles: ['admin'],
    channels: ['panel_users'],
    mark: ({ staff }) => staff.users.mark(),
  },
];

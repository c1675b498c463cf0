/** Accounts and sessions, as the pages about them watch them. */
import { usersChannel } from '../accounts/user-store.ts';
import type { Topic } from '../frame/topic.ts';

export const usersTopics: readonly Topic[] = [
  {
    name: 'users',
    roles: ['admin'],
    perRestaurant: false,
    channels: [usersChannel],
    mark: (_ports, _restaurant, accounts) => accounts.users.mark(),
  },
];

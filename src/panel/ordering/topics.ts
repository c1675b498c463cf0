/** Topics of the pages about orders. */
import type { Topic } from '../live/topic.ts';
import { restaurantRoles } from '../restaurant/paths.ts';

export const ordersTopic = 'restaurant-orders';

export const orderingTopics: readonly Topic[] = [
  {
    name: ordersTopic,
    roles: restaurantRoles,
    about: 'restaurant',
    // Polled without notifications: in a busy restaurant each order would make every open page fetch itself.
    mark: ({ ordering }, restuid) => ordering.mark(restuid),
  },
];

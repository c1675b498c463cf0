/** What pages of the area "restaurant" may watch for changes. */
import type { Topic } from '../frame/topic.ts';
import { caretakers } from './places.ts';

export const keysTopic = 'restaurant-keys';

export const keysShown = 50;

export const restaurantTopics: readonly Topic[] = [
  {
    name: keysTopic,
    roles: caretakers,
    perRestaurant: true,
    mark: async ({ restaurant }, restuid) =>
      JSON.stringify(await restaurant.keys.list(restuid, { ended: false, after: undefined, limit: keysShown })),
  },
];

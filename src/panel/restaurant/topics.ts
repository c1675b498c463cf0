/** Topics of the pages about a restaurant and its webhooks. */
import type { Topic } from '../live/topic.ts';
import { restaurantRoles } from './paths.ts';

export const keysTopic = 'restaurant-keys';

/** Endpoints, their health and their deliveries. */
export const deliveriesTopic = 'restaurant-deliveries';

/** The list of restaurants and their API access. */
export const accessTopic = 'restaurants';

export const keysShown = 50;

export const restaurantTopics: readonly Topic[] = [
  {
    name: accessTopic,
    roles: ['owner'],
    channels: ['gateway_credentials'],
    mark: ({ restaurant }) => restaurant.mark(),
  },
  {
    name: keysTopic,
    roles: restaurantRoles,
    about: 'restaurant',
    // The first page with its use, and the state of all credentials, which differs when a key of another page or list changes.
    mark: async ({ restaurant }, restuid) => {
      const page = { ended: false, after: undefined, limit: keysShown };
      return JSON.stringify(await Promise.all([restaurant.mark(), restaurant.keys.list(restuid, page)]));
    },
  },
  {
    name: deliveriesTopic,
    roles: restaurantRoles,
    about: 'restaurant',
    // Polled without notifications: in a busy restaurant each recorded event would make every open page fetch itself.
    mark: ({ restaurant }, restuid) => restaurant.deliveries.mark(restuid),
  },
];

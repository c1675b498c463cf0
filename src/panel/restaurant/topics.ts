/** What pages of the area "restaurant" may watch for changes. */
import type { Topic } from '../live/topic.ts';
import { caretakers } from './places.ts';

export const keysTopic = 'restaurant-keys';

/** Endpoints, their health and their deliveries. */
export const deliveriesTopic = 'restaurant-deliveries';

/** Whose API access is on. */
export const accessTopic = 'restaurants';

export const keysShown = 50;

export const restaurantTopics: readonly Topic[] = [
  {
    ...{ name: accessTopic, roles: ['owner'], channels: ['gateway_credentials'] },
    mark: ({ restaurant }) => restaurant.mark(),
  },
  {
    name: keysTopic,
    roles: caretakers,
    about: 'restaurant',
    mark: async ({ restaurant }, restuid) =>
      JSON.stringify(await restaurant.keys.list(restuid, { ended: false, after: undefined, limit: keysShown })),
  },
  {
    name: deliveriesTopic,
    roles: caretakers,
    about: 'restaurant',
    // No hint of the outbox: where much is recorded every page would fetch itself many times a second.
    mark: ({ restaurant }, restuid) => restaurant.deliveries.mark(restuid),
  },
];

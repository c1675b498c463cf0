/** What pages of the area "restaurant" may watch for changes. */
import type { Topic } from '../frame/topic.ts';

export const restaurantTopics: readonly Topic[] = [];

/** What pages of the area "support" may watch for changes. */
import type { Topic } from '../frame/topic.ts';

export const supportTopics: readonly Topic[] = [];

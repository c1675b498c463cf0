/** What pages of the area "security" may watch for changes. */
import type { Topic } from '../frame/topic.ts';

export const securityTopics: readonly Topic[] = [];

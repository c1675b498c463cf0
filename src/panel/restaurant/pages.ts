/** Pages and actions about a restaurant, without its webhooks. For the roles owner, support and admin. */
import type { Page } from '../page/page.ts';
import { keyLimitPages } from './key-limit-pages.ts';
import { keyPages } from './key-pages.ts';
import { keyRequestPages } from './key-request-pages.ts';
import { listPages } from './list-pages.ts';
import { notificationPages } from './notification-pages.ts';
import { overviewPages } from './overview-pages.ts';

export const restaurantPages: readonly Page[] = [
  ...listPages,
  ...overviewPages,
  ...keyPages,
  ...keyLimitPages,
  ...keyRequestPages,
  ...notificationPages,
];

/** Pages and actions of the area "restaurant" but those about webhooks, for the roles owner, support, admin. */
import type { Page } from '../page/page.ts';
import { keyPages } from './key-pages.ts';
import { listPages } from './list-pages.ts';
import { notificationPages } from './notification-pages.ts';
import { overviewPages } from './overview-pages.ts';

export const restaurantPages: readonly Page[] = [...listPages, ...overviewPages, ...keyPages, ...notificationPages];

/** Pages and actions of the area "restaurant", for the roles owner, support, admin. */
import type { Page } from '../frame/page.ts';

export const restaurantPages: readonly Page[] = [];

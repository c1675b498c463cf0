/** Roles and paths of the pages about a restaurant. */
import type { View } from '../page/page.ts';
import type { PanelRestaurant } from '../ports/restaurant.ts';
import type { Role } from '../ports/role.ts';

export const restaurantRoles: readonly Role[] = ['owner', 'support', 'admin'];

/**
 * An owner may end a key, but not the quarantine that support or a command put it in. A rotation would end it too: the new key has
 * the name, limits and quotas of the old one and works.
 */
export const liftRoles: readonly Role[] = ['support', 'admin'];

export const listPath = '/restaurants';
export const restaurantPath = `${listPath}/:restaurant`;

/** Path of a page of the restaurant. `more` begins with a slash and must be escaped already. */
export const pathOfRestaurant = (restuid: string, more = ''): string =>
  `/panel${listPath}/${encodeURIComponent(restuid)}${more}`;

/** The restaurant of the path; undefined when there is none. */
export const requestedRestaurant = (view: View): Promise<PanelRestaurant | undefined> =>
  view.ports.restaurant.find(view.params.restaurant ?? '');

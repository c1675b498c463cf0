/** Who may look after restaurants, and where their pages are. */
import type { View } from '../page/page.ts';
import type { PanelRestaurant } from '../ports/restaurant.ts';
import type { Role } from '../ports/role.ts';

export const caretakers: readonly Role[] = ['owner', 'support', 'admin'];

export const listPath = '/restaurants';
export const restaurantPath = `${listPath}/:restaurant`;

/** Address of a page of the restaurant; `more` begins with a slash, its parts need no escaping. */
export const placeOf = (restuid: string, more = ''): string =>
  `/panel${listPath}/${encodeURIComponent(restuid)}${more}`;

/** The restaurant that the address names; undefined: there is none. */
export const askedRestaurant = (view: View): Promise<PanelRestaurant | undefined> =>
  view.ports.restaurant.find(view.params.restaurant ?? '');

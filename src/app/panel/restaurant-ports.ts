/** What the panel's area "restaurant" calls, over the features. */
import type { RestaurantPorts } from '#src/panel/index.ts';
import type { PortDeps } from './panel.ts';

export const createRestaurantPorts = (_deps: PortDeps): RestaurantPorts => ({});

/** What the pages of the area "restaurant" call; `src/app/panel/restaurant-ports.ts` implements it over the features. */
export type RestaurantPorts = Readonly<Record<never, never>>;

/**
 * The restaurant of a request. The gateway checked the grant, so a missing restaurant means that it was removed since.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Restaurant } from './restaurant.ts';
import { findRestaurant } from './restaurant-store.ts';

/** Throws RESTAURANT_NOT_FOUND. */
export const requireRestaurant = async (db: Kysely<unknown>, restuid: string): Promise<Restaurant> => {
  const restaurant = await findRestaurant(db, restuid);
  if (restaurant === undefined) throw new Fault('RESTAURANT_NOT_FOUND', 'The restaurant of this credential is gone');
  return restaurant;
};

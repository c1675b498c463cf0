/** Creates and changes locations of a restaurant. For the command line. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { newId } from '#src/platform/ids.ts';
import { dmethodNames } from './dmethod.ts';
import { applyTerms, type LocationTerms } from './location-terms.ts';
import type { Location, Restaurant } from './restaurant.ts';
import { listLocations, lockRestaurant, saveLocation } from './restaurant-store.ts';

/**
 * Throws VALIDATION_ERROR with all faults, CONFLICT if another location has the name. Undefined: no such restaurant.
 */
export const createLocation = async (
  tx: Kysely<unknown>,
  restuid: string,
  terms: LocationTerms & { name: string },
  now: Date,
): Promise<Location | undefined> => {
  const restaurant = await lockRestaurant(tx, restuid);
  if (restaurant === undefined) return undefined;
  const others = await listLocations(tx, restuid, { visibleOnly: false });
  const position = Math.max(-1, ...others.map((other) => other.position)) + 1;
  const blank = blankLocation(restaurant, newId('loc', now.getTime()), position);
  return keep(tx, applyTerms(blank, terms, restaurant), others);
};

/** Names a location by its uid, else by its name. */
export type LocationAddress = { uid: string } | { name: string };

/** Like createLocation; throws NOT_FOUND when no location, or more than one, has the name. */
export const setLocation = async (
  tx: Kysely<unknown>,
  restuid: string,
  address: LocationAddress,
  terms: LocationTerms,
): Promise<Location | undefined> => {
  const restaurant = await lockRestaurant(tx, restuid);
  if (restaurant === undefined) return undefined;
  const all = await listLocations(tx, restuid, { visibleOnly: false });
  const [found, ...more] = all.filter((each) =>
    'uid' in address ? each.uid === address.uid : each.name === address.name.trim(),
  );
  if (found === undefined || more.length > 0) throw notOne(address, more.length > 0 ? 'several' : 'no', all);
  const others = all.filter(({ uid }) => uid !== found.uid);
  return keep(tx, applyTerms(found, terms, restaurant), others);
};

const notOne = (address: LocationAddress, count: string, all: readonly Location[]): Fault => {
  const asked = 'uid' in address ? address.uid : `named ${address.name}`;
  const known = all.map(({ uid, name }) => `${name} (${uid})`).join(', ');
  return new Fault('NOT_FOUND', `There is ${count} location ${asked}; the restaurant has ${known}`);
};

/** People name a location by its name, so it must be unique. */
const keep = async (tx: Kysely<unknown>, location: Location, others: readonly Location[]): Promise<Location> => {
  if (others.some(({ name }) => name === location.name))
    throw new Fault('CONFLICT', `There is another location named ${location.name}`);
  await saveLocation(tx, location);
  return location;
};

/** The defaults of a new location: all standard methods, no zones, always open. */
export const blankLocation = (
  { uid: restuid, timeZone, name }: Pick<Restaurant, 'uid' | 'timeZone' | 'name'>,
  uid: string,
  position: number,
): Location => ({
  uid,
  restuid,
  name,
  at: null,
  code: null,
  address: null,
  city: null,
  province: null,
  zip: null,
  country: null,
  phone: null,
  email: null,
  lat: null,
  lng: null,
  timeZone,
  hidden: false,
  position,
  dmethods: ['0', '1', '0t'].map((code) => ({ code, name: dmethodNames[code] ?? code })),
  deliverypoints: [],
  zones: [],
  hours: null,
});

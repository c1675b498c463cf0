/** Restaurants, locations and running numbers in PostgreSQL. */

import { type Kysely, sql } from 'kysely';
import { statement } from '#src/platform/db/driver/statement.ts';
import type { Location, Restaurant } from './restaurant.ts';

const restaurantColumns = sql`
  uid, name, time_zone as "timeZone", api_time_zone as "apiTimeZone", currency, language,
  confirmation_required as "confirmationRequired", countdown_minutes as "countdownMinutes",
  points_per_unit::float8 as "pointsPerUnit", point_value::float8 as "pointValue", signup_points as "signupPoints"`;

export const findRestaurant = async (db: Kysely<unknown>, restuid: string): Promise<Restaurant | undefined> => {
  const { rows } = await statement<Restaurant>`
    select ${restaurantColumns} from ordering.restaurants where uid = ${restuid}`.execute(db);
  return rows[0];
};

/** False in a new, empty database. */
/** `except`: uid of one that does not count. */
export const hasRestaurants = async (db: Kysely<unknown>, except = ''): Promise<boolean> => {
  const { rows } = await sql`select 1 from ordering.restaurants where uid <> ${except} limit 1`.execute(db);
  return rows.length > 0;
};

/** Settings of a new restaurant that have defaults (interface 14). */
export type RestaurantRow = Pick<Restaurant, 'uid' | 'name' | 'timeZone' | 'currency'> & Partial<Restaurant>;

export const createRestaurant = async (tx: Kysely<unknown>, row: RestaurantRow): Promise<Restaurant> => {
  const restaurant: Restaurant = {
    apiTimeZone: row.timeZone,
    language: 'en',
    confirmationRequired: true,
    countdownMinutes: 10,
    pointsPerUnit: 1,
    pointValue: null,
    signupPoints: 0,
    ...row,
  };
  await sql`
    insert into ordering.restaurants (uid, name, time_zone, api_time_zone, currency, language, confirmation_required,
      countdown_minutes, points_per_unit, point_value, signup_points)
    values (${restaurant.uid}, ${restaurant.name}, ${restaurant.timeZone}, ${restaurant.apiTimeZone},
      ${restaurant.currency}, ${restaurant.language}, ${restaurant.confirmationRequired}, ${restaurant.countdownMinutes},
      ${restaurant.pointsPerUnit}, ${restaurant.pointValue}, ${restaurant.signupPoints})`.execute(tx);
  return restaurant;
};

/** Locks the settings and locations of the restaurant until the transaction ends. Orders do not wait for this lock. */
export const lockRestaurant = async (tx: Kysely<unknown>, restuid: string): Promise<Restaurant | undefined> => {
  const { rows } = await sql<Restaurant>`
    select ${restaurantColumns} from ordering.restaurants where uid = ${restuid} for no key update`.execute(tx);
  return rows[0];
};

/** Changes the named members. Returns the new state; undefined when the restaurant does not exist. */
export const updateRestaurant = async (
  tx: Kysely<unknown>,
  restuid: string,
  changes: Partial<Omit<Restaurant, 'uid'>>,
): Promise<Restaurant | undefined> => {
  await sql`select 1 from ordering.restaurants where uid = ${restuid} for update`.execute(tx);
  const before = await findRestaurant(tx, restuid);
  if (before === undefined) return undefined;
  const now: Restaurant = { ...before, ...changes };
  await sql`
    update ordering.restaurants set name = ${now.name}, time_zone = ${now.timeZone}, api_time_zone = ${now.apiTimeZone},
      currency = ${now.currency}, language = ${now.language}, confirmation_required = ${now.confirmationRequired},
      countdown_minutes = ${now.countdownMinutes}, points_per_unit = ${now.pointsPerUnit},
      point_value = ${now.pointValue}, signup_points = ${now.signupPoints}
    where uid = ${restuid}`.execute(tx);
  return now;
};

const locationColumns = sql`
  uid, restuid, name, at, code, address, city, province, zip, country, phone, email, lat, lng,
  time_zone as "timeZone", hidden, position, dmethods, deliverypoints, zones, hours`;

/** In the order of the panel. `visibleOnly` leaves hidden locations out. */
export const listLocations = async (
  db: Kysely<unknown>,
  restuid: string,
  { visibleOnly }: { visibleOnly: boolean },
): Promise<Location[]> => {
  const { rows } = await statement<Location>`
    select ${locationColumns} from ordering.locations
    where restuid = ${restuid} and (not hidden or not ${visibleOnly}::boolean)
    order by position, uid`.execute(db);
  return rows;
};

/** Includes hidden locations. */
export const findLocation = async (
  db: Kysely<unknown>,
  restuid: string,
  uid: string,
): Promise<Location | undefined> => {
  const { rows } = await sql<Location>`
    select ${locationColumns} from ordering.locations where restuid = ${restuid} and uid = ${uid}`.execute(db);
  return rows[0];
};

/** Changes locations in the zone `from`; the others have a zone of their own. */
export const moveLocationsToZone = async (
  tx: Kysely<unknown>,
  restuid: string,
  { from, to }: { from: string; to: string },
): Promise<void> => {
  await sql`
    update ordering.locations set time_zone = ${to} where restuid = ${restuid} and time_zone = ${from}`.execute(tx);
};

/** Inserts the location or replaces the one with its uid. */
export const saveLocation = async (tx: Kysely<unknown>, location: Location): Promise<void> => {
  const json = (value: unknown) => (value === null ? sql`null::jsonb` : sql`${JSON.stringify(value)}::jsonb`);
  await sql`
    insert into ordering.locations (restuid, uid, name, at, code, address, city, province, zip, country, phone, email,
      lat, lng, time_zone, hidden, position, dmethods, deliverypoints, zones, hours)
    values (${location.restuid}, ${location.uid}, ${location.name}, ${location.at}, ${location.code},
      ${location.address}, ${location.city}, ${location.province}, ${location.zip}, ${location.country},
      ${location.phone}, ${location.email}, ${location.lat}, ${location.lng}, ${location.timeZone}, ${location.hidden},
      ${location.position}, ${json(location.dmethods)}, ${json(location.deliverypoints)}, ${json(location.zones)},
      ${json(location.hours)})
    on conflict (restuid, uid) do update set name = excluded.name, at = excluded.at, code = excluded.code,
      address = excluded.address, city = excluded.city, province = excluded.province, zip = excluded.zip,
      country = excluded.country, phone = excluded.phone, email = excluded.email, lat = excluded.lat,
      lng = excluded.lng, time_zone = excluded.time_zone, hidden = excluded.hidden, position = excluded.position,
      dmethods = excluded.dmethods, deliverypoints = excluded.deliverypoints, zones = excluded.zones,
      hours = excluded.hours`.execute(tx);
};

/**
 * The next order number of the restaurant, from 1. The row of the counter stays locked until the transaction ends, so a
 * number that is rolled back is used by the next order: there are no gaps.
 */
export const nextOrderNumber = async (tx: Kysely<unknown>, restuid: string): Promise<number> => {
  const { rows } = await statement<{ last: number }>`
    insert into ordering.counters (restuid, name, last) values (${restuid}, 'orders', 1)
    on conflict (restuid, name) do update set last = ordering.counters.last + 1 returning last`.execute(tx);
  const last = rows[0]?.last;
  if (last === undefined) throw new Error('the restaurant has no counter of order numbers');
  return last;
};

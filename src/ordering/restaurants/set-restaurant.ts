/** Changes the settings of a restaurant (interface 14). For the command line. */
import type { Kysely } from 'kysely';
import { isTimeZone } from '../values/venue-time.ts';
import { RestaurantRefused } from './create-restaurant.ts';
import type { Restaurant } from './restaurant.ts';
import { findRestaurant, moveLocationsToZone, updateRestaurant } from './restaurant-store.ts';

/** Absent members keep their value. `signupPoints` in points, at most 2 decimals. */
export type RestaurantSettings = Partial<
  Pick<
    Restaurant,
    | 'timeZone'
    | 'apiTimeZone'
    | 'confirmationRequired'
    | 'countdownMinutes'
    | 'pointsPerUnit'
    | 'pointValue'
    | 'signupPoints'
  >
>;

/**
 * Locations and the API zone follow a changed time zone if they had the former one. Undefined: no such restaurant.
 * Throws RestaurantRefused with all problems.
 */
export const setRestaurant = async (
  tx: Kysely<unknown>,
  restuid: string,
  settings: RestaurantSettings,
): Promise<Restaurant | undefined> => {
  const problems = problemsOf(settings);
  if (problems.length > 0) throw new RestaurantRefused(problems.join('; '));
  const before = await findRestaurant(tx, restuid);
  if (before === undefined) return undefined;
  const { signupPoints, timeZone, ...rest } = settings;
  if (timeZone !== undefined) await moveLocationsToZone(tx, restuid, { from: before.timeZone, to: timeZone });
  return updateRestaurant(tx, restuid, {
    ...(timeZone === undefined ? undefined : { timeZone }),
    ...(timeZone !== undefined && before.apiTimeZone === before.timeZone ? { apiTimeZone: timeZone } : undefined),
    ...rest,
    ...(signupPoints === undefined ? undefined : { signupPoints: Math.round(signupPoints * 100) }),
  });
};

const problemsOf = (settings: RestaurantSettings): string[] => {
  const { timeZone, apiTimeZone, countdownMinutes, pointsPerUnit, pointValue, signupPoints } = settings;
  const zones = [timeZone, apiTimeZone].filter((zone) => zone !== undefined && !isTimeZone(zone));
  return [
    ...zones.map((zone) => `${zone} is not a time zone; use an IANA name such as Europe/Rome`),
    outside(countdownMinutes, { min: 0, max: 120, decimals: 0 }) && 'the countdown must have 0 to 120 whole minutes',
    outside(pointsPerUnit, { min: 0, max: 1000, decimals: 2 }) &&
      'the points per unit must be 0 to 1000 with at most 2 decimals',
    outside(pointValue, { min: 0.0001, max: 1000, decimals: 4 }) &&
      'the value of a point must be 0.0001 to 1000 with at most 4 decimals, or none',
    outside(signupPoints, { min: 0, max: 10_000_000, decimals: 2 }) &&
      'the signup points must be 0 to 10000000 with at most 2 decimals',
  ].filter((problem) => typeof problem === 'string');
};

type Bounds = { min: number; max: number; decimals: number };

const outside = (value: number | null | undefined, { min, max, decimals }: Bounds): boolean =>
  value !== undefined && value !== null && !(value >= min && value <= max && Number(value.toFixed(decimals)) === value);

/** Creates a restaurant with one location, ready for orders. For the command line and the demo. */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import { isTimeZone } from '../values/venue-time.ts';
import type { DeliveryZone, Restaurant } from './restaurant.ts';
import { createRestaurant as insertRestaurant, saveLocation } from './restaurant-store.ts';
import { blankLocation } from './save-location.ts';

export type NewRestaurant = {
  name: string;
  /** IANA name; default UTC. */
  timeZone?: string;
  /** ISO 4217 with 0 or 2 minor digits; default EUR. */
  currency?: string;
  /** True: a restaurant for trials only, for ever (interface 25). */
  sandbox?: boolean;
  /** Zones of the first location; the default is none, and such a location delivers everywhere. */
  zones?: readonly DeliveryZone[];
} & Partial<
  Pick<
    Restaurant,
    'language' | 'confirmationRequired' | 'countdownMinutes' | 'pointsPerUnit' | 'pointValue' | 'signupPoints'
  >
>;

/** The restaurant cannot be created; the message is for the person at the command line. */
export class RestaurantRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RestaurantRefused';
  }
}

const namesMax = 255;

/** Throws RestaurantRefused with all problems. */
export const createRestaurant = async (
  tx: Kysely<unknown>,
  { zones = [], timeZone = 'UTC', currency = 'EUR', sandbox = false, ...rest }: NewRestaurant,
  now: Date,
): Promise<{ uid: string; locationUid: string } & Pick<Restaurant, 'name' | 'timeZone' | 'currency'>> => {
  const name = rest.name.trim();
  const problems = [
    name === '' || [...name].length > namesMax ? `the name must have 1 to ${namesMax} characters` : undefined,
    isTimeZone(timeZone) ? undefined : `${timeZone} is not a time zone; use an IANA name such as Europe/Rome`,
    isUsableCurrency(currency) ? undefined : `${currency} is not an ISO 4217 currency with 0 or 2 minor digits`,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new RestaurantRefused(problems.join('; '));
  const uid = newId(sandbox ? 'rst_test' : 'rst', now.getTime());
  const locationUid = newId('loc', now.getTime());
  await insertRestaurant(tx, { ...rest, uid, name, timeZone, currency });
  await saveLocation(tx, { ...blankLocation({ uid, name, timeZone }, locationUid, 0), zones });
  return { uid, locationUid, name, timeZone, currency };
};

/**
 * Intl knows every ISO 4217 code. Amounts are hundredths, so currencies with three minor digits are refused. The digits
 * are those of everyday use: for the dinar of Iraq Intl says 0, ISO 4217 says 3.
 */
const isUsableCurrency = (code: string): boolean => {
  if (!Intl.supportedValuesOf('currency').includes(code) || code === 'IQD') return false;
  const digits = new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions()
    .maximumFractionDigits;
  return digits === 0 || digits === 2;
};

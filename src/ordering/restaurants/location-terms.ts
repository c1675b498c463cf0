/**
 * The terms of a location (interface 10.3, 10.6, 11.1) in the form of files and options: zones, hours and pickup points
 * as JSON, amounts in currency units. All faults are reported at once, each with its JSON pointer.
 */
import { z } from 'zod';
import { type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { detailsOf } from '#src/platform/http/validate.ts';
import { decimal, list, money, optional, text, uid } from '#src/platform/http/values.ts';
import { isExpressible } from '../values/money.ts';
import { isTimeZone } from '../values/venue-time.ts';
import { dmethod, dmethodNames } from './dmethod.ts';
import type { Location, Restaurant } from './restaurant.ts';

/**
 * Absent members keep their value, null clears it. `zones`, `hours` and `deliverypoints` are JSON values, not yet
 * checked.
 */
export type LocationTerms = {
  name?: string;
  code?: string | null;
  dmethods?: readonly { code: string; name?: string }[];
  lat?: number | null;
  lng?: number | null;
  timeZone?: string;
  isHidden?: boolean;
  zones?: unknown;
  hours?: unknown;
  deliverypoints?: unknown;
};

/** Limited, because zones and hours are read with each order of the location. */
const [zonesMax, cornersMax, zipsMax, intervalsMax, pointsMax] = [200, 500, 2000, 20, 500];

const latitude = decimal({ min: -90, max: 90, decimals: 6 });
const longitude = decimal({ min: -180, max: 180, decimals: 6 });
const fee = optional(money()).transform((value) => value ?? 0);

const zone = z
  .strictObject({
    name: text(),
    fee,
    order_min: fee,
    radius_kms: optional(decimal({ min: 0, max: 1000, decimals: 3, above: true })),
    polygon: optional(list(z.tuple([latitude, longitude]), { min: 3, max: cornersMax })),
    zips: optional(list(text({ max: 20 }), { min: 1, max: zipsMax })),
  })
  .refine(({ radius_kms, polygon, zips }) => radius_kms !== undefined || polygon !== undefined || zips !== undefined, {
    message: 'needs radius_kms, polygon or zips',
    params: { code: 'REQUIRED' },
  });

const clock = (last: string): z.ZodType<string> =>
  text({ pattern: new RegExp(`^(([01]\\d|2[0-3]):[0-5]\\d${last})$`), format: 'a time such as 19:30' });
const interval = z.tuple([clock(''), clock('|24:00')]).transform(([from, until]): [string, string] => [
  from,
  // The end of a day is the start of the next: an interval that ends there continues on the next day.
  until === '24:00' ? '00:00' : until,
]);
const day = optional(list(interval, { max: intervalsMax })).transform((intervals) => intervals ?? []);
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;
const named = z.strictObject(Object.fromEntries(weekdays.map((name) => [name, day])));

const point = z.strictObject({ uid: uid(), name: text(), full_address: text(), fee });

const schema = z.object({
  name: optional(text()),
  code: text({ max: 32 }).nullable().optional(),
  dmethods: optional(list(z.object({ code: dmethod, name: optional(text()) }), { min: 1, max: 100 })),
  lat: latitude.nullable().optional(),
  lng: longitude.nullable().optional(),
  timeZone: z
    .string()
    .refine(isTimeZone, { message: 'is no time zone; use an IANA name such as Europe/Rome' })
    .optional(),
  isHidden: z.boolean().optional(),
  zones: optional(list(zone, { max: zonesMax })),
  hours: named.nullable().optional(),
  deliverypoints: optional(list(point, { max: pointsMax })),
});

/** `before` with the changes of the terms. Throws VALIDATION_ERROR with all faults. */
export const applyTerms = (before: Location, terms: LocationTerms, { currency }: Restaurant): Location => {
  const read = schema.safeParse(terms);
  if (!read.success) throw validationFault(detailsOf(read.error));
  const { name, code, dmethods, lat, lng, timeZone, isHidden, zones, hours, deliverypoints } = read.data;
  const location: Location = {
    ...before,
    ...given({ name, code, lat, lng, timeZone, hidden: isHidden, deliverypoints }),
    ...given({
      dmethods: dmethods?.map((method) => ({ code: method.code, name: nameOf(method, before) })),
      hours: hours === null ? null : hours && byNumber(hours),
      zones: zones?.map(({ name, fee, order_min, radius_kms, polygon, zips }) => ({
        name,
        fee,
        orderMin: order_min,
        ...given({ radiusKms: radius_kms, polygon, zips }),
      })),
    }),
  };
  const faults = faultsOf(location, currency);
  if (faults.length > 0) throw validationFault(faults);
  return location;
};

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

const given = <T extends Record<string, unknown>>(members: T): Given<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>;

const nameOf = ({ code, name }: { code: string; name?: string | undefined }, before: Location): string =>
  name ?? before.dmethods.find((known) => known.code === code)?.name ?? dmethodNames[code] ?? code;

const byNumber = (hours: Record<string, [string, string][]>): Location['hours'] =>
  Object.fromEntries(weekdays.map((name, number) => [String(number), hours[name] ?? []]));

/** Checks the location as a whole: what its members require of each other. */
const faultsOf = ({ lat, lng, zones, dmethods, deliverypoints }: Location, currency: string): FaultDetail[] => {
  const whole = (pointer: string, amount: number): FaultDetail[] =>
    isExpressible(amount, currency) ? [] : [{ pointer, code: 'FORMAT', message: `must be whole in ${currency}` }];
  const isPlaced = lat !== null && lng !== null;
  return [
    ...((lat === null) === (lng === null)
      ? []
      : [{ pointer: lat === null ? 'lat' : 'lng', code: 'REQUIRED' as const, message: 'goes with the other' }]),
    ...twice(dmethods, 'dmethods', ({ code }) => code),
    ...twice(deliverypoints, 'deliverypoints', (each) => each.uid),
    ...zones.flatMap((each, index) => [
      ...whole(`/zones/${index}/fee`, each.fee),
      ...whole(`/zones/${index}/order_min`, each.orderMin),
      ...(each.radiusKms === undefined || isPlaced
        ? []
        : [
            {
              pointer: `/zones/${index}/radius_kms`,
              code: 'REQUIRED' as const,
              message: 'needs the place of the location: lat and lng',
            },
          ]),
    ]),
    ...deliverypoints.flatMap((each, index) => whole(`/deliverypoints/${index}/fee`, each.fee)),
  ];
};

const twice = <T>(items: readonly T[], name: string, keyOf: (item: T) => string): FaultDetail[] =>
  items.flatMap((item, index) =>
    items.findIndex((other) => keyOf(other) === keyOf(item)) === index
      ? []
      : [{ pointer: `/${name}/${index}`, code: 'DUPLICATE' as const, message: `names ${keyOf(item)} again` }],
  );

/** The location in the form and the units of the terms. */
export const locationSettings = (location: Location): Record<string, unknown> => ({
  uid: location.uid,
  name: location.name,
  code: location.code,
  hidden: location.hidden,
  time_zone: location.timeZone,
  lat: location.lat,
  lng: location.lng,
  dmethods: location.dmethods,
  zones: location.zones.map(({ name, fee, orderMin, radiusKms, polygon, zips }) => ({
    name,
    fee: fee / 100,
    order_min: orderMin / 100,
    ...given({ radius_kms: radiusKms, polygon, zips }),
  })),
  hours: location.hours && Object.fromEntries(weekdays.map((name, number) => [name, location.hours?.[number] ?? []])),
  deliverypoints: location.deliverypoints.map((each) => ({ ...each, fee: each.fee / 100 })),
});

/**
 * Reads the answer of a geocoder for a place id as members of an address. It accepts two forms: a flat JSON object with
 * the members of interface 10.1, which an operator's own service can return, and the answer of Google's Geocoding API,
 * because most place ids come from its maps (https://developers.google.com/maps/documentation/geocoding). Pure.
 */
import { z } from 'zod';
import type { OrderAddress } from '../order/order.ts';

/** The members that a map knows; doorbell and floor come from the customer. */
const placeMembers = ['street', 'number', 'city', 'province', 'zip', 'country', 'quarter', 'lat', 'lng'] as const;

export type Place = { [Name in (typeof placeMembers)[number]]?: OrderAddress[Name] | undefined };

/** `strange`: the answer has neither of the two forms. */
export type ReadPlace = { kind: 'found'; place: Place } | { kind: 'unknown' } | { kind: 'strange'; reason: string };

/** The bounds of order/create (interface 11.1). A value beyond them is ignored. */
const named = (max: number) =>
  z
    .string()
    .trim()
    // PostgreSQL cannot store U+0000.
    .refine((value) => !value.includes('\0'))
    .pipe(z.string().min(1).max(max))
    .optional()
    .catch(undefined);

const coordinate = (max: number) =>
  z
    .number()
    .min(-max)
    .max(max)
    .transform((value) => Math.round(value * 1e6) / 1e6)
    .optional()
    .catch(undefined);

const placeShape = z.object({
  street: named(200),
  number: named(20),
  city: named(100),
  province: named(100),
  zip: named(20),
  country: z
    .string()
    .regex(/^[A-Za-z]{2}$/)
    .optional()
    .catch(undefined),
  quarter: named(100),
  lat: coordinate(90),
  lng: coordinate(180),
});

const googleShape = z.object({
  status: z.string(),
  results: z
    .array(
      z.object({
        address_components: z
          .array(z.object({ long_name: z.string(), short_name: z.string(), types: z.array(z.string()) }))
          .default([]),
        geometry: z.object({ location: z.object({ lat: z.unknown(), lng: z.unknown() }) }).optional(),
      }),
    )
    .default([]),
});

type GoogleAnswer = z.infer<typeof googleShape>;

/** Answers about the place id, not about the service: the place does not exist, or the id is malformed. */
const noPlace = new Set(['ZERO_RESULTS', 'NOT_FOUND', 'INVALID_REQUEST']);

export const readPlace = (answer: unknown): ReadPlace => {
  const google = googleShape.safeParse(answer);
  if (google.success) return readGoogle(google.data);
  const flat = placeShape.safeParse(answer);
  return flat.success ? placeOf(flat.data) : { kind: 'strange', reason: 'not a JSON object' };
};

const placeOf = (values: Place): ReadPlace =>
  placeMembers.some((name) => values[name] !== undefined) ? { kind: 'found', place: values } : { kind: 'unknown' };

const readGoogle = ({ status, results }: GoogleAnswer): ReadPlace => {
  if (noPlace.has(status)) return { kind: 'unknown' };
  const [first] = results;
  if (status !== 'OK' || first === undefined) return { kind: 'strange', reason: `status ${status.slice(0, 40)}` };
  const part = (...types: string[]) => {
    for (const type of types) {
      const found = first.address_components.find((component) => component.types.includes(type));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return placeOf(
    placeShape.parse({
      street: part('route')?.long_name,
      number: part('street_number')?.long_name,
      city: part('locality', 'postal_town', 'administrative_area_level_3')?.long_name,
      province: part('administrative_area_level_2', 'administrative_area_level_1')?.short_name,
      zip: part('postal_code')?.long_name,
      country: part('country')?.short_name,
      quarter: part('neighborhood', 'sublocality')?.long_name,
      ...first.geometry?.location,
    }),
  );
};

/** Fills the missing members of the address from the place. Members that were sent win. */
export const completeAddress = (given: OrderAddress, place: Place): OrderAddress => {
  const found = Object.fromEntries(placeMembers.map((name) => [name, given[name] ?? place[name] ?? null]));
  return { ...given, ...found };
};

/** True when the geocoder can add a missing member to the address. */
export const lacksPlace = (address: OrderAddress): boolean => placeMembers.some((name) => address[name] === null);

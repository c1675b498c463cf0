/** account/subrestaurants: the locations of a restaurant (interface 11.3). */
import { z } from 'zod';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { flag, withDefault } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import type { Location } from '../restaurants/restaurant.ts';
import { listLocations } from '../restaurants/restaurant-store.ts';
import { toWire } from '../values/money.ts';

const text = z.string().nullable();

const locationAnswer = z.object({
  uid: z.string(),
  name: z.string(),
  at: text,
  code: text,
  address: text,
  city: text,
  province: text,
  zip: text,
  country: text,
  phone: text,
  email: text,
  dmethods: z.array(z.object({ code: z.string(), name: z.string() })),
  deliverypoints: z.array(z.object({ uid: z.string(), name: z.string(), full_address: z.string(), fee: z.number() })),
  time_zone: z.string(),
});

const locationView = (location: Location): z.infer<typeof locationAnswer> => ({
  uid: location.uid,
  name: location.name,
  at: location.at,
  code: location.code,
  address: location.address,
  city: location.city,
  province: location.province,
  zip: location.zip,
  country: location.country,
  phone: location.phone,
  email: location.email,
  dmethods: location.dmethods.map(({ code, name }) => ({ code, name })),
  deliverypoints: location.deliverypoints.map(({ uid, name, full_address, fee }) => ({
    uid,
    name,
    full_address,
    fee: toWire(fee),
  })),
  time_zone: location.timeZone,
});

export const accountOperations: Operation[] = [
  operation({
    method: 'GET',
    path: '/account/subrestaurants',
    summary: 'The locations of the restaurant, in panel order',
    errors: [],
    params: z.object({ visible: withDefault(flag(), true) }),
    answer: z.object({ subrestaurants: z.array(locationAnswer) }),
    handle: async ({ db, restuid, params }) => {
      await requireRestaurant(db, restuid);
      const locations = await listLocations(db, restuid, { visibleOnly: params.visible });
      return { body: { subrestaurants: locations.map(locationView) } };
    },
  }),
];

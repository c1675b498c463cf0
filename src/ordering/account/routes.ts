/** account/subrestaurants: the locations of a restaurant (interface 11.3). And sandbox/clock (25.3). */
import { z } from 'zod';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { flag, withDefault } from '#src/platform/http/values.ts';
import { dmethodMeaning } from '../restaurants/dmethod.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import type { Location } from '../restaurants/restaurant.ts';
import { listLocations } from '../restaurants/restaurant-store.ts';
import { amount, textOrNull } from '../values/described-members.ts';
import { toWire } from '../values/money.ts';
import { clockOperation } from './clock-operation.ts';

const methodAnswer = z
  .object({ code: z.string().describe(dmethodMeaning), name: z.string().describe('Name to show') })
  .meta({ id: 'DeliveryMethod', description: 'A delivery method that a location offers' });

const pointAnswer = z
  .object({
    uid: z.string().describe('Identifies the pickup point in order/create'),
    name: z.string().describe('Name to show'),
    full_address: z.string().describe('Address in one text'),
    fee: amount('Delivery fee of an order to this point'),
  })
  .meta({ id: 'DeliveryPoint', description: 'A pickup point of dmethod `20`' });

const locationAnswer = z
  .object({
    uid: z.string().describe('Identifies the location; unique in the installation'),
    name: z.string().describe('Name to show'),
    at: textOrNull('Place, shown after the name'),
    code: textOrNull('Short code, which stands before the numbers of its orders'),
    address: textOrNull('Street and number'),
    city: textOrNull('City'),
    province: textOrNull('Province'),
    zip: textOrNull('Postal code'),
    country: textOrNull('Country in two letters'),
    phone: textOrNull('Phone number'),
    email: textOrNull('Email address'),
    dmethods: z.array(methodAnswer).describe('Delivery methods on offer'),
    deliverypoints: z.array(pointAnswer).describe('Pickup points for dmethod `20`; empty when there are none'),
    time_zone: z.string().describe('Time zone of the venue (IANA name)'),
  })
  .meta({ id: 'Location', description: 'A location of the restaurant, which takes orders of its own' });

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
    params: z.object({
      visible: withDefault(flag(), true).describe('1: only visible locations; 0: hidden ones too'),
    }),
    answer: z.object({ subrestaurants: z.array(locationAnswer).describe('In the sequence of the panel') }),
    handle: async ({ db, restuid, params }) => {
      await requireRestaurant(db, restuid);
      const locations = await listLocations(db, restuid, { visibleOnly: params.visible });
      return { body: { subrestaurants: locations.map(locationView) } };
    },
  }),
  clockOperation,
];

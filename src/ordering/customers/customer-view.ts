/** A customer in answers and events (interface 10.2). */
import type { Restaurant } from '../restaurants/restaurant.ts';
import { toWire } from '../values/money.ts';
import { isoDate, legacyDate } from '../values/venue-time.ts';
import type { Customer } from './customer.ts';
import type { CustomerAnswer } from './customer-schema.ts';

export const customerView = (
  customer: Customer,
  restaurant: Pick<Restaurant, 'timeZone' | 'apiTimeZone'>,
): CustomerAnswer => {
  const legacy = (date: Date | null): string | null => legacyDate(date, restaurant.apiTimeZone);
  const iso = (date: Date | null): string | null => isoDate(date, restaurant.timeZone);
  return {
    uid: customer.uid,
    added: legacy(customer.added) ?? '',
    added_iso: iso(customer.added) ?? '',
    email: customer.email,
    first_name: customer.first_name,
    last_name: customer.last_name,
    phone: customer.phone,
    address: customer.address,
    number: customer.number,
    city: customer.city,
    province: customer.province,
    zip: customer.zip,
    country: customer.country,
    code: customer.code,
    subrestaurant_uid: customer.subrestaurant_uid,
    subrestaurant_code: customer.subrestaurant_code,
    signup_uid: customer.signup_uid,
    signedup: customer.signup_uid !== null,
    signup_deleted: legacy(customer.signup_deleted),
    signup_deleted_iso: iso(customer.signup_deleted),
    devices_unregistered: legacy(customer.devices_unregistered),
    devices_unregistered_iso: iso(customer.devices_unregistered),
    orders_count: customer.orders_count,
    pickup_orders_count: customer.pickup_orders_count,
    delivery_orders_count: customer.delivery_orders_count,
    offline_orders_count: customer.offline_orders_count,
    first_order: legacy(customer.first_order),
    first_order_iso: iso(customer.first_order),
    last_order: legacy(customer.last_order),
    last_order_iso: iso(customer.last_order),
    last_offline_order: legacy(customer.last_offline_order),
    last_offline_order_iso: iso(customer.last_offline_order),
    orders_total: toWire(customer.orders_total),
    loyalty_points: toWire(customer.loyalty_points),
    loyalty_seq: customer.loyalty_seq,
  };
};

/** Orders in answers (interface 10.1), the receipt of order/create and the state after a move (11.1). */
import type { Restaurant } from '../../restaurants/restaurant.ts';
import { toWire, toWireOrNull } from '../../values/money.ts';
import { isoDate, legacyDate } from '../../values/venue-time.ts';
import type { Order, OrderLine } from './order.ts';

type View = Record<string, unknown>;

const datePair = (name: string, date: Date | null, order: Order, { apiTimeZone }: Restaurant): View => ({
  [name]: legacyDate(date, apiTimeZone),
  [`${name}_iso`]: isoDate(date, order.timeZone),
});

const orderNumber = ({ number, locationCode }: Order): string =>
  locationCode === null ? String(number) : `${locationCode}-${number}`;

const lineView = (line: OrderLine): View => ({
  ...line,
  product: { ...line.product, price: toWire(line.product.price) },
  options: line.options.map((option) => ({
    ...option,
    values: option.values.map((value) => ({ ...value, price_operand: toWire(value.price_operand) })),
  })),
  price: toWire(line.price),
  price_options: toWire(line.price_options),
  total: toWire(line.total),
});

export const confirmationView = (order: Order, restaurant: Restaurant): View => ({
  confirmed: order.confirmed,
  countdown_time: order.countdownMinutes,
  ...datePair('countdown_started', order.countdownStarted, order, restaurant),
  ...datePair('countdown_end', order.countdownEnd, order, restaurant),
  timeout: order.status === 'timed_out',
  closed: order.settled !== null,
  ...datePair('date', order.settled, order, restaurant),
  text: order.confirmationText,
});

const deliveryView = (order: Order, restaurant: Restaurant): View | null => {
  if (order.deliveryDate === null) return null;
  const point = order.deliverypoint;
  return {
    ...datePair('date', order.deliveryDate, order, restaurant),
    address: order.address,
    deliverypoint: point === null ? null : { ...point, fee: toWire(point.fee) },
  };
};

export const orderView = (order: Order, restaurant: Restaurant): View => ({
  uid: order.uid,
  token: order.token,
  seq: order.seq,
  status: order.status,
  ...datePair('date', order.date, order, restaurant),
  updated_iso: isoDate(order.updated, order.timeZone),
  number: order.number,
  order_number: orderNumber(order),
  client: {
    uid: order.customerUid,
    first_name: order.client?.first_name ?? null,
    last_name: order.client?.last_name ?? null,
    phone: order.client?.phone ?? null,
    email: order.client?.email ?? null,
  },
  details: order.details.map(lineView),
  dmethod: order.dmethod,
  fee: toWire(order.fee),
  payment_method: order.paymentMethod,
  payment_method_sub: order.paymentMethodSub,
  paid: order.paid,
  total: toWire(order.total),
  currency: order.currency,
  closed: order.status === 'closed',
  subrestaurant_uid: order.locationUid,
  subrestaurant_code: order.locationCode,
  notes: order.notes,
  language: order.language,
  creator: order.creator,
  table: order.table,
  external_id: order.externalId,
  pickup: order.pickupDate === null ? null : datePair('date', order.pickupDate, order, restaurant),
  delivery: deliveryView(order, restaurant),
  coupon: order.coupon === null ? null : { code: order.coupon.code, discount: toWire(order.coupon.discount) },
  loyalty:
    order.redeemedPoints === null
      ? null
      : { redeemed_points: toWire(order.redeemedPoints), discount: toWireOrNull(order.loyaltyDiscount) ?? 0 },
  confirmation: confirmationView(order, restaurant),
  cancellation:
    order.cancelled === null
      ? null
      : {
          ...datePair('date', order.cancelled, order, restaurant),
          reason: order.cancelReason,
          by: order.cancelledBy ?? 'api',
        },
});

export const stateView = (order: Order, restaurant: Restaurant): View => ({
  uid: order.uid,
  status: order.status,
  seq: order.seq,
  confirmation: confirmationView(order, restaurant),
});

export const receiptView = (order: Order): View => ({
  uid: order.uid,
  token: order.token,
  order_number: orderNumber(order),
  total: toWire(order.total),
  date: isoDate(order.date, order.timeZone),
  confirmed: order.confirmed,
  delivery_fee: toWire(order.fee),
  pickup_date: isoDate(order.pickupDate, order.timeZone),
  delivery_date: isoDate(order.deliveryDate, order.timeZone),
  status: order.status,
  number: order.number,
  external_id: order.externalId,
  currency: order.currency,
  countdown_end: isoDate(order.countdownEnd, order.timeZone),
});

/** Lines, fee and discounts of an order against the menu and the location (interface 10.5, 10.6, 11.1). */
import type { Kysely } from 'kysely';
import type { FaultDetail } from '#src/contract/fault.ts';
import type { Coupon } from '../../coupons/coupon.ts';
import { couponFault, discountOf, readOrderCoupon } from '../../coupons/order-coupon.ts';
import type { ProductOnSale } from '../../menus/menu/menu.ts';
import type { Location, Restaurant } from '../../restaurants/restaurant.ts';
import { toWire } from '../../values/money.ts';
import type { Order, OrderAddress, OrderLine } from '../order/order.ts';
import { checkSentOrder, fulfilmentDates } from './check-sent-order.ts';
import { type ChosenLine, chooseLine, type SentLine } from './choose-options.ts';
import { findZone } from './delivery-zone.ts';
import { isOpen } from './opening-hours.ts';
import { loyaltyDiscount, orderTotal, priceLine } from './order-arithmetic.ts';
import { type Refusal, refuse } from './refusal.ts';
import type { SentOrder } from './sent-order.ts';

export type PricedOrder = {
  lines: OrderLine[];
  linesTotal: number;
  fee: number;
  coupon: Order['coupon'];
  loyaltyDiscount: number;
  total: number;
  address: OrderAddress | null;
  deliverypoint: Order['deliverypoint'];
};

type Pricing = {
  restaurant: Restaurant;
  location: Location;
  /** The products of the lines, by uid. */
  products: ReadonlyMap<string, ProductOnSale>;
  sent: SentOrder;
  now: Date;
};

/** Of the lines together, and of the order with its fee (interface 2), in hundredths. */
const totalMax = 100_000_000;

const aboveMax: FaultDetail = {
  pointer: 'details',
  code: 'RANGE',
  message: `must come to ${toWire(totalMax)} at most`,
};

/** One refusal names all faults. Only prices are checked later, because they need valid lines. */
export const priceOrder = async (tx: Kysely<unknown>, pricing: Pricing): Promise<PricedOrder | Refusal> => {
  const { restaurant, location, sent, now } = pricing;
  const early = checkSentOrder(restaurant, sent, now);
  const details = [...early, ...fulfilmentFaults(pricing, early)];
  const use = { email: sent.client.email, now, timeZone: location.timeZone };
  const coupon = await readOrderCoupon(tx, restaurant.uid, sent.coupon?.code, use);
  if (Array.isArray(coupon)) details.push(...coupon);
  const place = placeOf(location, sent);
  if (Array.isArray(place)) details.push(...place);
  const lines: OrderLine[] = [];
  for (const [index, line] of sent.details.entries()) {
    const chosen = chooseLine(pricing.products.get(line.product.uid), line, location.uid, `/details/${index}`);
    if (Array.isArray(chosen)) details.push(...chosen);
    else lines.push(toLine(chosen, line, sent.dmethod));
  }
  if (details.length > 0 || Array.isArray(place) || Array.isArray(coupon)) return refuse(details);
  const linesTotal = lines.reduce((sum, line) => sum + line.total, 0);
  // Without a bound of their sum, a coupon or points could bring any lines below the bound of the total.
  if (linesTotal > totalMax) return refuse([aboveMax]);
  if (linesTotal < place.orderMin) {
    return refuse([
      {
        pointer: 'details',
        code: 'ORDER_MIN',
        message: `must come to ${toWire(place.orderMin)} at least for this address`,
      },
    ]);
  }
  if (coupon !== null && linesTotal < coupon.orderMin)
    return refuse([couponFault(`The coupon is for orders of ${toWire(coupon.orderMin)} at least`)]);
  return totals(pricing, lines, linesTotal, place, coupon);
};

const totals = (
  { restaurant, sent }: Pricing,
  lines: OrderLine[],
  linesTotal: number,
  { fee, address, deliverypoint }: Place,
  coupon: Coupon | null,
): PricedOrder | Refusal => {
  const discount =
    sent.redeem_points === null || restaurant.pointValue === null
      ? 0
      : loyaltyDiscount(sent.redeem_points, restaurant.pointValue, restaurant.currency);
  if (sent.redeem_points !== null && discount === 0) {
    const message = `are worth less than the smallest amount of ${restaurant.currency}`;
    return refuse([{ pointer: 'redeem_points', code: 'RANGE', message }]);
  }
  const taken = coupon === null ? 0 : discountOf(coupon, linesTotal, restaurant.currency);
  if (discount > linesTotal - taken) {
    return refuse([
      {
        pointer: 'redeem_points',
        code: 'RANGE',
        message: `are worth more than the order, ${toWire(linesTotal - taken)}`,
      },
    ]);
  }
  const total = orderTotal({ linesTotal, couponDiscount: taken, loyaltyDiscount: discount, fee });
  if (total > totalMax) return refuse([aboveMax]);
  const used = coupon === null ? null : { code: coupon.code, discount: taken };
  return { lines, linesTotal, fee, coupon: used, loyaltyDiscount: discount, total, address, deliverypoint };
};

/** The location offers the method, and the time of the order is within the opening hours. */
const fulfilmentFaults = ({ location, sent, now }: Pricing, early: readonly FaultDetail[]): FaultDetail[] => {
  if (!location.dmethods.some(({ code }) => code === sent.dmethod)) {
    return [{ pointer: 'dmethod', code: 'NOT_ENABLED', message: 'is not on offer at this location' }];
  }
  const [pointer, at] = fulfilmentDates(sent)[0] ?? ['dmethod', now];
  if (early.some((fault) => fault.pointer === pointer) || isOpen(location, at)) return [];
  return [{ pointer, code: 'CLOSED', message: 'is outside the opening hours' }];
};

type Place = { fee: number; orderMin: number; address: OrderAddress | null; deliverypoint: Order['deliverypoint'] };

/** Destination, fee and minimum of a delivery; zeros for the other methods. */
const placeOf = (location: Location, { dmethod, delivery }: SentOrder): Place | FaultDetail[] => {
  const nowhere: Place = { fee: 0, orderMin: 0, address: null, deliverypoint: null };
  if (dmethod === '20') {
    const point = location.deliverypoints.find(({ uid }) => uid === delivery?.deliverypoint?.uid);
    if (point === undefined)
      return [{ pointer: '/delivery/deliverypoint/uid', code: 'INVALID_ADDRESS', message: 'No such pickup point' }];
    const { name, full_address, fee } = point;
    return { ...nowhere, fee, deliverypoint: { name, full_address, fee } };
  }
  if (dmethod !== '1') return nowhere;
  const address = delivery?.address ?? null;
  if (address === null) return [{ pointer: '/delivery/address', code: 'REQUIRED', message: 'is required' }];
  const zone = findZone(location, address);
  const pointer = '/delivery/address';
  if (zone.kind === 'unknown')
    return [{ pointer, code: 'INVALID_ADDRESS', message: 'Give street and city, or lat and lng' }];
  if (zone.kind === 'outside')
    return [{ pointer, code: 'INVALID_ADDRESS', message: 'The address is outside every delivery zone' }];
  return { fee: zone.fee, orderMin: zone.orderMin, address: { ...address, kms: zone.kms }, deliverypoint: null };
};

const toLine = ({ sale, options }: ChosenLine, sent: SentLine, dmethod: string): OrderLine => {
  const figures = priceLine(sale.product, options, dmethod, sent.quantity);
  return {
    product: productOf(sale, figures.price),
    options: options.map(({ option, values }) => ({
      uid: option.uid,
      name: option.name,
      type: option.type,
      ext_id: option.ext_id,
      values: values.map(({ value, quantity }) => ({
        uid: value.uid,
        name: value.name,
        price_operator: value.price_operator,
        price_operand: value.price_operand,
        quantity,
        offline_uid: null,
        ext_id: value.ext_id,
      })),
    })),
    price: figures.price,
    price_options: figures.priceOptions,
    quantity: sent.quantity,
    free_quantity: 0,
    total: figures.total,
    notes: sent.notes,
  };
};

const productOf = ({ product, category, offlineUid }: ProductOnSale, price: number): OrderLine['product'] => ({
  uid: product.uid,
  name: product.name,
  price,
  category: category.name,
  category_uid: category.uid,
  offline_uid: offlineUid,
  ext_id: product.ext_id,
});

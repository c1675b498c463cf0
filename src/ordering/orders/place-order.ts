/**
 * Takes an order (interface 11.1): everything is checked against the menu, the location and the ledger, priced here, and
 * written with its customer, statistics, points and events in the one transaction of the request.
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { withCommit } from '#src/platform/db/transaction.ts';
import { canonicalJson } from '#src/platform/http/json.ts';
import { newId } from '#src/platform/ids.ts';
import { couponFault, takeOrderCoupon } from '../coupons/order-coupon.ts';
import { matchOrCreateCustomer } from '../customers/match-customer.ts';
import { redeemPoints } from '../loyalty/ledger.ts';
import type { ProductOnSale } from '../menus/menu/menu.ts';
import { loadProductsOnSale } from '../menus/menu/menu-store.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import type { Location, Restaurant } from '../restaurants/restaurant.ts';
import { listLocations, nextOrderNumber } from '../restaurants/restaurant-store.ts';
import type { Resolved } from './address/address-resolver.ts';
import { completeAddress } from './address/read-place.ts';
import type { Order } from './order/order.ts';
import { findOrderByExternalId, insertOrder, lockExternalId } from './order/order-store.ts';
import { type OrderToken, withToken } from './order/order-token.ts';
import { receiptView } from './order/order-view.ts';
import { eventsOfCreation, hasOrderEvents, recordCreation } from './order/record-order-events.ts';
import { moveOrder } from './order/transitions.ts';
import { judgeSent } from './price/check-sent-order.ts';
import { type PricedOrder, priceOrder } from './price/price-order.ts';
import { type Refusal, refuse } from './price/refusal.ts';
import type { SentOrder } from './price/sent-order.ts';

export type PlaceResult =
  | { kind: 'placed'; order: Order; receipt: Record<string, unknown> }
  /** The same order with the same external id came before. */
  | { kind: 'repeated'; receipt: unknown }
  | { kind: 'external_conflict'; uid: string }
  | { kind: 'insufficient_points'; balance: number }
  /** What was given does not say where to deliver, and who could tell was not reached. */
  | { kind: 'address_unresolved' }
  | Refusal;

export type Placing = {
  restuid: string;
  sent: SentOrder;
  clientId: string;
  now: Date;
  tokenOf: OrderToken;
  /** What the place id of the address was found to be, where it was looked for. */
  resolved?: Resolved | undefined;
};

/** What an order is judged and written by. */
type Ground = {
  restaurant: Restaurant;
  visible: readonly Location[];
  products: ReadonlyMap<string, ProductOnSale>;
  hasEvents: boolean;
};

/** One round trip: none of it depends on another. */
const readGround = async (tx: Kysely<unknown>, restuid: string, sent: SentOrder): Promise<Ground> => {
  const uids = sent.details.map(({ product }) => product.uid);
  const [restaurant, visible, products, hasEvents] = await Promise.all([
    requireRestaurant(tx, restuid),
    listLocations(tx, restuid, { visibleOnly: true }),
    loadProductsOnSale(tx, restuid, uids),
    hasOrderEvents(tx, restuid),
  ]);
  return { restaurant, visible, products, hasEvents };
};

export const placeOrder = async (tx: Kysely<unknown>, placing: Placing): Promise<PlaceResult> => {
  const { restuid, clientId, now } = placing;
  const external = placing.sent.external_id === null ? undefined : hashOf(placing.sent);
  const sent = locate(relevantOf(placing.sent), placing.resolved);
  const reading = readGround(tx, restuid, sent);
  if (sent.external_id !== null && external !== undefined) {
    const [earlier] = await Promise.all([findLocked(tx, restuid, clientId, sent.external_id), reading]);
    if (earlier?.externalHash.equals(external) === true)
      return { kind: 'repeated', receipt: receiptOf(earlier, placing.tokenOf) };
    if (earlier !== undefined) return { kind: 'external_conflict', uid: earlier.uid };
  }
  const ground = await reading;
  const location = chooseLocation(ground.visible, sent);
  if ('kind' in location) return refuse([...judgeSent(ground.restaurant, sent, now), ...location.details]);
  const priced = await priceOrder(tx, { ...ground, location, sent, now });
  if ('kind' in priced) return placing.resolved?.kind === 'unreachable' ? withoutAddress(priced) : priced;
  return write(tx, { ...ground, clientId, sent, now, tokenOf: placing.tokenOf }, location, priced, external);
};

/** The receipt as it was given: it is kept without a token that can be derived. */
const receiptOf = (order: Order & { receipt: unknown }, tokenOf: OrderToken): unknown => ({
  token: withToken(order, tokenOf).token,
  ...(order.receipt as object),
});

/** Sent together: the order is looked for when the lock is held. */
const findLocked = async (tx: Kysely<unknown>, restuid: string, clientId: string, externalId: string) => {
  const [, earlier] = await Promise.all([
    lockExternalId(tx, restuid, clientId, externalId),
    findOrderByExternalId(tx, restuid, clientId, externalId),
  ]);
  return earlier;
};

/**
 * Of the values, not of the text: spacing, order of members and "1" for 1 make no difference. Members without a value
 * are left out: an external id is kept for ever, and a member that a later version adds must not make another order of it.
 */
const hashOf = (sent: SentOrder): Buffer => {
  const given = JSON.stringify(sent, (_name, value: unknown) => (value === null ? undefined : value));
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(given)))
    .digest();
};

/** Without the members that belong to another method (interface 10.6): they are neither judged nor kept. */
const relevantOf = (sent: SentOrder): SentOrder => {
  const isDelivered = sent.dmethod === '1' || sent.dmethod === '20';
  return {
    ...sent,
    payment_method_sub: sent.payment_method === 'cash' ? sent.payment_method_sub : null,
    pickup: isDelivered || sent.dmethod === '0t' ? null : sent.pickup,
    delivery: isDelivered ? sent.delivery : null,
    table: sent.dmethod === '0t' ? sent.table : null,
  };
};

const locate = (sent: SentOrder, resolved: Resolved | undefined): SentOrder => {
  const { delivery } = sent;
  if (resolved?.kind !== 'found' || delivery?.address == null) return sent;
  return { ...sent, delivery: { ...delivery, address: completeAddress(delivery.address, resolved.place) } };
};

/** A refusal is remembered as the answer to its request, so an address that could not be looked up is not refused. */
const withoutAddress = ({ details }: Refusal): PlaceResult => {
  const others = details.filter(({ code }) => code !== 'INVALID_ADDRESS');
  return others.length === 0 ? { kind: 'address_unresolved' } : refuse(others);
};

const chooseLocation = (visible: readonly Location[], sent: SentOrder): Location | Refusal => {
  const pointer = 'subrestaurant_uid';
  if (sent.subrestaurant_uid !== null) {
    const named = visible.find(({ uid }) => uid === sent.subrestaurant_uid);
    return named ?? refuse([{ pointer, code: 'SUBRESTAURANT_NOT_FOUND', message: 'No such location' }]);
  }
  const [first, ...others] = visible;
  if (first === undefined)
    return refuse([{ pointer, code: 'SUBRESTAURANT_NOT_FOUND', message: 'The restaurant has no location' }]);
  if (others.length > 0)
    return refuse([{ pointer, code: 'REQUIRED', message: 'is required: the restaurant has several locations' }]);
  return first;
};

type Judged = Pick<Ground, 'restaurant' | 'hasEvents'> & Omit<Placing, 'restuid' | 'resolved'>;

const write = async (
  tx: Kysely<unknown>,
  { restaurant, hasEvents, sent, clientId, now, tokenOf }: Judged,
  location: Location,
  priced: PricedOrder,
  external: Buffer | undefined,
): Promise<PlaceResult> => {
  const counted = { dmethod: sent.dmethod, creator: sent.creator, total: priced.total, date: now };
  // The customer's row is locked first, then the counter's: every order takes its locks in this sequence.
  const customer = await matchOrCreateCustomer(tx, {
    restuid: restaurant.uid,
    client: sent.client,
    subrestaurantUid: location.uid,
    now,
    order: counted,
    // What is taken of points and coupons is locked before the number, which all orders of the restaurant wait for.
    numbered: sent.redeem_points === null && priced.coupon === null,
  });
  const uid = newId('ord', now.getTime());
  if (sent.redeem_points !== null && customer !== undefined) {
    const taken = await redeemPoints(tx, {
      restuid: restaurant.uid,
      restaurant,
      orderUid: uid,
      customerUid: customer.uid,
      points: sent.redeem_points,
      subrestaurantUid: location.uid,
      now,
    });
    if (taken.kind === 'insufficient') return { kind: 'insufficient_points', balance: taken.balance };
    if (taken.kind !== 'posted') throw new Error(`points of a new order were not taken: ${taken.kind}`);
  }
  if (priced.coupon !== null && (await takeOrderCoupon(tx, restaurant.uid, priced.coupon.code)) === undefined)
    return refuse([couponFault('The coupon is used up')]);
  const number = customer?.number ?? (await nextOrderNumber(tx, restaurant.uid));
  // The number is what orders of one restaurant wait for: from here on nothing waits for an answer before the commit.
  const first = newOrder({ restaurant, sent, clientId, now }, location, priced, {
    uid,
    number,
    token: tokenOf(uid),
    customerUid: customer?.uid ?? null,
  });
  const order = afterCreation(first, restaurant, now);
  const receipt = receiptView(order);
  const { token: _derived, ...kept } = receipt;
  await withCommit(tx, insertOrder(tx, order, external && { hash: external, receipt: kept }));
  if (hasEvents) await recordCreation(tx, eventsOfCreation(first, order), restaurant, now);
  return { kind: 'placed', order, receipt };
};

const newOrder = (
  { restaurant, sent, clientId, now }: Omit<Judged, 'hasEvents' | 'tokenOf'>,
  location: Location,
  priced: PricedOrder,
  identity: { uid: string; number: number; token: string; customerUid: string | null },
): Order => ({
  restuid: restaurant.uid,
  ...identity,
  seq: 1,
  status: 'new',
  date: now,
  updated: now,
  client: sent.client,
  details: priced.lines,
  dmethod: sent.dmethod,
  fee: priced.fee,
  paymentMethod: sent.payment_method,
  paymentMethodSub: sent.payment_method_sub,
  paid: sent.payment_method === 'external' || sent.payment_method === 'online',
  linesTotal: priced.linesTotal,
  coupon: priced.coupon,
  redeemedPoints: sent.redeem_points,
  loyaltyDiscount: sent.redeem_points === null ? null : priced.loyaltyDiscount,
  total: priced.total,
  currency: restaurant.currency,
  locationUid: location.uid,
  locationCode: location.code,
  timeZone: location.timeZone,
  notes: sent.notes,
  language: sent.language ?? restaurant.language,
  creator: sent.creator,
  table: sent.table,
  pickupDate: sent.pickup?.date ?? null,
  deliveryDate: sent.delivery?.date ?? null,
  address: priced.address,
  deliverypoint: priced.deliverypoint,
  externalId: sent.external_id,
  externalOwner: sent.external_id === null ? null : clientId,
  confirmed: false,
  countdownMinutes: null,
  countdownStarted: null,
  countdownEnd: null,
  settled: null,
  confirmationText: null,
  cancelled: null,
  cancelReason: null,
  cancelledBy: null,
});

/** Confirmed at once where nobody has to confirm, else on its countdown where there is one (interface 10.7). */
const afterCreation = (order: Order, restaurant: Restaurant, now: Date): Order => {
  if (order.creator === 'restaurant' || !restaurant.confirmationRequired) {
    const moved = moveOrder(order, 'confirm', { now });
    if (moved.kind !== 'moved') throw new Error('a new order cannot be confirmed');
    return moved.order;
  }
  const minutes = restaurant.countdownMinutes;
  if (minutes === 0) return order;
  const countdownEnd = new Date(now.getTime() + minutes * 60_000);
  return { ...order, seq: order.seq + 1, countdownMinutes: minutes, countdownStarted: now, countdownEnd };
};

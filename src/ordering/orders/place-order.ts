/**
 * Places an order (interface 11.1). The order is checked against the menu, the location and the ledger, priced, and
 * written with its customer, statistics, points and events in the one transaction of the request.
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { minuteMs } from '#src/platform/clock.ts';
import { withCommit } from '#src/platform/db/transaction.ts';
import { canonicalJson } from '#src/platform/http/json.ts';
import { newId } from '#src/platform/ids.ts';
import { takeOrderCoupon } from '../coupons/order-coupon.ts';
import { matchOrCreateCustomer } from '../customers/match-customer.ts';
import { redeemPoints } from '../loyalty/ledger.ts';
import type { ProductOnSale } from '../menus/menu/menu.ts';
import { loadOrderedProducts } from '../menus/menu/menu-store.ts';
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
import { checkSentOrder } from './price/check-sent-order.ts';
import { type PricedOrder, priceOrder } from './price/price-order.ts';
import { type Refusal, refuse } from './price/refusal.ts';
import type { SentOrder } from './price/sent-order.ts';

export type PlaceResult =
  | { kind: 'placed'; order: Order; receipt: Record<string, unknown> }
  /** An order with the same external id and the same content exists already. */
  | { kind: 'repeated'; receipt: unknown }
  | { kind: 'external_conflict'; uid: string }
  | { kind: 'insufficient_points'; balance: number }
  /** The address is incomplete without its place id, and the geocoder could not be reached. */
  | { kind: 'address_unresolved' }
  | Refusal;

export type Placing = {
  restuid: string;
  sent: SentOrder;
  clientId: string;
  /** As in `OrderMove.by`. */
  actor: string;
  now: Date;
  /** Read after the waits for locks, as in a move: a list of what changed since a time would else miss the order. */
  readNow: () => Date;
  tokenOf: OrderToken;
  /** The geocoder's answer for the place id of the address, if it was asked. */
  resolved?: Resolved | undefined;
};

/** Everything that an order is checked against. */
type OrderContext = {
  restaurant: Restaurant;
  visible: readonly Location[];
  products: ReadonlyMap<string, ProductOnSale>;
  hasEvents: boolean;
};

/** Takes one round trip, because the four statements do not depend on each other. */
const readOrderContext = async (tx: Kysely<unknown>, restuid: string, sent: SentOrder): Promise<OrderContext> => {
  const [restaurant, visible, products, hasEvents] = await Promise.all([
    requireRestaurant(tx, restuid),
    listLocations(tx, restuid, { visibleOnly: true }),
    loadOrderedProducts(tx, restuid, sent.details),
    hasOrderEvents(tx, restuid),
  ]);
  return { restaurant, visible, products, hasEvents };
};

export const placeOrder = async (tx: Kysely<unknown>, placing: Placing): Promise<PlaceResult> => {
  const { restuid, clientId, now } = placing;
  const external = placing.sent.external_id === null ? undefined : hashOf(placing.sent);
  const sent = locate(relevantOf(placing.sent), placing.resolved);
  const reading = readOrderContext(tx, restuid, sent);
  if (sent.external_id !== null && external !== undefined) {
    const [earlier] = await Promise.all([findLocked(tx, restuid, clientId, sent.external_id), reading]);
    if (earlier?.externalHash.equals(external) === true)
      return { kind: 'repeated', receipt: receiptOf(earlier, placing.tokenOf) };
    if (earlier !== undefined) return { kind: 'external_conflict', uid: earlier.uid };
  }
  const context = await reading;
  const location = chooseLocation(context.visible, sent);
  if ('kind' in location) return refuse([...checkSentOrder(context.restaurant, sent, now), ...location.details]);
  const priced = await priceOrder(tx, { ...context, location, sent, now });
  if ('kind' in priced) return placing.resolved?.kind === 'unreachable' ? withoutAddress(priced) : priced;
  return write(tx, { ...placing, ...context, sent }, location, priced, external);
};

/** The first receipt. It is stored without its token, which is derived from the uid. */
const receiptOf = (order: Order & { receipt: unknown }, tokenOf: OrderToken): unknown => ({
  token: withToken(order, tokenOf).token,
  ...(order.receipt as object),
});

/** Both statements are sent together; the second runs once the lock is held. */
const findLocked = async (tx: Kysely<unknown>, restuid: string, clientId: string, externalId: string) => {
  const [, earlier] = await Promise.all([
    lockExternalId(tx, restuid, clientId, externalId),
    findOrderByExternalId(tx, restuid, clientId, externalId),
  ]);
  return earlier;
};

/**
 * Hash of the values, not of the text: spacing, the order of members and "1" instead of 1 make no difference. Members
 * without a value are left out, because the hash is stored for ever: a member that a later version adds must not change
 * it.
 */
const hashOf = (sent: SentOrder): Buffer => {
  const given = JSON.stringify(sent, (_name, value: unknown) => (value === null ? undefined : value));
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(given)))
    .digest();
};

/** Leaves out members that belong to another method (interface 10.6). They are neither checked nor stored. */
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

/**
 * A refusal would be replayed for its Idempotency-Key, so an order whose address could not be looked up is not refused.
 */
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

type CheckedOrder = Pick<OrderContext, 'restaurant' | 'hasEvents'> & Omit<Placing, 'restuid' | 'resolved'>;

const write = async (
  tx: Kysely<unknown>,
  { restaurant, hasEvents, sent, clientId, actor, now, readNow, tokenOf }: CheckedOrder,
  location: Location,
  priced: PricedOrder,
  external: Buffer | undefined,
): Promise<PlaceResult> => {
  const counted = { dmethod: sent.dmethod, creator: sent.creator, total: priced.total, date: now };
  // Lock order of every order: the customer's row before the counter's row.
  const customer = await matchOrCreateCustomer(tx, {
    restuid: restaurant.uid,
    client: sent.client,
    subrestaurantUid: location.uid,
    now,
    order: counted,
    // Points and coupons are locked before the order number, because all orders of the restaurant wait for the number.
    numbered: sent.redeem_points === null && priced.coupon === null,
  });
  const uid = newId('ord', now.getTime());
  // A cancellation locks them in this sequence too: the coupon, then the points with their tally.
  if (priced.coupon !== null) {
    const fault = await takeOrderCoupon(tx, restaurant.uid, priced.coupon.code, sent.client.email);
    if (fault !== undefined) return refuse([fault]);
  }
  if (sent.redeem_points !== null && customer !== undefined) {
    const taken = await redeemPoints(tx, {
      restuid: restaurant.uid,
      restaurant,
      orderUid: uid,
      customerUid: customer.uid,
      points: sent.redeem_points,
      subrestaurantUid: location.uid,
      now: readNow(),
    });
    if (taken.kind === 'insufficient') return { kind: 'insufficient_points', balance: taken.balance };
    if (taken.kind !== 'posted') throw new Error(`redeeming the points of a new order failed: ${taken.kind}`);
  }
  const number = customer?.number ?? (await nextOrderNumber(tx, restaurant.uid));
  // Orders of one restaurant wait for the number: from here to the commit no statement waits for an answer.
  const placed = readNow();
  const first = newOrder({ restaurant, sent, clientId, actor, now }, location, priced, {
    updated: placed,
    uid,
    number,
    token: tokenOf(uid),
    customerUid: customer?.uid ?? null,
  });
  const order = afterCreation(first, restaurant, placed, actor);
  const receipt = receiptView(order);
  const { token: _derived, ...stored } = receipt;
  await withCommit(tx, insertOrder(tx, order, external && { hash: external, receipt: stored }));
  if (hasEvents) await recordCreation(tx, eventsOfCreation(first, order), restaurant, placed);
  return { kind: 'placed', order, receipt };
};

const newOrder = (
  { restaurant, sent, clientId, actor, now }: Omit<CheckedOrder, 'hasEvents' | 'readNow' | 'tokenOf'>,
  location: Location,
  priced: PricedOrder,
  identity: { uid: string; number: number; token: string; customerUid: string | null; updated: Date },
): Order => ({
  restuid: restaurant.uid,
  ...identity,
  seq: 1,
  status: 'new',
  date: now,
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
  moves: [{ to: 'new', at: now.toISOString(), by: actor }],
});

/**
 * Confirms the order at once if no confirmation is required, otherwise starts its countdown if it has one (interface
 * 10.7).
 */
const afterCreation = (order: Order, restaurant: Restaurant, now: Date, actor: string): Order => {
  if (order.creator === 'restaurant' || !restaurant.confirmationRequired) {
    const moved = moveOrder(order, 'confirm', { now, actor });
    if (moved.kind !== 'moved') throw new Error(`confirming a new order failed: ${moved.code}`);
    return moved.order;
  }
  const minutes = restaurant.countdownMinutes;
  if (minutes === 0) return order;
  const countdownEnd = new Date(now.getTime() + minutes * minuteMs);
  return { ...order, seq: order.seq + 1, countdownMinutes: minutes, countdownStarted: now, countdownEnd };
};

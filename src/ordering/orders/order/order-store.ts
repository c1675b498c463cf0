/** Orders in PostgreSQL. */

import { type Kysely, sql } from 'kysely';
import { fragment, statement } from '#src/platform/db/driver/statement.ts';
import type { Order } from './order.ts';
import { derivedMark } from './order-token.ts';
import { countedStatuses } from './transitions.ts';

export const orderColumns = sql`
  restuid, uid, token, seq, status, number, date, updated, customer_uid as "customerUid", client, details, dmethod, fee,
  payment_method as "paymentMethod", payment_method_sub as "paymentMethodSub", paid, lines_total as "linesTotal", coupon,
  redeemed_points as "redeemedPoints", loyalty_discount as "loyaltyDiscount", total, currency,
  location_uid as "locationUid", location_code as "locationCode", time_zone as "timeZone", notes, language, creator,
  table_name as "table", pickup_date as "pickupDate", delivery_date as "deliveryDate", address, deliverypoint,
  external_id as "externalId", external_owner as "externalOwner", confirmed, countdown_minutes as "countdownMinutes",
  countdown_started as "countdownStarted", countdown_end as "countdownEnd", settled,
  confirmation_text as "confirmationText", cancelled, cancel_reason as "cancelReason", cancelled_by as "cancelledBy", moves`;

const json = (value: unknown) => fragment`${value === null ? null : JSON.stringify(value)}::jsonb`;

/** The first receipt (without its token) of an order with an external id, and the hash of the sent order. */
export type ExternalReceipt = { hash: Buffer; receipt: unknown };

/** The token is not stored: it is derived from the uid. */
export const insertOrder = async (
  tx: Kysely<unknown>,
  order: Order,
  external: ExternalReceipt | undefined,
): Promise<void> => {
  await statement`
    insert into ordering.orders (restuid, uid, token, seq, status, number, date, updated, customer_uid, client, details,
      dmethod, fee, payment_method, payment_method_sub, paid, lines_total, coupon, redeemed_points, loyalty_discount, total,
      currency, location_uid, location_code, time_zone, notes, language, creator, table_name, pickup_date, delivery_date,
      address, deliverypoint, external_id, external_owner, external_hash, receipt, confirmed, countdown_minutes,
      countdown_started, countdown_end, settled, moves)
    values (${order.restuid}, ${order.uid}, ${derivedMark}, ${order.seq}, ${order.status}, ${order.number}, ${order.date},
      ${order.updated}, ${order.customerUid}, ${json(order.client)}, ${json(order.details)}, ${order.dmethod}, ${order.fee},
      ${order.paymentMethod}, ${order.paymentMethodSub}, ${order.paid}, ${order.linesTotal}, ${json(order.coupon)},
      ${order.redeemedPoints}, ${order.loyaltyDiscount}, ${order.total}, ${order.currency}, ${order.locationUid},
      ${order.locationCode}, ${order.timeZone}, ${order.notes}, ${order.language}, ${order.creator}, ${order.table},
      ${order.pickupDate}, ${order.deliveryDate}, ${json(order.address)}, ${json(order.deliverypoint)},
      ${order.externalId}, ${order.externalOwner}, ${external?.hash ?? null}, ${json(external?.receipt ?? null)},
      ${order.confirmed}, ${order.countdownMinutes}, ${order.countdownStarted}, ${order.countdownEnd}, ${order.settled}, ${json(order.moves)})`.execute(
    tx,
  );
};

/** Writes the changes of a move. The caller holds the lock on the row. */
export const updateOrderState = async (tx: Kysely<unknown>, order: Order): Promise<void> => {
  await sql`
    update ordering.orders set seq = ${order.seq}, status = ${order.status}, updated = ${order.updated},
      confirmed = ${order.confirmed}, settled = ${order.settled}, confirmation_text = ${order.confirmationText},
      paid = ${order.paid}, cancelled = ${order.cancelled}, cancel_reason = ${order.cancelReason},
      cancelled_by = ${order.cancelledBy}, moves = ${JSON.stringify(order.moves)}::jsonb
    where restuid = ${order.restuid} and uid = ${order.uid}`.execute(tx);
};

export const findOrder = async (db: Kysely<unknown>, restuid: string, uid: string): Promise<Order | undefined> => {
  const { rows } = await sql<Order>`
    select ${orderColumns} from ordering.orders where restuid = ${restuid} and uid = ${uid}`.execute(db);
  return rows[0];
};

/** A statement of this transaction that waits for a lock for longer fails with a transient error. */
export const boundLockWait = async (tx: Kysely<unknown>, waitMs: number): Promise<void> => {
  await sql`select set_config('lock_timeout', ${`${waitMs}ms`}, true)`.execute(tx);
};

/** The row stays locked until the transaction ends, so an order makes one move at a time. */
export const lockOrder = async (tx: Kysely<unknown>, restuid: string, uid: string): Promise<Order | undefined> => {
  const { rows } = await sql<Order>`
    select ${orderColumns} from ordering.orders where restuid = ${restuid} and uid = ${uid} for update`.execute(tx);
  return rows[0];
};

export const findOrderByExternalId = async (
  db: Kysely<unknown>,
  restuid: string,
  owner: string,
  externalId: string,
): Promise<(Order & { externalHash: Buffer; receipt: unknown }) | undefined> => {
  const { rows } = await statement<Order & { externalHash: Buffer; receipt: unknown }>`
    select ${orderColumns}, external_hash as "externalHash", receipt from ordering.orders
    where restuid = ${restuid} and external_owner = ${owner} and external_id = ${externalId}`.execute(db);
  return rows[0];
};

/** Orders with the same external id run one after the other: the second waits and then finds the first. */
export const lockExternalId = async (
  tx: Kysely<unknown>,
  restuid: string,
  owner: string,
  externalId: string,
): Promise<void> => {
  await statement`select pg_advisory_xact_lock(hashtextextended(${`${restuid} ${owner} ${externalId}`}, 11))`.execute(
    tx,
  );
};

export type RemainingDates = { firstOrder: Date | null; lastOrder: Date | null; lastOfflineOrder: Date | null };

/**
 * Locks the customer of an order, even a removed one, until the transaction ends. Does nothing for an order without
 * one.
 */
export const lockCustomerOfOrder = async (tx: Kysely<unknown>, restuid: string, uid: string): Promise<void> => {
  await sql`
    select 1 from ordering.customers where restuid = ${restuid}
      and uid = (select customer_uid from ordering.orders where restuid = ${restuid} and uid = ${uid})
    for update`.execute(tx);
};

/**
 * First and last dates over the customer's counted orders, except one order. The query reads the ends of the index of
 * the customer's orders, so its cost does not grow with their number. `lastOfflineOrder` is searched only if the
 * restaurant created the excluded order; otherwise it does not change.
 */
export const remainingDates = async (
  tx: Kysely<unknown>,
  order: Order & { customerUid: string },
): Promise<RemainingDates> => {
  const { restuid, uid, customerUid, creator } = order;
  const counted = sql`
    select date from ordering.orders where restuid = ${restuid} and customer_uid = ${customerUid}
      and status = any(${countedStatuses}::text[]) and uid <> ${uid}`;
  const { rows } = await sql<RemainingDates>`
    select (${counted} order by date limit 1) as "firstOrder", (${counted} order by date desc limit 1) as "lastOrder",
      case when ${creator}::text = 'restaurant'
        then (${counted} and creator = 'restaurant' order by date desc limit 1)
        else (select last_offline_order from ordering.customers where restuid = ${restuid} and uid = ${customerUid})
      end as "lastOfflineOrder"`.execute(tx);
  return rows[0] ?? { firstOrder: null, lastOrder: null, lastOfflineOrder: null };
};

/**
 * Erases name, contact and address from the orders of the customer, and every text, because a text of the restaurant may name the
 * customer too. Figures, options and dates stay. The hash of a sent order was made of what is erased, so it becomes empty, which is
 * the hash of no order: the external id stays taken, and a request with it is answered with the uid of this order.
 */
export const forgetClient = async (tx: Kysely<unknown>, restuid: string, customerUid: string): Promise<void> => {
  await sql`
    update ordering.orders set client = null, address = null, notes = null, confirmation_text = null, cancel_reason = null,
      details = (select coalesce(jsonb_agg(line || '{"notes": null}' order by place), '[]')
        from jsonb_array_elements(details) with ordinality as lines (line, place)),
      external_hash = case when external_hash is not null then ''::bytea end
    where restuid = ${restuid} and customer_uid = ${customerUid}`.execute(tx);
};

export type OverdueOrder = { restuid: string; uid: string; aheadMs: number };

/**
 * New orders whose countdown has ended, the oldest end first, and those of sandboxes whose clock is beyond the end, `limit` of
 * each at most, without those with the uids `except`. `aheadMs`: how far the clock of the restaurant is ahead. They are not
 * locked, so the caller checks each one again.
 */
export const listOverdueOrders = async (
  db: Kysely<unknown>,
  now: Date,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<OverdueOrder[]> => {
  const { rows } = await sql<OverdueOrder>`
    (select o.restuid, o.uid, coalesce(c.ahead_ms, 0)::float8 as "aheadMs"
     from ordering.orders o left join ordering.sandbox_clocks c on c.restuid = o.restuid
     where o.status = 'new' and o.countdown_end <= ${now} and o.uid <> all(${except}::text[])
     order by o.countdown_end limit ${limit})
    union all
    (select o.restuid, o.uid, c.ahead_ms::float8
     from ordering.sandbox_clocks c cross join lateral (
       select restuid, uid from ordering.orders
       where restuid = c.restuid and status = 'new' and countdown_end > ${now}
         and countdown_end <= ${now}::timestamptz + make_interval(secs => c.ahead_ms / 1000.0)
         and uid <> all(${except}::text[])
       limit ${limit}) o
     limit ${limit})`.execute(db);
  return rows;
};

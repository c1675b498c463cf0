/** The loyalty ledger in PostgreSQL: append-only entries, and their sum as the balance of the customer. */
import { type Kysely, sql } from 'kysely';
import type { EntryType, LoyaltyEntry, ShownEntry } from './loyalty-entry.ts';

const entryColumns = sql`
  e.uid, e.customer_uid as "customerUid", e.seq, e.loyalty_points as "loyaltyPoints", e.type,
  e.input_type as "inputType", e.diff_op as "diffOp", e.diff_points as "diffPoints", e.diff_value as "diffValue",
  e.diff_left_value as "diffLeftValue", e.loyalty_left_value as "loyaltyLeftValue", e.currency, e.created, e.notes,
  e.order_uid as "orderUid", e.reversed_uid as "reversedUid", e.coupon_code as "couponCode",
  e.used_coupon_code as "usedCouponCode", e.subrestaurant_uid as "subrestaurantUid"`;

export const shownColumns = sql`
  ${entryColumns}, c.first_name as "firstName", c.last_name as "lastName", c.phone, c.email,
  c.signup_uid as "signupUid"`;

export const shownTables = sql`
  ordering.loyalty_entries e left join ordering.customers c on c.restuid = e.restuid and c.uid = e.customer_uid`;

export const findEntry = async (db: Kysely<unknown>, restuid: string, uid: string): Promise<ShownEntry | undefined> => {
  const { rows } = await sql<ShownEntry>`
    select ${shownColumns} from ${shownTables} where e.restuid = ${restuid} and e.uid = ${uid}`.execute(db);
  return rows[0];
};

/** The entry of this type that the cause already has. */
export const findEntryByCause = async (
  tx: Kysely<unknown>,
  restuid: string,
  cause: string,
  type: EntryType,
): Promise<LoyaltyEntry | undefined> => {
  const { rows } = await sql<LoyaltyEntry>`
    select ${entryColumns} from ordering.loyalty_entries e
    where e.restuid = ${restuid} and e.cause = ${cause} and e.type = ${type}`.execute(tx);
  return rows[0];
};

/** The entries of an order, oldest first. */
export const listEntriesOfOrder = async (
  tx: Kysely<unknown>,
  restuid: string,
  orderUid: string,
): Promise<LoyaltyEntry[]> => {
  const { rows } = await sql<LoyaltyEntry>`
    select ${entryColumns} from ordering.loyalty_entries e
    where e.restuid = ${restuid} and e.order_uid = ${orderUid} order by e.created, e.seq`.execute(tx);
  return rows;
};

/** Writes entry and balance in one statement. The caller locks the customer, so seq has no gaps and no duplicates. */
export const insertEntry = async (
  tx: Kysely<unknown>,
  restuid: string,
  entry: LoyaltyEntry,
  cause: string | null,
): Promise<void> => {
  await sql`
    with entry as (
      insert into ordering.loyalty_entries (restuid, uid, customer_uid, seq, loyalty_points, type, input_type, diff_op,
        diff_points, diff_value, diff_left_value, loyalty_left_value, currency, created, notes, order_uid, reversed_uid,
        coupon_code, used_coupon_code, subrestaurant_uid, cause)
      values (${restuid}, ${entry.uid}, ${entry.customerUid}, ${entry.seq}, ${entry.loyaltyPoints}, ${entry.type},
        ${entry.inputType}, ${entry.diffOp}, ${entry.diffPoints}, ${entry.diffValue}, ${entry.diffLeftValue},
        ${entry.loyaltyLeftValue}, ${entry.currency}, ${entry.created}, ${entry.notes}, ${entry.orderUid},
        ${entry.reversedUid}, ${entry.couponCode}, ${entry.usedCouponCode}, ${entry.subrestaurantUid}, ${cause})
    )
    update ordering.customers set loyalty_points = ${entry.loyaltyPoints}::bigint, loyalty_seq = ${entry.seq}
    where restuid = ${restuid} and uid = ${entry.customerUid}`.execute(tx);
};

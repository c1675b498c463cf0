/** Customer records in PostgreSQL. A removed record stays as a row without personal members, and no search finds it. */
import { type Kysely, sql } from 'kysely';
import { fragment, statement } from '#src/platform/db/driver/statement.ts';
import { isUniqueViolation } from '#src/platform/db/transaction.ts';
import type { Customer, CustomerAddress, LockedCustomer, WritableMembers } from './customer.ts';

const ownColumns = sql`
  c.uid, c.seq, c.added, c.email, c.first_name, c.last_name, c.phone, c.address, c.number, c.city, c.province, c.zip,
  c.country, c.code, c.subrestaurant_uid, c.signup_uid, c.signup_deleted,
  c.devices_unregistered, c.orders_count, c.pickup_orders_count, c.delivery_orders_count, c.offline_orders_count,
  c.first_order, c.last_order, c.last_offline_order, c.orders_total, c.loyalty_points, c.loyalty_seq`;

export const customerColumns = sql`${ownColumns}, l.code as subrestaurant_code`;

export const customerTables = sql`
  ordering.customers c left join ordering.locations l on l.restuid = c.restuid and l.uid = c.subrestaurant_uid`;

const addressed = (restuid: string, { uid, email }: CustomerAddress) => sql`
  c.restuid = ${restuid} and c.removed_at is null
  and ${uid === undefined ? sql`true` : sql`c.uid = ${uid}`}
  and ${email === undefined ? sql`true` : sql`lower(c.email) = lower(${email}::text)`}`;

/** Finds no customer without uid and email. With both, they must belong to the same customer. */
export const findCustomer = async (
  db: Kysely<unknown>,
  restuid: string,
  { uid, email }: CustomerAddress,
): Promise<Customer | undefined> => {
  const present = fragment`select ${customerColumns} from ${customerTables} where c.restuid = ${restuid} and c.removed_at is null`;
  if (email !== undefined) {
    const { rows } = await statement<Customer>`${present} and lower(c.email) = lower(${email}::text)`.execute(db);
    return uid === undefined || rows[0]?.uid === uid ? rows[0] : undefined;
  }
  if (uid === undefined) return undefined;
  const { rows } = await statement<Customer>`${present} and c.uid = ${uid}`.execute(db);
  return rows[0];
};

/**
 * The same, and locks the record, its statistics and its ledger until the transaction ends. Without a join: after a wait for the lock
 * PostgreSQL would join the new record with the location of the old one, and so find none.
 */
export const lockCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  address: CustomerAddress,
): Promise<LockedCustomer | undefined> => {
  if (address.uid === undefined && address.email === undefined) return undefined;
  const { rows } = await sql<LockedCustomer>`
    select ${ownColumns} from ordering.customers c where ${addressed(restuid, address)} for update`.execute(tx);
  return rows[0];
};

/** The oldest customer with these phone digits, locked. */
export const lockCustomerByPhone = async (
  tx: Kysely<unknown>,
  restuid: string,
  digits: string,
): Promise<LockedCustomer | undefined> => {
  // Two parallel first orders from one phone must not create two customers. Phones may be shared, so there is no unique
  // index to prevent it. The second order waits here until the first has committed its record.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`customer-phone ${restuid} ${digits}`}, 0))`.execute(tx);
  const { rows } = await sql<LockedCustomer>`
    select ${ownColumns} from ordering.customers c
    where c.restuid = ${restuid} and c.phone_digits = ${digits} and c.removed_at is null
    order by c.added, c.uid limit 1 for update`.execute(tx);
  return rows[0];
};

/** False when another customer has the email or the code, even one that was committed in parallel. */
export const insertCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  uid: string,
  members: WritableMembers,
  now: Date,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into ordering.customers (restuid, uid, seq, added, email, first_name, last_name, phone, address, number, city,
      province, zip, country, code, subrestaurant_uid, signup_uid)
    values (${restuid}, ${uid}, 1, ${now}, ${members.email}, ${members.first_name}, ${members.last_name},
      ${members.phone}, ${members.address}, ${members.number}, ${members.city}, ${members.province}, ${members.zip},
      ${members.country}, ${members.code}, ${members.subrestaurant_uid}, ${members.signup_uid})
    on conflict do nothing returning uid`.execute(tx);
  return rows.length === 1;
};

/** The members among email and code that belong to a customer other than `uid`. */
export const findTakenMember = async (
  tx: Kysely<unknown>,
  restuid: string,
  uid: string,
  members: Pick<WritableMembers, 'email' | 'code'>,
): Promise<'email' | 'code' | undefined> => {
  const { rows } = await sql<{ member: 'email' | 'code' }>`
    select 'email' as member from ordering.customers
      where restuid = ${restuid} and uid <> ${uid} and lower(email) = lower(${members.email}::text)
    union all
    select 'code' from ordering.customers
      where restuid = ${restuid} and uid <> ${uid} and code = ${members.code}::text
    limit 1`.execute(tx);
  return rows[0]?.member;
};

/**
 * Writes all writable members of a locked record and raises its seq. False when a parallel request took the email or
 * code.
 */
export const updateCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  uid: string,
  members: WritableMembers,
  signupDeleted: Date | null,
): Promise<boolean> => {
  try {
    await sql`
      update ordering.customers set seq = seq + 1, email = ${members.email}, first_name = ${members.first_name},
        last_name = ${members.last_name}, phone = ${members.phone}, address = ${members.address},
        number = ${members.number}, city = ${members.city}, province = ${members.province}, zip = ${members.zip},
        country = ${members.country}, code = ${members.code}, subrestaurant_uid = ${members.subrestaurant_uid},
        signup_uid = ${members.signup_uid}, signup_deleted = ${signupDeleted}
      where restuid = ${restuid} and uid = ${uid}`.execute(tx);
    return true;
  } catch (error) {
    if (isUniqueViolation(error)) return false;
    throw error;
  }
};

/** Erases the personal members for good; statistics and ledger keep their figures. */
export const eraseCustomer = async (tx: Kysely<unknown>, restuid: string, uid: string, now: Date): Promise<void> => {
  await sql`
    update ordering.customers set seq = seq + 1, removed_at = ${now}, email = null, first_name = null, last_name = null,
      phone = null, address = null, number = null, city = null, province = null, zip = null, country = null, code = null,
      subrestaurant_uid = null, signup_uid = null, signup_deleted = null, devices_unregistered = null
    where restuid = ${restuid} and uid = ${uid}`.execute(tx);
};

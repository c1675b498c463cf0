/** Finds or creates the customer of an order (interface 11.1, "Customer"). An order never edits an existing record. */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import { type LockedCustomer, type WritableMembers, writableMembers } from './customer.ts';
import { recordCustomerChange } from './customer-event.ts';
import { type CountedOrder, countOrder, countOrderByEmail } from './customer-statistics.ts';
import { insertCustomer, lockCustomer, lockCustomerByPhone } from './customer-store.ts';

type OrderingClient = {
  first_name: string | null;
  last_name: string | null;
  email: string | null;
  phone: string | null;
};

export type Matching = {
  restuid: string;
  client: OrderingClient;
  subrestaurantUid: string | null;
  now: Date;
  /** Counted before customer.changed of a new customer is recorded, so that the event contains these statistics. */
  order?: CountedOrder;
  /** Also takes the order number, if the customer is found by email. */
  numbered?: boolean;
};

const attemptsMax = 3;

/**
 * Finds the customer by email (ignoring case), then by phone digits (the oldest one); otherwise creates a record and
 * customer.changed. The row stays locked until the transaction ends. Undefined for a client without email and phone.
 */
export const matchOrCreateCustomer = async (
  tx: Kysely<unknown>,
  matching: Matching,
): Promise<{ uid: string; created: boolean; number?: number | undefined } | undefined> => {
  const { restuid, client, order, numbered = false } = matching;
  if (client.email === null && client.phone === null) return undefined;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    // Enough for most orders: one statement finds, locks and counts the customer, and takes the order number.
    if (order !== undefined && client.email !== null) {
      const counted = await countOrderByEmail(tx, { restuid, email: client.email, order, numbered });
      if (counted !== undefined) return { ...counted, created: false };
    }
    const known = await findMatch(tx, restuid, client);
    if (known !== undefined) {
      if (order !== undefined) await countOrder(tx, { restuid, customerUid: known.uid, order });
      return { uid: known.uid, created: false };
    }
    const made = await makeCustomer(tx, matching);
    if (made !== undefined) return { uid: made, created: true };
    // A parallel order created the customer of this email after the first search; now it is visible.
  }
  throw new Error('the customer of an order could neither be found nor created');
};

const findMatch = async (
  tx: Kysely<unknown>,
  restuid: string,
  { email, phone }: OrderingClient,
): Promise<LockedCustomer | undefined> => {
  const byEmail = email === null ? undefined : await lockCustomer(tx, restuid, { email });
  if (byEmail !== undefined) return byEmail;
  const digits = phone === null ? '' : phone.replaceAll(/[^0-9]/g, '');
  return digits === '' ? undefined : lockCustomerByPhone(tx, restuid, digits);
};

const makeCustomer = async (
  tx: Kysely<unknown>,
  { restuid, client, subrestaurantUid, now, order }: Matching,
): Promise<string | undefined> => {
  const uid = newId('cus', now.getTime());
  const given: Partial<WritableMembers> = { ...client, subrestaurant_uid: subrestaurantUid };
  const members = Object.fromEntries(writableMembers.map((name) => [name, given[name] ?? null])) as WritableMembers;
  if (!(await insertCustomer(tx, restuid, uid, members, now))) return undefined;
  if (order !== undefined) await countOrder(tx, { restuid, customerUid: uid, order });
  await recordCustomerChange(tx, {
    restuid,
    customerUid: uid,
    seq: 1,
    change: 'created',
    changedFields: writableMembers.filter((name) => members[name] !== null),
    now,
  });
  return uid;
};

/**
 * customer/update (interface 11.2): changes the members that the request names. Without a difference nothing is
 * written.
 */
import type { Kysely } from 'kysely';
import { eraseCouponEmail, moveCouponEmail } from '../coupons/coupon-store.ts';
import {
  type Customer,
  type LockedCustomer,
  type NamedMembers,
  type WritableMembers,
  writableMembers,
} from '../customers/customer.ts';
import { recordCustomerChange } from '../customers/customer-event.ts';
import {
  findCustomer,
  findTakenMember,
  lockCustomer,
  updateCustomer as saveCustomer,
} from '../customers/customer-store.ts';
import { recordEntryCreated } from '../loyalty/ledger.ts';
import { findLocation } from '../restaurants/restaurant-store.ts';
import type { SaveRefusal } from './create-customer.ts';
import { creditSignup } from './credit-signup.ts';

export type UpdateResult =
  | { kind: 'updated' | 'unchanged'; customer: Customer }
  | { kind: 'not_found' }
  /** The customer would have neither email nor phone. */
  | { kind: 'unreachable' }
  | SaveRefusal;

/** `named`: undefined keeps a member, null clears it. */
export const updateCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  uid: string,
  named: NamedMembers,
  readNow: () => Date,
): Promise<UpdateResult> => {
  const before = await lockCustomer(tx, restuid, { uid });
  if (before === undefined) return { kind: 'not_found' };
  const now = readNow();
  const members = Object.fromEntries(
    writableMembers.map((name) => [name, named[name] === undefined ? before[name] : named[name]]),
  ) as WritableMembers;
  const changedFields = writableMembers.filter((name) => members[name] !== before[name]);
  if (changedFields.length === 0) return { kind: 'unchanged', customer: await readAgain(tx, restuid, uid) };
  if (members.email === null && members.phone === null) return { kind: 'unreachable' };
  const refusal = await checkReferences(tx, restuid, uid, before, members);
  if (refusal !== undefined) return refusal;
  const signupDeleted = signupDeletedAfter(before, members, now);
  if (!(await saveCustomer(tx, restuid, uid, members, signupDeleted)))
    return { kind: 'taken', member: members.email === before.email ? 'code' : 'email' };
  await changeCoupons(tx, restuid, before.email, members.email);
  const isFirst = before.signup_uid === null && before.signup_deleted === null && members.signup_uid !== null;
  const signup = isFirst ? await creditSignup(tx, restuid, uid, now) : undefined;
  const seq = before.seq + 1;
  await recordCustomerChange(tx, { restuid, customerUid: uid, seq, change: 'updated', changedFields, now });
  if (signup !== undefined) await recordEntryCreated(tx, restuid, signup);
  return { kind: 'updated', customer: await readAgain(tx, restuid, uid) };
};

/** With the code of the location, which the locked record does not have. */
const readAgain = async (tx: Kysely<unknown>, restuid: string, uid: string): Promise<Customer> => {
  const customer = await findCustomer(tx, restuid, { uid });
  if (customer === undefined) throw new Error('a locked customer was not found in its own transaction');
  return customer;
};

/** The coupons that only this customer may use are bound to the email. Without one the customer cannot use them. */
const changeCoupons = async (
  tx: Kysely<unknown>,
  restuid: string,
  before: string | null,
  after: string | null,
): Promise<void> => {
  if (before === null || before === after) return;
  if (after === null) await eraseCouponEmail(tx, restuid, before);
  else await moveCouponEmail(tx, restuid, before, after);
};

const checkReferences = async (
  tx: Kysely<unknown>,
  restuid: string,
  uid: string,
  before: LockedCustomer,
  members: WritableMembers,
): Promise<SaveRefusal | undefined> => {
  const { subrestaurant_uid: location } = members;
  if (location !== null && location !== before.subrestaurant_uid && !(await findLocation(tx, restuid, location)))
    return { kind: 'no_location' };
  const member = await findTakenMember(tx, restuid, uid, members);
  return member === undefined ? undefined : { kind: 'taken', member };
};

/** Null while signup_uid is set, otherwise the moment when it was cleared. */
const signupDeletedAfter = (before: LockedCustomer, members: WritableMembers, now: Date): Date | null => {
  if (members.signup_uid !== null) return null;
  return before.signup_uid === null ? before.signup_deleted : now;
};

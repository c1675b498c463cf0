/** customer/create (interface 11.2). */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import {
  type Customer,
  type NamedMembers,
  type WritableMember,
  type WritableMembers,
  writableMembers,
} from '../customers/customer.ts';
import { recordCustomerChange } from '../customers/customer-event.ts';
import { findCustomer, findTakenMember, insertCustomer } from '../customers/customer-store.ts';
import { recordEntryCreated } from '../loyalty/ledger.ts';
import { findLocation } from '../restaurants/restaurant-store.ts';
import { creditSignup } from './credit-signup.ts';

export type SaveRefusal = { kind: 'taken'; member: 'email' | 'code' } | { kind: 'no_location' };

/** Members that the request does not name stay empty. */
export const createCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  given: NamedMembers,
  now: Date,
): Promise<{ kind: 'created'; customer: Customer } | SaveRefusal> => {
  const uid = newId('cus', now.getTime());
  const members = Object.fromEntries(writableMembers.map((name) => [name, given[name] ?? null])) as WritableMembers;
  if (members.subrestaurant_uid !== null && !(await findLocation(tx, restuid, members.subrestaurant_uid)))
    return { kind: 'no_location' };
  if (!(await insertCustomer(tx, restuid, uid, members, now)))
    return { kind: 'taken', member: (await findTakenMember(tx, restuid, uid, members)) ?? 'email' };
  const signup = members.signup_uid === null ? undefined : await creditSignup(tx, restuid, uid, now);
  const changedFields: WritableMember[] = writableMembers.filter((name) => members[name] !== null);
  await recordCustomerChange(tx, { restuid, customerUid: uid, seq: 1, change: 'created', changedFields, now });
  if (signup !== undefined) await recordEntryCreated(tx, restuid, signup);
  const customer = await findCustomer(tx, restuid, { uid });
  if (customer === undefined) throw new Error('the created customer was not found in its own transaction');
  return { kind: 'created', customer };
};

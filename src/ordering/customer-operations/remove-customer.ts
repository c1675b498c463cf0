/** customer/remove (interface 11.2): erases the personal members. Orders and ledger keep the uid of the customer. */
import type { Kysely } from 'kysely';
import { eraseCouponEmail } from '../coupons/coupon-store.ts';
import type { CustomerAddress } from '../customers/customer.ts';
import { recordCustomerChange } from '../customers/customer-event.ts';
import { eraseCustomer, lockCustomer } from '../customers/customer-store.ts';
import { forgetClient } from '../orders/order/order-store.ts';

/**
 * False when the customer does not exist or was already removed. The clock is read after the wait for the customer, so that the
 * removal is not older than a change before it.
 */
export const removeCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  address: CustomerAddress,
  readNow: () => Date,
): Promise<boolean> => {
  const customer = await lockCustomer(tx, restuid, address);
  if (customer === undefined) return false;
  const now = readNow();
  await eraseCustomer(tx, restuid, customer.uid, now);
  if (customer.email !== null) await eraseCouponEmail(tx, restuid, customer.email);
  await forgetClient(tx, restuid, customer.uid);
  const seq = customer.seq + 1;
  await recordCustomerChange(tx, {
    restuid,
    customerUid: customer.uid,
    seq,
    change: 'removed',
    changedFields: [],
    now,
  });
  return true;
};

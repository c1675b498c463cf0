/** customer/remove (interface 11.2): the record loses everything personal, orders and ledger keep its uid. */
import type { Kysely } from 'kysely';
import type { CustomerAddress } from '../customers/customer.ts';
import { recordCustomerChange } from '../customers/customer-event.ts';
import { eraseCustomer, lockCustomer } from '../customers/customer-store.ts';
import { forgetClient } from '../orders/order/order-store.ts';

/** False when there is no such customer, or no longer. */
export const removeCustomer = async (
  tx: Kysely<unknown>,
  restuid: string,
  address: CustomerAddress,
  now: Date,
): Promise<boolean> => {
  const customer = await lockCustomer(tx, restuid, address);
  if (customer === undefined) return false;
  await eraseCustomer(tx, restuid, customer.uid, now);
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

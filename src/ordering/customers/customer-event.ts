/** customer.changed (interface 12.1): recorded for changes of the record, never for statistics or balance alone. */
import type { Kysely } from 'kysely';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';
import type { WritableMember } from './customer.ts';
import { findCustomer } from './customer-store.ts';
import { customerView } from './customer-view.ts';

type Change = {
  restuid: string;
  customerUid: string;
  /** The record's seq after the change. */
  seq: number;
  change: 'created' | 'updated' | 'removed';
  changedFields: readonly WritableMember[];
  now: Date;
};

/** Must be called last in the use case: the body contains the record, statistics and balance that commit with it. */
export const recordCustomerChange = async (tx: Kysely<unknown>, change: Change): Promise<void> => {
  await recordEvent(tx, {
    tenant: change.restuid,
    kind: 'customers',
    event: 'customer.changed',
    entity: change.customerUid,
    seq: change.seq,
    created: change.now,
    object: 'customer',
    value: () => (change.change === 'removed' ? { uid: change.customerUid } : viewOf(tx, change)),
    trailing: { change: change.change, changed_fields: change.changedFields },
  });
};

const viewOf = async (tx: Kysely<unknown>, { restuid, customerUid }: Change): Promise<Record<string, unknown>> => {
  const restaurant = await findRestaurant(tx, restuid);
  const customer = await findCustomer(tx, restuid, { uid: customerUid });
  if (restaurant === undefined || customer === undefined)
    throw new Error('the changed customer was not found in its own transaction');
  return customerView(customer, restaurant);
};

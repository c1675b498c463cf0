/** Points for signing up: once per customer, however often signup_uid is set (interface 10.4). */
import type { Kysely } from 'kysely';
import { writeEntry } from '../loyalty/ledger.ts';
import type { LoyaltyEntry } from '../loyalty/loyalty-entry.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';

/** Returns the new entry. The caller passes it to `recordEntryCreated` after the customer's own event. */
export const creditSignup = async (
  tx: Kysely<unknown>,
  restuid: string,
  customerUid: string,
  now: Date,
): Promise<LoyaltyEntry | undefined> => {
  const points = (await findRestaurant(tx, restuid))?.signupPoints ?? 0;
  if (points === 0) return undefined;
  const result = await writeEntry(tx, {
    restuid,
    customerUid,
    type: 'signup',
    inputType: 'points',
    diffOp: 'add',
    diffPoints: points,
    now,
  });
  return result.kind === 'posted' ? result.entry : undefined;
};

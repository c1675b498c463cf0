/** Creates a restaurant in the core and in the gateway in one transaction, so that it exists in both or in neither. */
import { createCredentials } from '#src/gateway/index.ts';
import { createRestaurant, type NewRestaurant } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Installation } from '../installation/installation.ts';

/** Returns its uid. Throws RestaurantRefused. `actor`: for the audit. */
export const createWholeRestaurant = (
  { store, box, clock }: Pick<Installation, 'store' | 'box' | 'clock'>,
  actor: string,
  restaurant: NewRestaurant,
): Promise<string> =>
  inTransaction(store.db, async (tx) => {
    const made = await createRestaurant(tx, restaurant, clock.now());
    const credentials = createCredentials({ db: store.db, box, clock, actor });
    await credentials.createTenant(made.uid, tx, tenantFacts(made));
    return made.uid;
  });

/** The facts about a restaurant that the gateway returns to its callers (`tenantWords` of the route table). */
export const tenantFacts = (restaurant: { name: string; timeZone: string; currency: string }) => ({
  name: restaurant.name,
  time_zone: restaurant.timeZone,
  currency: restaurant.currency,
});

/** Restaurants with their API access: the core has their names, and the gateway their access. */
import { listOpenTenants } from '#src/gateway/index.ts';
import { restaurantsByUid } from '#src/ordering/index.ts';
import type { Store } from '#src/platform/db/index.ts';

export const withAccess = async <T extends { uid: string }>({ db }: Store, restaurants: readonly T[]) => {
  const uids = restaurants.map(({ uid }) => uid);
  const open = new Set(await listOpenTenants(db, uids));
  return restaurants.map(({ uid, ...rest }) => ({ restuid: uid, ...rest, apiEnabled: open.has(uid) }));
};

/** In the order of their uids, the newest first. Unknown uids are left out. */
export const findRestaurants = async (store: Store, uids: readonly string[]) =>
  withAccess(store, await restaurantsByUid(store.db, uids));

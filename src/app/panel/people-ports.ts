/** The ports of accounts. The feature `staff` keeps restaurants as ids; whether they exist is checked here. */
import type { Staff } from '#src/staff/index.ts';
import { assertRestaurant } from '../admin/admin-deps.ts';
import type { PortDeps } from './port-deps.ts';

export const createPeoplePorts = ({ installation }: Pick<PortDeps, 'installation'>, staff: Staff) => {
  const { users } = staff;
  const assertAll = async (restaurants: readonly string[] = []): Promise<void> => {
    for (const restuid of restaurants) await assertRestaurant(installation.store.db, restuid);
  };
  return {
    ...staff,
    users: {
      ...users,
      create: async (...[actor, given]: Parameters<typeof users.create>) => {
        await assertAll(given.restaurants);
        return users.create(actor, given);
      },
      set: async (...[actor, email, given, check]: Parameters<typeof users.set>) => {
        await assertAll(given.restaurants);
        return users.set(actor, email, given, check);
      },
    },
  };
};

/** Staff accounts of the panel, as the command line sets them. */
import { type AdminDeps, assertRestaurant } from './admin-deps.ts';
import { usersOf } from './staff.ts';

export const createUsersAdmin = ({ installation, settings, actor }: AdminDeps) => {
  const { store } = installation;
  const users = usersOf(installation, settings);
  return {
    create: async (user: { email: string; role: string; restaurants: readonly string[] }) => {
      for (const restuid of user.restaurants) await assertRestaurant(store.db, restuid);
      return users.create(actor, user);
    },
    set: async (email: string, given: { role?: string; restaurants?: readonly string[] }) => {
      for (const restuid of given.restaurants ?? []) await assertRestaurant(store.db, restuid);
      return users.set(actor, email, given);
    },
    makeLink: (email: string) => users.makeLink(actor, email),
    disable: (email: string) => users.disable(actor, email),
    enable: (email: string) => users.enable(actor, email),
    removeTotp: (email: string) => users.removeTotp(actor, email),
    list: users.list,
  };
};

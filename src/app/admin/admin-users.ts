/** Staff accounts of the panel, as the command line sets them. */
import { type AdminDeps, assertRestaurant } from './admin-deps.ts';
import { usersOf } from './staff.ts';

export const createUsersAdmin = ({ installation, settings, actor, credentials }: AdminDeps) => {
  const { store } = installation;
  const users = usersOf(installation, settings);
  /** Throws NOT_FOUND for an unknown one. */
  const assertAll = async (restaurants: readonly string[], clients: readonly string[]): Promise<void> => {
    for (const restuid of restaurants) await assertRestaurant(store.db, restuid);
    for (const clientId of clients) await credentials.showClient(clientId);
  };
  return {
    create: async (user: {
      email: string;
      role: string;
      restaurants: readonly string[];
      clients: readonly string[];
    }) => {
      await assertAll(user.restaurants, user.clients);
      return users.create(actor, user);
    },
    set: async (
      email: string,
      given: { role?: string; restaurants?: readonly string[]; clients?: readonly string[] },
    ) => {
      await assertAll(given.restaurants ?? [], given.clients ?? []);
      return users.set(actor, email, given);
    },
    makeLink: (email: string) => users.makeLink(actor, email),
    disable: (email: string) => users.disable(actor, email),
    enable: (email: string) => users.enable(actor, email),
    removeTotp: (email: string) => users.removeTotp(actor, email),
    removePasskeys: (email: string) => users.removePasskeys(actor, email),
    list: users.list,
  };
};

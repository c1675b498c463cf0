/** The ports of the panel's pages about orders. */
import { Fault } from '#src/contract/fault.ts';
import { appendChange, createCredentials, createKeyViews } from '#src/gateway/index.ts';
import { createStaffOrders, endOfDay, requireRestaurant, startOfDay } from '#src/ordering/index.ts';
import type { OrderingPorts } from '#src/panel/index.ts';
import { readFeed } from '#src/platform/db/outbox/event-feed.ts';
import type { PortDeps } from './port-deps.ts';

type FindUser = { find(id: string): Promise<{ email: string } | undefined> };

/** An order has at most five events; more would be of a later version. */
const eventsMax = 20;

export const createOrderingPorts = ({ installation }: PortDeps, users: FindUser): OrderingPorts => {
  const { store, box, clock } = installation;
  const orders = createStaffOrders(store.db, box.derive('order-token'));
  const keys = createKeyViews({ db: store.db, clock });
  const credentials = createCredentials({ db: store.db, box, clock, scopes: [], actor: 'panel' });
  return {
    orders: async (restuid, { from, to, ...search }) => {
      const { apiTimeZone } = await requireRestaurant(store.db, restuid);
      return orders.list(restuid, {
        ...search,
        dateFrom: from === undefined ? undefined : startOfDay(from, apiTimeZone),
        dateBefore: to === undefined ? undefined : endOfDay(to, apiTimeZone),
      });
    },
    order: orders.find,
    eventsOf: async (restuid, entity) => {
      const query = { tenant: restuid, kinds: ['orders'], after: 0, entity, limit: eventsMax };
      const { events } = await readFeed(store.db, query);
      return events.map(({ id, event, created }) => ({ id, event, recorded: created }));
    },
    nameOf: async (restuid, actor) => {
      const id = actor.slice(actor.indexOf(':') + 1);
      if (actor.startsWith('panel:')) return (await users.find(id))?.email;
      if (actor.startsWith('api_key:')) return (await keys.find(restuid, id))?.name;
      if (!actor.startsWith('api_client:')) return undefined;
      const client = await credentials.showClient(id).catch((error: unknown) => {
        if (error instanceof Fault && error.code === 'NOT_FOUND') return undefined;
        throw error;
      });
      return client?.name;
    },
    move: (actor, restuid, uid, move, reason) =>
      orders.move({ restuid, uid, move, actor, reason, now: clock.now() }, (tx) =>
        appendChange(tx, box, clock.now(), {
          action: 'tenant.changed',
          actor,
          tenants: [restuid],
          details: JSON.stringify({ operation: `order/${move}`, uid }),
          ...(reason !== null && { reason }),
        }),
      ),
    mark: orders.mark,
  };
};

/** The ports of the panel's pages about orders and customers. */
import { Fault } from '#src/contract/fault.ts';
import { appendChange, createCredentials, createKeyViews } from '#src/gateway/index.ts';
import {
  createStaffCustomers,
  createStaffOrders,
  endOfDay,
  requireRestaurant,
  startOfDay,
} from '#src/ordering/index.ts';
import type { OrderingPorts } from '#src/panel/index.ts';
import { readFeed } from '#src/platform/db/outbox/event-feed.ts';
import type { PortDeps } from './port-deps.ts';

type FindUser = { find(id: string): Promise<{ email: string } | undefined> };

/** An order has at most five events; more would be of a later version. */
const eventsMax = 20;

export const createOrderingPorts = ({ installation }: PortDeps, users: FindUser): OrderingPorts => {
  const { store, box, clock } = installation;
  const orders = createStaffOrders(store.db, box.derive('order-token'));
  const customers = createStaffCustomers(store.db);
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
      orders.move({ restuid, uid, move, actor, reason, readNow: () => clock.now() }, (tx) =>
        appendChange(tx, box, clock.now(), {
          action: 'tenant.changed',
          actor,
          tenants: [restuid],
          details: JSON.stringify({ operation: `order/${move}`, uid }),
          ...(reason !== null && { reason }),
        }),
      ),
    mark: orders.mark,
    customers: async (restuid, search) => {
      const { items, next } = await customers.list(restuid, search);
      return { items: items.map(shown), next };
    },
    customer: async (restuid, uid) => {
      const customer = await customers.find(restuid, uid);
      return customer && { ...shown(customer), currency: (await requireRestaurant(store.db, restuid)).currency };
    },
    entriesOf: async (restuid, uid, asked) => {
      const { items, next } = await customers.entries(restuid, uid, asked);
      return { items: items.map(({ loyaltyPoints: balance, ...entry }) => ({ ...entry, balance })), next };
    },
    movePoints: (actor, restuid, uid, change) =>
      customers.movePoints({ restuid, uid, ...change, readNow: () => clock.now() }, (tx) =>
        appendChange(tx, box, clock.now(), {
          action: 'tenant.changed',
          actor,
          tenants: [restuid],
          reason: change.reason,
          details: JSON.stringify({ operation: 'loyaltylog/create', client_uid: uid, diff_op: change.diffOp }),
        }),
      ),
  };
};

type Customer = NonNullable<Awaited<ReturnType<ReturnType<typeof createStaffCustomers>['find']>>>;

const shown = ({ first_name, last_name, orders_count, orders_total, loyalty_points, ...customer }: Customer) => ({
  uid: customer.uid,
  firstName: first_name,
  lastName: last_name,
  email: customer.email,
  phone: customer.phone,
  address: addressOf(customer),
  code: customer.code,
  added: customer.added,
  ordersCount: orders_count,
  ordersTotal: orders_total,
  firstOrder: customer.first_order,
  lastOrder: customer.last_order,
  points: loyalty_points,
});

/** In one line; null without any part. */
const addressOf = ({ address, number, zip, city }: Pick<Customer, 'address' | 'number' | 'zip' | 'city'>) => {
  const parts = [address, number, zip, city].filter((part) => part !== null && part !== '');
  return parts.length === 0 ? null : parts.join(' ');
};

/**
 * Restaurants with menus, customers, orders, the ledger and coupons. The first restaurant was made by the program, with a
 * menu and one order; the others have its locations and menu under their own uid. Rows are written in the sequence of
 * their time, so those of one restaurant are spread over the table as they are in a store that has grown.
 */
import pg from 'pg';
import { columnsOf, otherUid, withoutIndexes } from './fill.ts';
import type { Size } from './size.ts';

/** What each restaurant has as the first one has it. */
const copied = [
  ['ordering.restaurants', 'uid'],
  ['ordering.locations', 'restuid'],
  ['ordering.menus', 'restuid'],
  ['ordering.categories', 'restuid'],
  ['ordering.products', 'restuid'],
  ['ordering.tallies', 'restuid'],
  ['ordering.coupon_generators', 'restuid'],
  ['outbox.switches', 'tenant'],
  ['gateway.tenants', 'id'],
] as const;

const copyRestaurant = async (client: pg.PoolClient, first: string, { restaurants }: Size): Promise<void> => {
  for (const [table, key] of copied) {
    const columns = await columnsOf(client, table);
    const value = (name: string): string =>
      name === key
        ? otherUid('number')
        : table === 'ordering.restaurants' && name === 'name'
          ? `name || ' ' || number`
          : name;
    await client.query(
      `insert into ${table} (${columns.join(', ')}) select ${columns.map(value).join(', ')}
       from ${table}, generate_series(1, ${restaurants - 1}) as number where ${key} = ${pg.escapeLiteral(first)}`,
    );
  }
};

/** One round gives each other restaurant one order, and the first one its share of them. */
const ordersInTime = (first: string, { restaurants, ordersOfOthers, firstShare }: Size): string => `
  (select ${pg.escapeLiteral(first)} as shop, round * ${firstShare} + turn as nth, ${firstShare} as share, round
   from generate_series(0, ${ordersOfOthers - 1}) as round, generate_series(1, ${firstShare}) as turn
   union all
   select ${otherUid('other')}, round + 1, 1, round
   from generate_series(0, ${ordersOfOthers - 1}) as round, generate_series(1, ${restaurants - 1}) as other
   order by 4) as placed`;

/** Each customer has two orders, one after the other. */
const customerOf = (order: string): string => `'cus_' || to_char((${order} + 1) / 2, 'FM000000000')`;

/** When the order with this number was made: over three years, up to now. */
const dateOf = (number: string, { ordersOfOthers }: Size): string =>
  `(now() - interval '3 years' * (1 - ((${number} - 1) / share)::float8 / ${ordersOfOthers}))`;

/** The last hundredth of the orders is still open. */
const isOpen = ({ ordersOfOthers }: Size): string => `round >= ${Math.floor(ordersOfOthers * 0.99)}`;

const fillOrders = async (client: pg.PoolClient, first: string, size: Size): Promise<void> => {
  const changed: Record<string, string> = {
    restuid: 'shop',
    uid: `'ord_' || to_char(nth, 'FM000000000')`,
    number: 'nth',
    date: dateOf('nth', size),
    updated: dateOf('nth', size),
    status: `case when ${isOpen(size)} then 'confirmed' else 'closed' end`,
    seq: `case when ${isOpen(size)} then 2 else 3 end`,
    settled: dateOf('nth', size),
    customer_uid: customerOf('nth'),
    client: `jsonb_set(made.client, '{email}', to_jsonb('person' || (nth + 1) / 2 || '@example.com'))`,
    ...{ countdown_end: 'null', countdown_started: 'null', external_id: 'null', external_owner: 'null' },
    ...{ external_hash: 'null', receipt: 'null', confirmed: 'true' },
  };
  const columns = await columnsOf(client, 'ordering.orders');
  // The order that the program made has the number of one of these, and is their pattern.
  await client.query(
    `with made as (delete from ordering.orders where restuid = ${pg.escapeLiteral(first)} returning *)
     insert into ordering.orders (${columns.join(', ')})
     select ${columns.map((name) => changed[name] ?? `made.${name}`).join(', ')} from ${ordersInTime(first, size)}, made`,
  );
  await client.query(
    `delete from ordering.counters where name = 'orders';
     insert into ordering.counters (restuid, name, last)
       select restuid, 'orders', count(*) from ordering.orders group by restuid;
     insert into ordering.tallies (restuid, name, slot, count)
       select restuid, 'orders_' || status, 99, count(*) from ordering.orders group by restuid, status`,
  );
};

const ordersOfCustomer = 2;
/** Of each second customer the second order gave points. */
const hasEntry = 'nth % 4 = 0';

const fillCustomers = async (client: pg.PoolClient, first: string, size: Size): Promise<void> => {
  const entries = `case when ${hasEntry} then 1 else 0 end`;
  await client.query(
    `delete from ordering.customers where restuid = ${pg.escapeLiteral(first)};
     delete from ordering.tallies where name = 'customers'`,
  );
  await client.query(
    `insert into ordering.customers (restuid, uid, seq, added, email, first_name, last_name, phone, orders_count,
       pickup_orders_count, delivery_orders_count, offline_orders_count, orders_total, first_order, last_order,
       loyalty_seq, loyalty_points)
     select shop, ${customerOf('nth')}, 1, ${dateOf('nth - 1', size)}, 'person' || nth / 2 || '@example.com',
       'Name' || nth % 5000, 'Family' || nth % 20000, '+39 02 ' || nth, ${ordersOfCustomer},
       0, 0, 0, ${ordersOfCustomer} * pattern.total, ${dateOf('nth - 1', size)}, ${dateOf('nth', size)},
       ${entries}, ${entries} * 100
     from ${ordersInTime(first, size)}, (select total from ordering.orders limit 1) as pattern where nth % 2 = 0`,
  );
  await client.query(
    `insert into ordering.tallies (restuid, name, slot, count)
       select restuid, 'customers', 99, count(*) from ordering.customers group by restuid`,
  );
};

const fillLedger = async (client: pg.PoolClient, first: string, size: Size): Promise<void> => {
  await client.query(
    `insert into ordering.loyalty_entries (restuid, uid, customer_uid, seq, loyalty_points, type, input_type, diff_op,
       diff_points, diff_value, currency, created, order_uid, cause)
     select shop, 'loy_' || to_char(nth, 'FM000000000'), ${customerOf('nth')}, 1, 100, 'order', 'value', 'add',
       100, 100, 'EUR', ${dateOf('nth', size)}, 'ord_' || to_char(nth, 'FM000000000'),
       'ord_' || to_char(nth, 'FM000000000')
     from ${ordersInTime(first, size)} where ${hasEntry}`,
  );
  await client.query(
    `insert into ordering.tallies (restuid, name, slot, count)
       select restuid, 'loyalty_entries', 99, count(*) from ordering.loyalty_entries group by restuid;
     insert into ordering.coupons (restuid, code, gencode, discount_perc, quantity, order_min, valid_weekdays, created)
       select restuid, upper(md5(restuid || uid)), gencode, discount_perc, 1, 0, '{}', now()
       from ordering.loyalty_entries join ordering.coupon_generators using (restuid) where loyalty_entries.uid like '%0'`,
  );
};

/** `first`: uid of the restaurant that the program has made. */
export const fillOrdering = async (client: pg.PoolClient, first: string, size: Size): Promise<void> => {
  await copyRestaurant(client, first, size);
  const tables = ['ordering.orders', 'ordering.customers', 'ordering.loyalty_entries'];
  await withoutIndexes(client, tables, async () => {
    await fillOrders(client, first, size);
    await fillCustomers(client, first, size);
    await fillLedger(client, first, size);
  });
};

/** A long past for a restaurant, made by the database: customers, orders, ledger and everything that is summed up of them. */
import type pg from 'pg';
import { allowSilence } from '#src/platform/db/driver/pg-client.ts';

type History = { restuid: string; orders: number; customers: number };

/**
 * `orders` includes the orders that are there; the first of them is copied with another uid, number, customer and date, one
 * a minute backwards from now. All but the newest hundredth are closed. Every fourth has given points. Of an empty ledger.
 */
export const makeHistory = async (pool: pg.Pool, { restuid, orders, customers }: History): Promise<void> => {
  const client = await pool.connect();
  try {
    // On a busy machine a million orders take longer than a server may be silent.
    allowSilence(client);
    await client.query('begin');
    await client.query('set local statement_timeout = 0');
    await client.query(
      `insert into ordering.customers (restuid, uid, seq, added, email, first_name, last_name, phone)
       select $1, 'cus_' || to_char(i, 'FM000000000'), 1, now() - interval '3 years' + make_interval(secs => i),
         'person' || i || '@example.com', 'Name' || i % 5000, 'Family' || i % 20000, '+39 02 ' || i
       from generate_series(1, $2::integer) i`,
      [restuid, customers],
    );
    const columns = await client.query<{ name: string }>(
      `select attname as name from pg_attribute
       where attrelid = 'ordering.orders'::regclass and attnum > 0 and not attisdropped`,
    );
    const changed: Record<string, string> = {
      uid: `'ord_' || to_char(i, 'FM000000000')`,
      number: 'i',
      date: `now() - make_interval(mins => $2::integer - i)`,
      updated: `now() - make_interval(mins => $2::integer - i)`,
      status: `case when i > $2::integer * 0.99 then 'confirmed' else 'closed' end`,
      customer_uid: `'cus_' || to_char(i % $3::integer + 1, 'FM000000000')`,
      countdown_end: 'null',
      external_id: 'null',
      external_owner: 'null',
      external_hash: 'null',
      receipt: 'null',
    };
    const names = columns.rows.map(({ name }) => name);
    // One tally for all of them instead of one for each.
    await client.query('alter table ordering.orders disable trigger orders_tally');
    await client.query(
      `insert into ordering.orders (${names.join(', ')})
       select ${names.map((name) => changed[name] ?? `o.${name}`).join(', ')}
       from (select * from ordering.orders where restuid = $1 order by number limit 1) o,
         generate_series((select last + 1 from ordering.counters where restuid = $1 and name = 'orders'), $2::integer) i`,
      [restuid, orders, customers],
    );
    await client.query('alter table ordering.orders enable trigger orders_tally');
    await client.query(
      `insert into ordering.tallies (restuid, name, slot, count)
       select restuid, 'orders_' || status, 99, count(*) from ordering.orders
       where restuid = $1 and uid like 'ord\\_0%' and status <> 'new' group by restuid, status`,
      [restuid],
    );
    await client.query(`update ordering.counters set last = $2 where restuid = $1 and name = 'orders'`, [
      restuid,
      orders,
    ]);
    await client.query(
      `insert into ordering.loyalty_entries (restuid, uid, customer_uid, seq, loyalty_points, type, input_type, diff_op,
         diff_points, diff_value, currency, created, order_uid, cause)
       select restuid, 'loy_' || to_char(number, 'FM000000000'), customer_uid, place, place * 100, 'order', 'value', 'add',
         100, 100, currency, date, uid, uid
       from (select *, row_number() over (partition by customer_uid order by number) as place from ordering.orders
         where restuid = $1 and status = 'closed' and number % 4 = 0 and uid like 'ord\\_0%') o`,
      [restuid],
    );
    await client.query(
      `update ordering.customers c set orders_count = o.orders, pickup_orders_count = o.pickups,
         offline_orders_count = o.offline, orders_total = o.total, first_order = o.first, last_order = o.last,
         loyalty_seq = coalesce(e.entries, 0), loyalty_points = coalesce(e.entries, 0) * 100
       from (select customer_uid, count(*) as orders, count(*) filter (where dmethod = '0') as pickups,
           count(*) filter (where creator = 'restaurant') as offline, sum(total) as total, min(date) as first,
           max(date) as last
         from ordering.orders where restuid = $1 and uid like 'ord\\_0%' group by customer_uid) o
       left join (select customer_uid, count(*) as entries from ordering.loyalty_entries where restuid = $1
         group by customer_uid) e on e.customer_uid = o.customer_uid
       where c.restuid = $1 and c.uid = o.customer_uid and c.uid like 'cus\\_0%'`,
      [restuid],
    );
    await client.query('commit');
    await client.query('set statement_timeout = 0');
    await client.query(
      'vacuum (analyze) ordering.orders, ordering.customers, ordering.loyalty_entries, ordering.tallies',
    );
  } finally {
    client.release(true);
  }
};

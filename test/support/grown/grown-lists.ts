/**
 * A restaurant as it is after years, made by the database: as many orders, customers, ledger entries, products, imports,
 * deliveries and events as wanted. Values are skewed: one that most rows have, two that each have a tenth and never
 * together, and one that only the three oldest rows have.
 */
import pg from 'pg';
import { allowSilence } from '#src/platform/db/driver/pg-client.ts';

export type Grown = {
  restuid: string;
  clientId: string;
  rows: number;
  /** What the program's clock says. */
  now: Date;
};

type Names = { shop: string; client: string; rows: number; now: string };

/** The restaurant has one order, made by the program. Vacuums and analyzes. */
export const growLists = async (pool: pg.Pool, { restuid, clientId, rows, now }: Grown): Promise<void> => {
  const client = await pool.connect();
  try {
    allowSilence(client);
    const names = {
      ...{ shop: pg.escapeLiteral(restuid), client: pg.escapeLiteral(clientId), rows },
      now: `${pg.escapeLiteral(now.toISOString())}::timestamptz`,
    };
    await client.query('begin');
    await client.query('set local statement_timeout = 0');
    for (const statement of [...customers(names), ...(await orders(client, names)), ...menu(names), ...webhooks(names)])
      await client.query(statement);
    await client.query('commit');
    await client.query('set statement_timeout = 0');
    await client.query('vacuum (analyze)');
  } finally {
    client.release(true);
  }
};

/** Uids of two restaurants in one database differ. */
const uidOf = (prefix: string, { shop }: Names, number = 'i'): string =>
  `'${prefix}_' || right(${shop}, 6) || to_char(${number}, 'FM000000000')`;

/** The newest row is of now, each one before a minute older. */
const timeOf = ({ now, rows }: Names): string => `(${now} - make_interval(mins => ${rows} - i))`;

const series = ({ rows }: Names, from = 1): string => `generate_series(${from}, ${rows}) i`;

const skewed = (most: string, tenth: string, otherTenth: string, rare: string): string =>
  `case when i <= 3 then ${rare} when i % 10 = 0 then ${tenth} when i % 10 = 1 then ${otherTenth} else ${most} end`;

/** One that very many have something of, and others with ten each. */
const customerOf = (names: Names): string => uidOf('cus', names, 'case when i % 5 = 2 then 1 else i / 10 + 2 end');

const customers = (names: Names): string[] => {
  const [at, uid] = [timeOf(names), uidOf('cus', names)];
  return [
    `insert into ordering.customers (restuid, uid, seq, added, email, first_name, last_name, phone, code,
       subrestaurant_uid, signup_uid, devices_unregistered, first_order, last_order)
     select ${names.shop}, ${uid}, 1, ${at}, 'person' || i || '@example.com',
       ${skewed(`'Name' || i`, `'Zoe' || i`, `'Wim' || i`, `'Qxrare'`)}, 'Family' || i % 20000, '+39 02 ' || i,
       case when i <= 3 then 'code-' || i end, ${skewed(`'loc_most'`, `'loc_tenth'`, 'null', `'loc_rare'`)},
       ${skewed(`'sig_' || i`, 'null', `'sig_' || i`, 'null')},
       case when i <= 3 then ${names.now} when i % 10 = 1 then ${at} end,
       case when i <= 3 then ${names.now} when i % 10 <> 2 then ${at} end,
       case when i <= 3 then ${names.now} when i % 10 <> 3 then ${at} end
     from ${series(names)}`,
    `insert into ordering.loyalty_entries (restuid, uid, customer_uid, seq, loyalty_points, type, input_type, diff_op,
       diff_points, currency, created, order_uid)
     select ${names.shop}, ${uidOf('loy', names)}, ${customerOf(names)}, i, 100,
       ${skewed(`'order'`, `'manual'`, `'signup'`, `'coupon'`)}, 'points', 'add', 100, 'EUR', ${at}, ${uidOf('ord', names)}
     from ${series(names)}`,
  ];
};

const orders = async (client: pg.PoolClient, names: Names): Promise<string[]> => {
  const [at, uid] = [timeOf(names), uidOf('ord', names)];
  const changed: Record<string, string> = {
    ...{ uid, number: 'i', date: at, updated: `case when i <= 4 then ${names.now} else ${at} end` },
    status: skewed(`'closed'`, `'cancelled'`, `'confirmed'`, `'timed_out'`),
    dmethod: skewed(`'0t'`, `'1'`, `'0t'`, `'0e-7'`),
    location_uid: skewed(`'loc_most'`, `'loc_most'`, `'loc_tenth'`, `'loc_rare'`),
    customer_uid: customerOf(names),
    external_id: `case when i <= 4 then 'e-' || i end`,
    external_owner: `case when i <= 4 then 'opc' end`,
    ...{ countdown_end: 'null', external_hash: 'null', receipt: 'null' },
  };
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = 'ordering.orders'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  );
  const columns = rows.map(({ name }) => name);
  return [
    // One tally for all of them instead of one for each.
    'alter table ordering.orders disable trigger orders_tally',
    `insert into ordering.orders (${columns.join(', ')})
     select ${columns.map((name) => changed[name] ?? `o.${name}`).join(', ')}
     from (select * from ordering.orders where restuid = ${names.shop} order by number limit 1) o, ${series(names, 2)}`,
    'alter table ordering.orders enable trigger orders_tally',
    `insert into ordering.tallies (restuid, name, slot, count)
     select restuid, 'orders_' || status, 99, count(*) from ordering.orders
     where restuid = ${names.shop} and number > 1 and status <> 'new' group by restuid, status`,
    `update ordering.counters set last = ${names.rows} where restuid = ${names.shop} and name = 'orders'`,
  ];
};

const categories = 20;

const menu = (names: Names): string[] => {
  const [at, category] = [timeOf(names), uidOf('cat', names, `i % ${categories} + 1`)];
  return [
    `insert into ordering.categories (restuid, uid, name, hidden, position, subrestaurant_uids, options)
     select ${names.shop}, ${uidOf('cat', names)}, ${skewed(`'Dishes ' || i`, `'Pizze ' || i`, `'Wines ' || i`, `'Qxrare ' || i`)},
       i % 10 = 0, i, '{}', '[]' from ${series(names)}`,
    `insert into ordering.products (restuid, uid, category_uid, name, price, prices_table, allergens, symbols, suggested,
       price_sale_alert, price_sale_badge, checkout_selling, hidden, position, subrestaurant_uids, inherits_options, options)
     select ${names.shop}, ${uidOf('prd', names)}, ${category}, ${skewed(`'Dish ' || i`, `'Pizza ' || i`, `'Wine ' || i`, `'Qxrare ' || i`)},
       850, '{}', '{}', '{}', false, false, 0, false, i % 10 = 3, ${names.rows} - i, '{}', 'sync', '[]' from ${series(names)}`,
    `insert into ordering.menu_imports (restuid, uid, client_id, kind, state, percent, pos_uid, update_mode, version,
       base_version, plan_id, created, touched, counts, removal_percent)
     select ${names.shop}, ${uidOf('imp', names)}, ${names.client}, 'import', case when i <= 3 then 'running' else 'applied' end,
       100, 'till', 'merge', i, i - 1, 'pln_' || i, ${at}, case when i <= 3 then clock_timestamp() + interval '1 day' else ${at} end,
       (select jsonb_object_agg(kind, '{"created":0,"updated":0,"unchanged":0,"removed":0}'::jsonb)
        from unnest(array['categories', 'products', 'options', 'option_values']) as kind), 0
     from ${series(names)}`,
  ];
};

/** An owner has twenty at most, so their number does not grow with the years. */
const endpoints = 40;

const webhooks = (names: Names): string[] => {
  // Kept for a month only, however many there are.
  const at = `(${names.now} - make_interval(secs => (${names.rows} - i) * 1728000.0 / ${names.rows}))`;
  const event = `platform.id_bound('evt', ${at}) || right(${names.shop}, 6) || to_char(i, 'FM000000000')`;
  const endpoint = (number: string): string => uidOf('whe', names, number);
  const named = skewed(`'order.new'`, `'order.status'`, `'customer.changed'`, `'loyaltylog.created'`);
  const kind = skewed(`'orders'`, `'orders'`, `'customers'`, `'loyaltylog'`);
  return [
    `insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, enabled, secret, created)
     select ${names.shop}, ${endpoint('i')}, 'api_client', ${names.client}, 'http://127.0.0.1:9/', '{orders}', false, '', ${at}
     from generate_series(1, ${endpoints}) i`,
    `insert into outbox.events (id, tenant, kind, event, entity, seq, created, body, queued)
     select ${event}, ${names.shop}, ${kind}, ${named}, ${customerOf(names)}, i, ${at}, '{}', true from ${series(names)}`,
    // In the sequence of time, also where another restaurant has its own.
    `insert into outbox.places (event_id, place, tenant, kind, event, entity, created)
     select ${event}, (extract(epoch from ${at}) * 1000000)::bigint, ${names.shop}, ${kind}, ${named}, ${customerOf(names)},
       ${at} from ${series(names)}`,
    // Of three endpoints; the others have none.
    `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
       attempts_count, created, redelivery_uid)
     select ${names.shop}, ${uidOf('dlv', names)}, ${endpoint(skewed('1', '2', '2', '3'))}, ${event}, ${named}, ${kind},
       ${customerOf(names)}, i, i, ${skewed(`'succeeded'`, `'exhausted'`, `'cancelled'`, `'waiting'`)}, 1, ${at},
       case when i <= 3 then 'rdl_rare' when i % 10 = 2 then 'rdl_tenth' end
     from ${series(names)}`,
  ];
};

/** Values of each parameter of each list: of most rows, of a tenth, of another tenth, of three, of none. */
export const askedOf = ({ restuid, rows, now }: Grown): Record<string, Record<string, readonly string[]>> => {
  const uid = (prefix: string, number: number): string =>
    `${prefix}_${restuid.slice(-6)}${String(number).padStart(9, '0')}`;
  const before = (days: number): string => new Date(now.getTime() - days * 86_400_000).toISOString();
  const day = (days: number): string => before(days).slice(0, 10);
  const [recent, ever, never] = ['1', '4000', '-40'].map(Number) as [number, number, number];
  const from = [day(recent), day(ever), day(never)];
  const to = [day(recent), day(never), day(ever)];
  const spans = (names: readonly string[]): Record<string, readonly string[]> =>
    Object.fromEntries(names.flatMap((name) => [[`${name}_from`, from] as const, [`${name}_to`, to] as const]));
  const oldest = Math.min(rows, 2);
  return {
    '/orders/list': {
      status: ['closed', 'cancelled', 'confirmed', 'timed_out', 'timed_out,cancelled'],
      closed: ['0', '1'],
      ...spans(['date']),
      updated_from: [before(recent), before(ever), before(1 / 2880), before(never)],
      subrestaurant_uid: ['loc_most', 'loc_tenth', 'loc_rare', 'loc_none'],
      dmethod: ['0t', '1', '0e-7', '2'],
      client_uid: [uid('cus', 1), uid('cus', 7), 'cus_none'],
      external_id: ['e-2', 'e-none'],
    },
    '/customerstats/customers': {
      ...spans(['added', 'first_order', 'last_order', 'devices_unregistered']),
      signedup: ['0', '1'],
      subrestaurant_uid: ['loc_most', 'loc_tenth', 'loc_rare', 'loc_none'],
      code: ['code-2', 'code-none'],
      q: ['na', 'zo', 'wi', 'qx', '33', 'name5 fam', 'nomatch'],
    },
    '/loyaltylog/list': {
      client_uid: [uid('cus', 1), uid('cus', 7), 'cus_none'],
      client_email: ['person1@example.com', 'person7@example.com', 'none@example.com'],
      order_uid: [uid('ord', oldest), 'ord_none'],
      type: ['order', 'manual', 'coupon', 'redemption'],
      ...spans(['date']),
    },
    '/menu/categories': { visible: ['0', '1'], q: ['dish', 'pizz', 'qx', 'nothing'] },
    '/menu/products': {
      visible: ['0', '1'],
      q: ['dish', 'pizz', 'qx', 'nothing'],
      catuid: [uid('cat', 3), uid('cat', 10)],
    },
    '/menu/imports': { version: ['2'], plan_id: ['pln_2'] },
    '/webhook/endpoints': {},
    '/webhook/deliveries': {
      endpoint_uid: [uid('whe', 1), uid('whe', 2), uid('whe', 3), 'whe_none'],
      event_id: ['evt_none'],
      event: ['order.new', 'order.status', 'loyaltylog.created', 'none'],
      state: ['succeeded', 'exhausted', 'cancelled', 'waiting', 'pending'],
      redelivery_uid: ['rdl_tenth', 'rdl_rare', 'rdl_none'],
      since: [before(10), before(ever), before(never)],
    },
    '/events/list': {
      since: [before(10), before(ever), before(never)],
      kinds: ['orders', 'customers', 'loyaltylog', 'menu'],
      event: ['order.new', 'order.status', 'loyaltylog.created', 'none'],
      entity: [uid('cus', 1), uid('cus', 7), 'cus_none'],
    },
  };
};

/** What pages a list, which is no filter. */
export const pagingNames = ['page', 'pagesize', 'cursor', 'after', 'restuid'];

export type AskedQuery = Record<string, string>;

/** Without a filter, with each value of each alone, and with each pair of which at least one has its first value. */
export const queriesOf = (asked: Record<string, readonly string[]>): AskedQuery[] => {
  const names = Object.keys(asked);
  const alone = names.flatMap((name) => (asked[name] ?? []).map((value) => ({ [name]: value })));
  const pairs = names.flatMap((a, i) => names.slice(i + 1).flatMap((b) => together(a, asked[a], b, asked[b])));
  return [{}, ...alone, ...pairs];
};

const together = (
  a: string,
  [a0, a1]: readonly string[] = [],
  b: string,
  [b0, b1]: readonly string[] = [],
): AskedQuery[] =>
  [
    [a0, b0],
    [a0, b1],
    [a1, b0],
  ].flatMap(([first, second]) => (first === undefined || second === undefined ? [] : [{ [a]: first, [b]: second }]));

/**
 * Multiplies the demo's week into what a restaurant leaves in a year: rows copied by SQL with other ids and times, since a
 * test cannot wait for them. Hashes of the copied audit events are not true; no page of a list reads them.
 */

const id = (prefix: string, moment: string): string =>
  `platform.id_bound('${prefix}', ${moment}) || lpad(n::text, 16, '0')`;

/** Seconds of a year and of the days that deliveries and requests are kept. */
const year = 365 * 86_400;
const month = 28 * 86_400;

/** A moment for row `n` of `count`, evenly over the last `seconds`. */
const momentOf = (count: number, seconds: number): string =>
  `now() - interval '1 hour' - n * (${seconds} / ${count}::float) * interval '1 second'`;

const copies = (from: string, count: number): string =>
  `(select row_number() over () as copy_of, count(*) over () as copied_rows, * from ${from}) as one
   join generate_series(1, ${count}) as n on one.copy_of = n % one.copied_rows + 1`;

const orders = 50_000;
const customers = 8_000;
const entries = 50_000;
const deliveries = 40_000;
const audit = 150_000;
const requests = 50_000;

/** Every column of `table`, with some replaced by an expression. */
export type ColumnsOf = (table: string) => Promise<readonly string[]>;

const select = async (
  columnsOf: ColumnsOf,
  table: string,
  source: string,
  replaced: Readonly<Record<string, string>>,
): Promise<string> => {
  const columns = await columnsOf(table);
  const values = columns.map((column) => replaced[column] ?? `one.${column}`);
  return `insert into ${table} (${columns.join(', ')}) overriding system value select ${values.join(', ')} from ${source}`;
};

/** The statements, in their sequence. */
export const yearStatements = async (columnsOf: ColumnsOf): Promise<string[]> => {
  const [ordered, delivered, requested] = [
    momentOf(orders, year),
    momentOf(deliveries, month),
    momentOf(requests, month),
  ];
  // The months before this one.
  const audited = 334 * 86_400;
  return [
    // Triggers would count each row: the tallies are written at the end.
    `set session_replication_role = replica`,
    `select gateway.make_request_day(now() - d * interval '1 day') from generate_series(0, 29) as d`,
    await select(columnsOf, 'ordering.customers', copies('ordering.customers where code is null', customers), {
      uid: id('cus', momentOf(customers, year)),
      added: momentOf(customers, year),
      email: `'guest' || n || '@example.org'`,
    }),
    await select(columnsOf, 'ordering.orders', copies('ordering.orders where external_id is not null', orders), {
      uid: id('ord', ordered),
      number: '1000 + n',
      date: ordered,
      updated: ordered,
      external_id: 'null',
      external_owner: 'null',
      status: `case when one.status = 'new' then 'closed' else one.status end`,
    }),
    await select(columnsOf, 'ordering.loyalty_entries', copies('ordering.loyalty_entries', entries), {
      uid: id('lyl', momentOf(entries, year)),
      seq: '1000 + n',
      created: momentOf(entries, year),
      cause: 'null',
    }),
    await select(columnsOf, 'outbox.events', copies('outbox.events', deliveries), {
      position: `nextval('outbox.event_positions')`,
      id: id('evt', delivered),
      created: delivered,
      // No list reads it.
      body: `'{}'`,
    }),
    await select(columnsOf, 'outbox.places', copies('outbox.places', deliveries), {
      event_id: id('evt', delivered),
      place: `nextval('outbox.feed_positions')`,
      created: delivered,
    }),
    await select(
      columnsOf,
      'webhooks.deliveries',
      copies(`webhooks.deliveries where state in ('succeeded', 'exhausted')`, deliveries),
      { uid: id('dlv', delivered), event_id: id('evt', delivered), created: delivered, finished: delivered },
    ),
    await select(columnsOf, 'webhooks.attempts', copies('webhooks.attempts', deliveries), {
      uid: id('att', delivered),
      delivery_uid: id('dlv', delivered),
      number: '1',
      event_id: id('evt', delivered),
      started: delivered,
    }),
    await select(columnsOf, 'gateway.audit_chains', '(select * from gateway.audit_chains where chain = 0) as one', {
      chain: '1000',
      process: `'a year'`,
      seq: '0',
    }),
    `create unlogged table gateway.year_of_audit (like gateway.audit_events including defaults)`,
    await select(columnsOf, 'gateway.audit_events', copies('gateway.audit_events where chain > 0', audit), {
      chain: '1000',
      seq: 'n',
      at: `date_trunc('month', now()) - n * (${audited} / ${audit}::float) * interval '1 second'`,
    }).then((text) => text.replace('gateway.audit_events', 'gateway.year_of_audit')),
    // A month that gets its rows before its indexes is made in a tenth of the time.
    `do $$ declare first timestamptz; part text; begin
       for m in 1..12 loop
         first := date_trunc('month', now()) - m * interval '1 month';
         part := 'gateway.audit_events_' || to_char(first, 'YYYYMM');
         continue when to_regclass(part) is not null;
         execute format('create table %s (like gateway.audit_events including defaults)', part);
         execute format('insert into %s select * from gateway.year_of_audit where at >= %L and at < %L', part, first,
           first + interval '1 month');
         execute format('alter table gateway.audit_events attach partition %s for values from (%L) to (%L)', part, first,
           first + interval '1 month');
       end loop;
     end $$`,
    `drop table gateway.year_of_audit`,
    await select(columnsOf, 'gateway.audit_hours', copies('gateway.audit_hours', 60_000), {
      hour: `date_trunc('hour', one.hour - (n / one.copied_rows + 1) * interval '8 days')`,
    }).then((text) => `${text} on conflict do nothing`),
    await select(columnsOf, 'gateway.requests', copies('gateway.requests', requests), {
      at: requested,
      number: '1000 + n',
    }),
    await select(columnsOf, 'gateway.request_hours', copies('gateway.request_hours', requests), {
      hour: `date_trunc('hour', ${requested})`,
    }).then((text) => `${text} on conflict do nothing`),
    await select(columnsOf, 'gateway.caller_usage', copies('gateway.caller_usage', 1_000), {
      day: `date_trunc('day', ${momentOf(1_000, year)})`,
    }).then((text) => `${text} on conflict do nothing`),
    `insert into ordering.tallies (restuid, name, slot, count)
       select restuid, 'orders_' || status, 100, count(*) from ordering.orders where number > 1000 group by restuid, status
       union all select restuid, 'customers', 100, count(*) from ordering.customers where email like '%@example.org' group by restuid
       union all select restuid, 'loyalty_entries', 100, count(*) from ordering.loyalty_entries where seq > 1000 group by restuid`,
    `set session_replication_role = origin`,
    `analyze`,
  ];
};

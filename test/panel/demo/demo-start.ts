/** Starts with `--demo-data`, and what is in their stores. */

import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { makeDataDir, type RunningProgram, root, startProgram } from '../../support/program.ts';
import { query } from '../../support/store-owner.ts';

export const closers: (() => unknown)[] = [];
/** For `afterEach` of each file: the last first. */
export const closeAll = async (): Promise<void> => {
  for (const close of closers.splice(0).reverse()) await close();
};

export const newFolder = (): Record<string, string> => {
  const data = makeDataDir();
  closers.push(data.remove);
  return { ORDERPASS_DATA_DIR: data.path };
};

export const start = async (env: Record<string, string>, ...flags: string[]): Promise<RunningProgram> => {
  const program = await startProgram(env, root, flags);
  closers.push(() => program.kill());
  return program;
};

/** `undefined`: the store takes no connection yet. */
export const ask = async (
  env: Record<string, string>,
  statement: string,
): Promise<Record<string, unknown>[] | undefined> => {
  const found = await embeddedConnection(env.ORDERPASS_DATA_DIR ?? '').catch(() => undefined);
  if (found === undefined) return undefined;
  return (await query(found.connection, statement)) as Record<string, unknown>[];
};

export const counts = `select (select count(*)::int from ordering.orders) as orders,
  (select count(*)::int from ordering.customers) as customers,
  (select count(*)::int from ordering.loyalty_entries) as entries,
  (select count(*)::int from gateway.clients) as clients,
  (select count(*)::int from webhooks.endpoints) as endpoints,
  (select count(distinct external_id)::int from ordering.orders where external_id like 'week-%') as planned`;

/** Figures that are stored beside what they are about, and differ from it. */
export const contradictions = `
  select 'customer ' || c.uid as wrong from ordering.customers c
    where c.loyalty_points <> coalesce((select sum(case diff_op when 'add' then diff_points else -diff_points end)
      from ordering.loyalty_entries e where e.restuid = c.restuid and e.customer_uid = c.uid), 0)
  union all select 'orders of ' || c.uid from ordering.customers c
    where (c.orders_count, c.orders_total) <> (select count(*)::int, coalesce(sum(total), 0)::bigint from ordering.orders o
      where o.restuid = c.restuid and o.customer_uid = c.uid and o.status <> 'cancelled' and o.status <> 'timed_out')
  union all select 'tally ' || s.status from (select status, count(*) as count from ordering.orders where status <> 'new' group by 1) s
    where s.count <> (select sum(count) from ordering.tallies where name = 'orders_' || s.status)
  union all select 'delivery ' || d.uid from webhooks.deliveries d
    where d.attempts_count <> (select count(*) from webhooks.attempts a where a.delivery_uid = d.uid)
      or d.created > now() or d.created < now() - interval '8 days'
  union all select 'event ' || e.id from outbox.events e where e.created > now()`;

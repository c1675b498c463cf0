/**
 * How many deliveries are unfinished. The cost is bounded: the first `countedMax` entries of the index of unfinished
 * deliveries, and one entry for each of at most `endpointsMax` endpoints with pending ones.
 */
import { type Kysely, sql } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';

/**
 * `pending` and `waiting`: counted up to `countedMax` together. `oldestDue`: at endpoints whose last attempt succeeded
 * or that had none. `oldestHeld`: at endpoints that fail or are disabled. Null when nothing is due.
 */
export type QueueFigures = { pending: number; waiting: number; oldestDue: Date | null; oldestHeld: Date | null };

type QueueBounds = { countedMax: number; endpointsMax: number };

export const readQueue = (db: Kysely<unknown>, now: Date, bounds: QueueBounds): Promise<QueueFigures> =>
  inTransaction(db, async (tx) => {
    // With old statistics the planner would scan the table with all finished deliveries to find a few.
    await sql`select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name`.execute(
      tx,
    );
    const { rows } = await sql<QueueFigures>`
      with recursive unfinished as (
        select state from webhooks.deliveries where state in ('pending', 'waiting') limit ${bounds.countedMax}
      ), stepped (endpoint_uid, due, steps) as (
        (select endpoint_uid, next_attempt_at, 1 from webhooks.deliveries
          where state = 'pending' order by endpoint_uid, next_attempt_at limit 1)
        union all
        select next.endpoint_uid, next.next_attempt_at, steps + 1 from stepped cross join lateral (
          select after.endpoint_uid, after.next_attempt_at from webhooks.deliveries as after
          where after.state = 'pending' and after.endpoint_uid > stepped.endpoint_uid
          order by after.endpoint_uid, after.next_attempt_at limit 1
        ) as next where steps < ${bounds.endpointsMax}
      ), due as materialized (
        select due, failing_since is not null or enabled is not true as held from stepped
        left join webhooks.endpoints as endpoint on endpoint.uid = endpoint_uid
        left join webhooks.endpoint_health as health on health.endpoint_uid = stepped.endpoint_uid
        where due <= ${now}
      )
      select (select count(*) from unfinished where state = 'pending')::int as pending,
        (select count(*) from unfinished where state = 'waiting')::int as waiting,
        (select min(due) from due where not held) as "oldestDue",
        (select min(due) from due where held) as "oldestHeld"`.execute(tx);
    const [row] = rows;
    if (row === undefined) throw new Error('the queue was not read');
    return row;
  });

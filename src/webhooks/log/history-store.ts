/** Results of an endpoint's deliveries and attempts over time, for the panel. Each query reads a bounded number of rows. */
import { type Kysely, sql } from 'kysely';

export type HistoryStep = {
  start: Date;
  /** Confirmed by the first attempt, and by a later one. */
  atOnce: number;
  later: number;
  failed: number;
  cancelled: number;
  /** Every attempt has failed so far, and another one follows. */
  retrying: number;
  /** Not attempted yet. */
  open: number;
};

/** Deliveries that one step counts at most, the newest first. */
export const historyStepMax = 500;

type HistorySpan = { tenant: string; endpointUid: string; from: Date; stepMs: number; steps: number };

/** Deliveries of each span of time by their result, oldest span first. Spans without deliveries are zeros. */
export const readHistory = async (
  db: Kysely<unknown>,
  { tenant, endpointUid, from, stepMs, steps }: HistorySpan,
): Promise<HistoryStep[]> => {
  const { rows } = await sql<HistoryStep>`
    select step.start, count(*) filter (where state = 'succeeded' and attempts_count <= 1) as "atOnce",
      count(*) filter (where state = 'succeeded' and attempts_count > 1) as later,
      count(*) filter (where state = 'exhausted') as failed, count(*) filter (where state = 'cancelled') as cancelled,
      count(*) filter (where state in ('pending', 'waiting') and attempts_count > 0) as retrying,
      count(*) filter (where state in ('pending', 'waiting') and attempts_count = 0) as open
    from (
      select ${from}::timestamptz + number * ${stepMs}::float8 * interval '1 millisecond' as start
      from generate_series(0, ${steps}::integer - 1) as number
    ) as step
    left join lateral (
      select state, attempts_count from webhooks.deliveries as delivery
      where delivery.tenant = ${tenant} and delivery.endpoint_uid = ${endpointUid} and delivery.created >= step.start
        and delivery.created < step.start + ${stepMs}::float8 * interval '1 millisecond'
      order by delivery.created desc, delivery.uid desc limit ${historyStepMax}
    ) as delivery on true
    group by step.start order by step.start`.execute(db);
  return rows;
};

/** Attempts by the time at which they began. */
export type AttemptStep = { succeededAttempts: number; failedAttempts: number };

/** Deliveries from before the first step may have attempts in it: they are tried for three days. */
const triedDays = 4;
const earlierMax = 2_000;

/**
 * Attempts of each span of time by their result, oldest span first. Of a delivery that its first attempt confirmed no
 * attempt is read: the delivery says when that was.
 */
export const readAttemptHistory = async (
  db: Kysely<unknown>,
  { tenant, endpointUid, from, stepMs, steps }: HistorySpan,
): Promise<AttemptStep[]> => {
  const ofEndpoint = sql`
    select uid, event_id, attempts_count, coalesce(finished, created) as ended, state = 'succeeded' as is_confirmed
    from webhooks.deliveries as delivery
    where tenant = ${tenant} and endpoint_uid = ${endpointUid}`;
  const stepSeconds = stepMs / 1000;
  const { rows } = await sql<AttemptStep>`
    with steps as (select number from generate_series(0, ${steps}::integer - 1) as number),
    delivered as materialized (
      select delivery.* from steps cross join lateral (
        ${ofEndpoint} and created >= ${from}::timestamptz + number * ${stepSeconds}::float8 * interval '1 second'
          and created < ${from}::timestamptz + (number + 1) * ${stepSeconds}::float8 * interval '1 second'
        order by created desc limit ${historyStepMax}
      ) as delivery
      union all (
        ${ofEndpoint} and created < ${from} and created >= ${from}::timestamptz - ${triedDays}::integer * interval '1 day'
        order by created desc limit ${earlierMax}
      )
    ), tried as (
      select ended as at, true as succeeded from delivered where is_confirmed and attempts_count = 1
      union all
      select attempt.started, is_confirmed and attempt.number = attempts_count
      from delivered cross join lateral (
        select number, started from webhooks.attempts
        where delivery_uid = delivered.uid and event_id = delivered.event_id offset 0
      ) as attempt
      where attempts_count > 1 or (attempts_count = 1 and not is_confirmed)
    ), counted as (
      select floor(extract(epoch from at - ${from}::timestamptz) / ${stepSeconds}::float8)::integer as number,
        count(*) filter (where succeeded) as succeeded, count(*) filter (where not succeeded) as failed
      from tried group by 1
    )
    select coalesce(succeeded, 0) as "succeededAttempts", coalesce(failed, 0) as "failedAttempts"
    from steps left join counted using (number) order by number`.execute(db);
  return rows;
};

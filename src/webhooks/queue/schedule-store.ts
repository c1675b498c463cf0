/** When to look at endpoints next (`webhooks.ready`): whoever makes deliveries pending tells it in the same statement. */
import { type Kysely, type RawBuilder, sql } from 'kysely';

/** How often an endpoint is looked at while something is on its way to it: what a dead worker had is found so much later at most. */
export const lookMs = 4_000;

/**
 * An insert for the end of a `with`: `changed` names its part that has the endpoint_uid and next_attempt_at of deliveries
 * that are pending now. Inserted ones need no word: a trigger sees to them.
 */
export const makeReady = (changed: string): RawBuilder<unknown> => sql`
  insert into webhooks.ready as known (endpoint_uid, due_at)
  select endpoint_uid, min(next_attempt_at) from ${sql.ref(changed)} where next_attempt_at is not null
  group by endpoint_uid order by endpoint_uid
  on conflict (endpoint_uid) do update set due_at = greatest(excluded.due_at, known.gate)
  where known.due_at > greatest(excluded.due_at, known.gate)`;

/** Before rows of several of them are written in several statements: all in one sequence, as everybody takes them. */
export const lockReadyRows = async (tx: Kysely<unknown>, endpointUids: readonly string[]): Promise<void> => {
  await sql`
    select from webhooks.ready where endpoint_uid = any(${endpointUids}::text[])
    order by endpoint_uid for no key update`.execute(tx);
};

/**
 * When to look at endpoints again, settled anew under the locks of their rows: `lookMs` from now at most. Returns that moment
 * of each; what is not after `now` waits there already.
 */
export const settleTurns = async (
  tx: Kysely<unknown>,
  endpointUids: readonly string[],
  now: Date,
): Promise<Map<string, Date>> => {
  const { rows } = await sql<{ uid: string; dueAt: Date }>`
    update webhooks.ready as known set due_at = least(${new Date(now.getTime() + lookMs)}::timestamptz, (
      select next_attempt_at from webhooks.deliveries as delivery
      where state = 'pending' and delivery.endpoint_uid = known.endpoint_uid
        and (lease_until is null or lease_until <= ${now})
      order by delivery.endpoint_uid, next_attempt_at limit 1
    ))
    where known.endpoint_uid = any(${endpointUids}::text[])
    returning endpoint_uid as uid, due_at as "dueAt"`.execute(tx);
  return new Map(rows.map(({ uid, dueAt }) => [uid, dueAt]));
};

/** The next look at endpoints is `lookMs` from now at most. */
export const lookSoon = async (db: Kysely<unknown>, endpointUids: readonly string[], now: Date): Promise<void> => {
  const until = new Date(now.getTime() + lookMs);
  await sql`
    with locked as materialized (
      select endpoint_uid from webhooks.ready where endpoint_uid = any(${endpointUids}::text[]) and due_at > ${until}
      order by endpoint_uid for no key update
    )
    update webhooks.ready as known set due_at = ${until} from locked
    where known.endpoint_uid = locked.endpoint_uid and known.due_at > ${until}`.execute(db);
};

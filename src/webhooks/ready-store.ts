/** When to look at endpoints next (`webhooks.ready`): whoever makes deliveries pending tells it in the same statement. */
import { type Kysely, type RawBuilder, sql } from 'kysely';

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

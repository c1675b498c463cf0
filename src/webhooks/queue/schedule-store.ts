/**
 * The schedule: when a claim looks at each endpoint next (`webhooks.ready`, one row per endpoint). Every statement that
 * makes deliveries pending brings the look forward. For inserted deliveries a trigger does that.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { withCommit } from '#src/platform/db/transaction.ts';
import { scheduling } from '../pacing/bounds.ts';

const { lookMs } = scheduling;

/** An upsert for the end of a `with`. `changed` names its part with endpoint_uid and next_attempt_at of pending deliveries. */
export const bringForward = (changed: string): RawBuilder<unknown> => sql`
  insert into webhooks.ready as known (endpoint_uid, due_at)
  select endpoint_uid, min(next_attempt_at) from ${sql.ref(changed)} where next_attempt_at is not null
  group by endpoint_uid order by endpoint_uid
  on conflict (endpoint_uid) do update set due_at = greatest(excluded.due_at, known.gate)
  where known.due_at > greatest(excluded.due_at, known.gate)`;

/** Locks the rows of several endpoints in the order that every transaction uses, before several statements write them. */
export const lockSchedule = async (tx: Kysely<unknown>, endpointUids: readonly string[]): Promise<void> => {
  await sql`
    select from webhooks.ready where endpoint_uid = any(${endpointUids}::text[])
    order by endpoint_uid for no key update`.execute(tx);
};

/**
 * Schedules the next look at each endpoint anew, `lookMs` from now at most. Returns those at which no delivery is due at `now`.
 * An endpoint that stays due keeps its turn: by the time of its oldest delivery, each new event would move an endpoint with an old
 * backlog before all others, which would wait until the backlog ends.
 * `alsoWritten`: endpoints whose schedule the transaction writes later. The rows of all are locked first, in the order that every
 * transaction uses. Both statements are sent at once, before those of later calls.
 */
export const reschedule = async (
  tx: Kysely<unknown>,
  endpointUids: readonly string[],
  { alsoWritten, now }: { alsoWritten: readonly string[]; now: Date },
): Promise<Set<string>> => {
  const locked = withCommit(tx, lockSchedule(tx, [...new Set([...endpointUids, ...alsoWritten])]));
  const { rows } = await sql<{ uid: string; isDue: boolean }>`
    update webhooks.ready as known set due_at = least(${new Date(now.getTime() + lookMs)}::timestamptz, (
      select greatest(next_attempt_at, least(known.due_at, ${now})) from webhooks.deliveries as delivery
      where state = 'pending' and delivery.endpoint_uid = known.endpoint_uid
        and (lease_until is null or lease_until <= ${now})
      order by delivery.endpoint_uid, next_attempt_at limit 1
    ))
    where known.endpoint_uid = any(${endpointUids}::text[])
    returning endpoint_uid as uid, due_at <= ${now} as "isDue"`.execute(tx);
  await locked;
  return new Set(rows.filter(({ isDue }) => !isDue).map(({ uid }) => uid));
};

/** Brings the next look at endpoints forward to `lookMs` from now at most. */
export const scheduleLookSoon = async (
  db: Kysely<unknown>,
  endpointUids: readonly string[],
  now: Date,
): Promise<void> => {
  const until = new Date(now.getTime() + lookMs);
  await sql`
    with locked as materialized (
      select endpoint_uid from webhooks.ready where endpoint_uid = any(${endpointUids}::text[]) and due_at > ${until}
      order by endpoint_uid for no key update
    )
    update webhooks.ready as known set due_at = ${until} from locked
    where known.endpoint_uid = locked.endpoint_uid and known.due_at > ${until}`.execute(db);
};

/**
 * What of the outbox is not dispatched yet. Every event gets a narrow row in `outbox.waiting` in its own transaction (a trigger
 * sees to it where its writer does not); the dispatcher moves it to `outbox.places`, which is the feed (event-feed.ts). The
 * event itself is never written again.
 */
import { type Kysely, sql } from 'kysely';
import type { RecordedEvent } from '#src/contract/event.ts';
import { arrayLiteral } from '../array-literal.ts';
import type { WeeklyTable } from './partitions.ts';

/** Any constant does, as long as no other lock of this product uses it. */
const dispatchLock = sql`7203517001::bigint`;

/**
 * Only one dispatcher at a time: two would see seq 1 and seq 2 of an entity in either order. The work under the lock
 * is one insert per batch, so one is enough. False: another one is at it.
 */
export const lockDispatch = async (tx: Kysely<unknown>): Promise<boolean> => {
  const { rows } = await sql<{ held: boolean }>`select pg_try_advisory_xact_lock(${dispatchLock}) as held`.execute(tx);
  return rows[0]?.held === true;
};

export type ClaimedEvent = Pick<
  RecordedEvent,
  'id' | 'tenant' | 'kind' | 'event' | 'entity' | 'seq' | 'previousSeq' | 'body'
> & {
  position: number;
};

/**
 * The oldest events that have no deliveries yet, in the order of their recording, from the position `floor` on. May be sent
 * right behind `lockDispatch` in its transaction: reads nothing where that came to nothing. Mark those that get their
 * deliveries in the same transaction, and of each entity none before an earlier one.
 */
export const claimEvents = async (
  tx: Kysely<unknown>,
  { limit, floor }: { limit: number; floor: number },
): Promise<ClaimedEvent[]> => {
  const { rows } = await sql<ClaimedEvent>`
    select waiting.position, event.id, event.tenant, event.kind, event.event, event.entity, event.seq,
      event.previous_seq as "previousSeq", event.body
    from outbox.waiting cross join lateral (select * from outbox.events where id = waiting.event_id limit 1) as event
    where (select pg_try_advisory_xact_lock(${dispatchLock})) and waiting.position >= ${floor}
    order by waiting.position limit ${limit}`.execute(tx);
  return rows;
};

/** How many of these have not been dispatched. Under `lockDispatch`: of events that were read in a transaction before. */
export const countWaiting = async (tx: Kysely<unknown>, positions: readonly number[]): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from outbox.waiting where position = any(${arrayLiteral(positions)}::bigint[])`.execute(
    tx,
  );
  return rows[0]?.count ?? 0;
};

const lookEveryMs = 1_000;
/** Of so many looks one is at the whole queue. */
const wholeLookEvery = 30;

/**
 * Where the queue begins. What left it stays in the way until it is swept, which an open snapshot of anybody prevents: each
 * claim would step over all of it. So it is known below which position nothing waits and nothing can come any more: those
 * who drew such a position have ended. As long as one dispatcher's connection lasts. Whoever puts an event back into the queue
 * draws a new position for it. A backend that stood still between its position and the number of its transaction for longer
 * than a look takes to come would be passed over: so the whole queue is looked at now and then.
 */
export const createQueueFloor = () => {
  let floor = 0;
  let lookedMs: number | undefined;
  let drawnBefore: number | undefined;
  let candidate: { drawn: number; next: number } | undefined;
  let looks = 0;
  return {
    get: (): number => floor,
    isDue: (nowMs: number): boolean => lookedMs === undefined || nowMs - lookedMs >= lookEveryMs,
    look: async (tx: Kysely<unknown>, nowMs: number): Promise<void> => {
      lookedMs = nowMs;
      looks += 1;
      const from = looks % wholeLookEvery === 0 ? 0 : floor;
      const { rows } = await sql<{ drawn: number; oldest: number; next: number; lowest: number | null }>`
        select last_value - case when is_called then 0 else 1 end as drawn, pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest,
          pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next,
          (select position from outbox.waiting where position >= ${from} order by position limit 1) as lowest
        from outbox.event_positions`.execute(tx);
      const [seen] = rows;
      if (seen === undefined) return;
      floor = Math.min(floor, seen.lowest ?? floor);
      if (candidate !== undefined && seen.oldest >= candidate.next) {
        floor = Math.min(candidate.drawn + 1, seen.lowest ?? Number.POSITIVE_INFINITY);
        candidate = undefined;
      }
      // Drawn a look before: whoever drew it has got the number of its transaction since, below that of the next one now.
      if (candidate === undefined && drawnBefore !== undefined) candidate = { drawn: drawnBefore, next: seen.next };
      drawnBefore = seen.drawn;
    },
  };
};

export type QueueFloor = ReturnType<typeof createQueueFloor>;

/**
 * Gives each event its place in the feed, in the sequence of recording. Only the holder of `lockDispatch` calls this, and gives
 * the lock back after its commit: whoever reads the feed sees it up to some place without gaps, and later events come
 * after. One that has a place already, since it was put back into the queue, keeps it. `areNew`: none should have one; it
 * costs less, and is a unique violation where one has.
 */
export const markDispatched = async (
  tx: Kysely<unknown>,
  positions: readonly number[],
  { areNew = false } = {},
): Promise<void> => {
  await sql`
    with taken as (
      delete from outbox.waiting where position = any(${arrayLiteral(positions)}::bigint[]) returning *
    )
    insert into outbox.places (event_id, tenant, kind, event, entity, created)
    select event_id, tenant, kind, event, entity, created from taken order by position
    ${areNew ? sql`` : sql`on conflict do nothing`}`.execute(tx);
};

/** What nobody dispatched as long as it was kept; returns how many, `limit` at most. */
export const dropWaiting = async (db: Kysely<unknown>, before: Date, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from outbox.waiting where position in (
      select position from outbox.waiting
      where event_id >= 'evt_' and event_id < platform.id_bound('evt', ${before}) limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
};

/** Places of one week, kept and dropped with their events. */
export const placeWeeks: WeeklyTable = {
  schema: 'outbox',
  name: 'places',
  key: 'event_id',
  prefix: 'evt',
  fillfactor: 100,
};

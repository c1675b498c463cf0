/**
 * The queue of events that are not dispatched yet. Each event gets a narrow row in `outbox.waiting` in its own transaction
 * (by a trigger where its writer does not add it). The dispatcher moves the row to `outbox.places`, which is the feed
 * (event-feed.ts). The event itself is never written again.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { RecordedEvent } from '#src/contract/event.ts';
import { minuteMs } from '../../clock.ts';
import { idFloor } from '../../ids.ts';
import { bigintArray, integerArray, smallintArray } from '../binary-array.ts';
import type { WeeklyTable } from './partitions.ts';

/** Groups of tenants, by a hash of their id: `tenant_group` in migration 0005. */
const groupsCount = 16;

/** What one dispatcher at a time works on: the events of the tenants of these groups, in the order of recording. */
export type DispatchQueue = { readonly groups: readonly number[] };

/**
 * Divides all tenants into `count` queues; `count` divides 16. Processes may divide them differently, since locks are taken
 * by group.
 */
export const dispatchQueues = (count: number): DispatchQueue[] =>
  Array.from({ length: count }, (_, index) => ({
    groups: Array.from({ length: groupsCount / count }, (__, turn) => index + turn * count),
  }));

/** Any constants work, as long as no other advisory lock of this program uses them. The class has a lock for each group. */
const groupLocks = sql`720351702`;
/** Version 1.0 has one dispatcher for all tenants, which holds this lock alone. Dispatchers of queues share it. */
const wholeLock = sql`7203517001::bigint`;

/** Takes the locks one after the other and stops at the first that another dispatcher holds. They end with the transaction. */
const isLocked = ({ groups }: DispatchQueue): RawBuilder<boolean> => sql`
  (pg_try_advisory_xact_lock_shared(${wholeLock}) and not exists (
    select from unnest(${integerArray(groups)}::int[]) as wanted (tenant_group)
    where not pg_try_advisory_xact_lock(${groupLocks}, wanted.tenant_group)))`;

/**
 * Only one dispatcher at a time works on a queue: two could see seq 2 of an entity before seq 1. False: another dispatcher
 * works on tenants of this queue.
 */
export const lockDispatch = async (tx: Kysely<unknown>, queue: DispatchQueue): Promise<boolean> => {
  const { rows } = await sql<{ held: boolean }>`select ${isLocked(queue)} as held`.execute(tx);
  return rows[0]?.held === true;
};

export type ClaimedEvent = Pick<
  RecordedEvent,
  'id' | 'tenant' | 'kind' | 'event' | 'entity' | 'seq' | 'previousSeq' | 'body'
> & {
  position: number;
};

/** The rows of `waiting` that belong to the queue, of each group the first `limit` from the position `floor` on. */
const waitingOf = ({ groups }: DispatchQueue, floor: number, limit: number): RawBuilder<unknown> =>
  groups.length === groupsCount
    ? sql`(select position, event_id from outbox.waiting where position >= ${floor} order by position limit ${limit})`
    : sql`(
        select of_group.* from unnest(${smallintArray(groups)}::smallint[]) as wanted (tenant_group) cross join lateral (
          select position, event_id from outbox.waiting
          where waiting.tenant_group = wanted.tenant_group and position >= ${floor} order by position limit ${limit}
        ) as of_group)`;

/**
 * The first `limit` rows when the groups take turns: the first one of each group, then the second ones. As a rule an eighth of the
 * limit of each group is enough. More rows are read where only a few groups have events.
 */
const waitingInTurn = ({ groups }: DispatchQueue, floor: number, limit: number): RawBuilder<unknown> => {
  const enough = Math.ceil(limit / 8);
  const ofGroups = (count: number): RawBuilder<unknown> => sql`
      select of_group.* from unnest(${smallintArray(groups)}::smallint[]) as wanted (tenant_group) cross join lateral (
        select position, event_id, row_number() over (order by position) as turn from (
          select position, event_id from outbox.waiting
          where waiting.tenant_group = wanted.tenant_group and position >= ${floor} order by position limit ${count}
        ) as first_ones
      ) as of_group`;
  return sql`(
    with first_ones as materialized (${ofGroups(enough)})
    table first_ones
    union all select * from (${ofGroups(limit)}) as more
      where turn > ${enough} and (select count(*) from first_ones) < ${limit}
    order by turn, position limit ${limit})`;
};

/** For a statement of a worker: true when an event waits in any queue, from the position `floor` on. */
export const isAnyWaiting = (floor: number): RawBuilder<boolean> =>
  sql`exists (select from outbox.waiting where position >= ${floor})`;

/**
 * The oldest undispatched events of a queue, in the order of recording, from the position `floor` on. It may be pipelined
 * behind `lockDispatch` in the same transaction: without the lock it reads nothing. Mark the events whose deliveries are
 * inserted in the same transaction, and of each entity none before an earlier one.
 *
 * `isInTurn`: the groups of tenants have the same share, and only the events of each tenant are in the order of recording.
 */
export const claimEvents = async (
  tx: Kysely<unknown>,
  queue: DispatchQueue,
  { limit, floor, isInTurn = false }: { limit: number; floor: number; isInTurn?: boolean },
): Promise<ClaimedEvent[]> => {
  const { rows } = await sql<ClaimedEvent>`
    select waiting.position, event.id, event.tenant, event.kind, event.event, event.entity, event.seq,
      event.previous_seq as "previousSeq", event.body
    from ${isInTurn ? waitingInTurn(queue, floor, limit) : waitingOf(queue, floor, limit)} as waiting
      cross join lateral (select * from outbox.events where id = waiting.event_id limit 1) as event
    where (select ${isLocked(queue)})
    order by ${isInTurn ? sql`waiting.turn, ` : sql``}waiting.position limit ${limit}`.execute(tx);
  return rows;
};

/**
 * Release 1.0.0 searches the feed of all tenants by time, and takes it for granted that no event comes before one that was recorded
 * ten minutes earlier. Half of that time is left to transactions that take long.
 */
const overtakenMsMax = 5 * minuteMs;

/** Whether the groups of tenants may be served in turn, so that events overtake the oldest one of the queue. */
export const mayBeOvertaken = (oldest: Pick<ClaimedEvent, 'id'> | undefined, now: Date): boolean =>
  oldest !== undefined && oldest.id >= idFloor('evt', now.getTime() - overtakenMsMax);

/**
 * Counts which of these events are undispatched. Call it under `lockDispatch`, for events that an earlier transaction read.
 */
export const countWaiting = async (tx: Kysely<unknown>, positions: readonly number[]): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from outbox.waiting where position = any(${bigintArray(positions)}::bigint[])`.execute(tx);
  return rows[0]?.count ?? 0;
};

const lookEveryMs = 1_000;
/** One look in this time covers the whole queue. */
const wholeLookEveryMs = 30_000;

/**
 * The low-water mark of a queue. Dispatched rows stay as dead tuples until vacuum removes them, which an open snapshot
 * prevents, and each claim would step over all of them. Below the mark no row waits and none can appear, since every
 * transaction that drew a lower position has ended. An event that returns to the queue draws a new position. The mark lives
 * as long as the connection of the dispatcher. A backend that stops between drawing its position and getting its transaction
 * id, for longer than the interval between two looks, would be missed, so every so often a look covers the whole queue.
 */
export const createQueueFloor = (queue: DispatchQueue) => {
  let floor = 0;
  let lookedMs: number | undefined;
  let drawnBefore: number | undefined;
  let candidate: { drawn: number; next: number } | undefined;
  let wholeMs: number | undefined;
  return {
    get: (): number => floor,
    isDue: (nowMs: number): boolean => lookedMs === undefined || nowMs - lookedMs >= lookEveryMs,
    look: async (tx: Kysely<unknown>, nowMs: number): Promise<void> => {
      lookedMs = nowMs;
      wholeMs ??= nowMs;
      const isWhole = nowMs - wholeMs >= wholeLookEveryMs;
      if (isWhole) wholeMs = nowMs;
      const from = isWhole ? 0 : floor;
      const { rows } = await sql<{ drawn: number; oldest: number; next: number; lowest: number | null }>`
        select last_value - case when is_called then 0 else 1 end as drawn, pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest,
          pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next,
          (select min(position) from ${waitingOf(queue, from, 1)} as waiting) as lowest
        from outbox.event_positions`.execute(tx);
      const [seen] = rows;
      if (seen === undefined) return;
      floor = Math.min(floor, seen.lowest ?? floor);
      if (candidate !== undefined && seen.oldest >= candidate.next) {
        floor = Math.min(candidate.drawn + 1, seen.lowest ?? Number.POSITIVE_INFINITY);
        candidate = undefined;
      }
      // The position was drawn before the previous look, so its transaction has its id by now, and that id is below the next
      // one.
      if (candidate === undefined && drawnBefore !== undefined) candidate = { drawn: drawnBefore, next: seen.next };
      drawnBefore = seen.drawn;
    },
  };
};

export type QueueFloor = ReturnType<typeof createQueueFloor>;

/**
 * Gives each event its position in the feed, in the order of recording. Only the holder of `lockDispatch` calls this, and
 * releases the lock after its commit, so readers of the feed see no gaps and later events come after. An event that has a
 * position already, since it returned to the queue, keeps it. `areNew`: a faster insert for events without a position; it
 * throws a unique violation when one has a position.
 */
export const markDispatched = async (
  tx: Kysely<unknown>,
  positions: readonly number[],
  { areNew = false } = {},
): Promise<void> => {
  await sql`
    with taken as (
      delete from outbox.waiting where position = any(${bigintArray(positions)}::bigint[]) returning *
    )
    insert into outbox.places (event_id, tenant, kind, event, entity, created)
    select event_id, tenant, kind, event, entity, created from taken order by position
    ${areNew ? sql`` : sql`on conflict do nothing`}`.execute(tx);
};

/** Deletes undispatched events whose retention is over; returns how many, at most `limit`. */
export const dropWaiting = async (db: Kysely<unknown>, before: Date, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from outbox.waiting where position in (
      select position from outbox.waiting
      where event_id >= 'evt_' and event_id < platform.id_bound('evt', ${before}) limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0n);
};

/** Positions of one week; they are dropped with their events. */
export const placeWeeks: WeeklyTable = {
  schema: 'outbox',
  name: 'places',
  key: 'event_id',
  prefix: 'evt',
};

/**
 * Recorded events in the order in which the dispatcher took them: their position in the feed (`place`). One dispatcher at a
 * time assigns the positions of a tenant after the commit, so no event of a tenant ever appears before a position that was
 * already read. Positions of different tenants say nothing about each other.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { RecordedEvent } from '#src/contract/event.ts';
import { minuteMs } from '../../clock.ts';
import { idFloor } from '../../ids.ts';

/** `position`: the order of recording, which deliveries carry. `place`: the position in the feed. */
export type FeedEvent = RecordedEvent & { position: number; place: number };

export type FeedQuery = {
  tenant: string;
  kinds: readonly string[];
  /** Places after this one, up to `last`. */
  after: number;
  last?: number | undefined;
  event?: string | undefined;
  entity?: string | undefined;
  /** Recorded from `since` on and before `until`. */
  since?: Date | undefined;
  until?: Date | undefined;
  limit: number;
  /** Bytes of bodies after which the page ends, at least one event. Without it: no bound. */
  bytesMax?: number;
};

/**
 * `found`: events before those were left out whose bodies are too large for the page. `scanned`: the query looked at every position up
 * to this one; undefined: at all of them.
 */
export type FeedPage = { events: FeedEvent[]; found: number; scanned: number | undefined };

type Row = Omit<FeedEvent, 'id'> & { id: string | null } & { found: number; scanned: number | null };

/** A bound on the positions that one page looks at, for filters that match few events. */
const lookedAtMax = 1_000;

/**
 * The oldest events that fit, at most `limit`. The query walks along an index from `after`, so a deep page costs what the
 * first page costs. With a filter that matches few events it stops after a bounded number of positions and reports how far
 * it got.
 */
export const readFeed = async (db: Kysely<unknown>, query: FeedQuery): Promise<FeedPage> => {
  const { bytesMax = Number.MAX_SAFE_INTEGER } = query;
  const { rows } = await sql<Row>`
    with walked as materialized (${walk(query)}),
    picked as materialized (
      select event_id, place from walked
      where ${query.event === undefined ? sql`true` : sql`event = ${query.event}`} and kind = any(${query.kinds}::text[])
      order by place limit ${query.limit}
    ),
    weighed as (
      select reach.scanned, event.position, event.id, event.tenant, event.kind, event.event, event.entity, event.seq,
        event.previous_seq as "previousSeq", event.created, event.body, picked.place, count(event.id) over () as found,
        -- The length of a long body is known without reading it.
        coalesce(sum(octet_length(event.body)) over (order by picked.place) - octet_length(event.body), 0) as bytes_before
      from (select case when count(*) >= ${lookedAtMax} then max(place) end as scanned from walked) as reach
      left join picked on true
      -- One by one through the key: joined at once, a table without statistics would be read as a whole.
      left join lateral (select * from outbox.events where id = picked.event_id limit 1) as event on true
    )
    select scanned, position, id, tenant, kind, event, entity, seq, "previousSeq", created, body, place, found
    from weighed where bytes_before < ${bytesMax} order by place`.execute(db);
  return {
    events: rows.filter((row): row is FeedEvent & Row => row.id !== null),
    found: rows[0]?.found ?? 0,
    scanned: rows[0]?.scanned ?? undefined,
  };
};

/** Positions in order, through the index of each kind or of the entity. */
const walk = ({
  tenant,
  kinds,
  after,
  last,
  entity,
  event,
  since,
  until,
  limit: wanted,
}: FeedQuery): RawBuilder<unknown> => {
  const limit = event === undefined && entity === undefined ? wanted : lookedAtMax;
  // Only few events near the ends are skipped for their time: see findPlacesAround.
  const bounds = sql`tenant = ${tenant} and place > ${after}
    and place <= ${last ?? Number.MAX_SAFE_INTEGER}
    ${since === undefined ? sql`` : sql`and created >= ${since}`} ${until === undefined ? sql`` : sql`and created < ${until}`}`;
  if (entity !== undefined) {
    return sql`
      select event_id, place, event, kind from outbox.places
      where ${bounds} and entity = ${entity} order by place limit ${limit}`;
  }
  return sql`
    select of_kind.* from unnest(${kinds}::text[]) as wanted (kind) cross join lateral (
      select event_id, place, event, kind from outbox.places
      where ${bounds} and kind = wanted.kind order by place limit ${limit}
    ) as of_kind order by place limit ${limit}`;
};

const placedEvent = sql`
  position, event.id, event.tenant, event.kind, event.event, event.entity, seq, previous_seq as "previousSeq", event.created, body,
  place`;

/** The event with its position; undefined for an event of another tenant, or one that is not dispatched yet. */
export const findFeedEvent = async (
  db: Kysely<unknown>,
  tenant: string,
  id: string,
): Promise<FeedEvent | undefined> => {
  const { rows } = await sql<FeedEvent>`
    select ${placedEvent} from outbox.events as event join outbox.places as placed on placed.event_id = id
    where id = ${id} and placed.event_id = ${id} and event.tenant = ${tenant}`.execute(db);
  return rows[0];
};

/** Those of the named events that `findFeedEvent` finds, in the order of the feed. */
export const findFeedEvents = async (
  db: Kysely<unknown>,
  tenant: string,
  ids: readonly string[],
): Promise<FeedEvent[]> => {
  const { rows } = await sql<FeedEvent>`
    select ${placedEvent} from unnest(${ids}::text[]) as wanted (id)
    cross join lateral (select * from outbox.events as one where one.id = wanted.id limit 1) as event
    cross join lateral (select place from outbox.places where event_id = wanted.id limit 1) as placed
    where event.tenant = ${tenant} order by place`.execute(db);
  return rows;
};

/** The longest time between the timestamp of an event and the commit of its transaction. */
const recordingMsMax = 10 * minuteMs;

/** Events of a tenant, of some kinds. */
type EventsOf = { tenant: string; kinds: readonly string[] };

/** The feed is halved until so few positions are left, so a reader skips fewer events than this for their time. */
const skippedMax = 256;

/** Positions of two events, one recorded before a time and one not. 0 and null: there is no such event. */
type PlacesAround = { earlier: number; later: number | null };

/**
 * Finds where a time is in the feed. Ids of events carry the time of recording, and their sequence differs from that of the
 * feed by `recordingMsMax` at most. So halving the feed finds the time without an index by time, which every event would
 * have to enter. Fewer than `skippedMax` positions lie between the two events, unless they follow each other.
 */
const findPlacesAround = async (db: Kysely<unknown>, { tenant, kinds }: EventsOf, at: Date): Promise<PlacesAround> => {
  const event = (bounds: RawBuilder<unknown>, sequence: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    select of_kind.place, of_kind.event_id < ${idFloor('evt', at.getTime())} as "isEarlier"
    from unnest(${kinds}::text[]) as wanted (kind) cross join lateral (
      select place, event_id from outbox.places
      where tenant = ${tenant} and kind = wanted.kind and ${bounds} order by place ${sequence} limit 1
    ) as of_kind order by of_kind.place ${sequence} limit 1`;
  // `low` is the position of an earlier event or 0, and the first event after `high` is not an earlier one.
  const { rows } = await sql<PlacesAround>`
    with recursive halved (low, high, later) as (
      select case when newest."isEarlier" then newest.place when oldest."isEarlier" then oldest.place else 0 end,
        case when newest."isEarlier" then newest.place when oldest."isEarlier" then newest.place - 1 else 0 end,
        case when newest."isEarlier" then null when oldest."isEarlier" then newest.place else oldest.place end
      from (${event(sql`true`, sql``)}) as oldest cross join (${event(sql`true`, sql`desc`)}) as newest
      union all
      select case when met."isEarlier" then met.place else low end, case when met."isEarlier" then high else middle end,
        case when met."isEarlier" then later else met.place end
      from halved cross join lateral (select (low + high) / 2 as middle) as half
        cross join lateral (${event(sql`place > middle`, sql``)}) as met
      where high - low >= ${skippedMax}
    )
    select low as earlier, later from halved order by high - low limit 1`.execute(db);
  return rows[0] ?? { earlier: 0, later: null };
};

/**
 * A position before every event that was recorded from `since` on. An event that was recorded `recordingMsMax` earlier was
 * committed, and so dispatched, before the first event of the requested range.
 */
export const placeBefore = async (db: Kysely<unknown>, events: EventsOf, since: Date): Promise<number> =>
  (await findPlacesAround(db, events, new Date(since.getTime() - recordingMsMax))).earlier;

/** The last position that an event recorded before `until` can have; undefined: any. The same reasoning. */
export const placeAfter = async (db: Kysely<unknown>, events: EventsOf, until: Date): Promise<number | undefined> =>
  (await findPlacesAround(db, events, new Date(until.getTime() + recordingMsMax))).later ?? undefined;

/** The last assigned position. */
export const lastPlace = async (db: Kysely<unknown>, { tenant, kinds }: EventsOf): Promise<number> => {
  const { rows } = await sql<{ place: number | null }>`
    select max(of_kind.place) as place from unnest(${kinds}::text[]) as wanted (kind) cross join lateral (
      select place from outbox.places where tenant = ${tenant} and kind = wanted.kind order by place desc limit 1
    ) as of_kind`.execute(db);
  return rows[0]?.place ?? 0;
};

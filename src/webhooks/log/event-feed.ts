/**
 * The catch-up feed (interface 12.6): recorded events in the order in which the dispatcher took them. A cursor holds a
 * place in that order and the time when it was read. Events are kept for 30 days; a reader whose next event may be gone
 * gets CURSOR_EXPIRED instead of a gap.
 */
import type { Kysely } from 'kysely';
import { type DetailCode, Fault, validationFault } from '#src/contract/fault.ts';
import { type FeedEvent, findFeedEvent, placeBefore, readFeed } from '#src/platform/db/outbox/event-feed.ts';
import type { Cursors } from '#src/platform/http/paging.ts';
import { timeOfId } from '#src/platform/ids.ts';
import { readersGraceMs, retentionMs } from '../queue/retention-period.ts';

/**
 * Everything after this place is still kept if `at` is recent enough. `since`: only events recorded from then on are
 * wanted.
 */
type Place = { place: number; at: Date; since: Date | undefined };

type FeedRequest = {
  tenant: string;
  /** Kinds that the caller may read, or the named ones of them. */
  kinds: readonly string[];
  /** Event id or cursor. */
  after: { name: 'after' | 'cursor'; value: string } | undefined;
  since: Date | undefined;
  event: string | undefined;
  entity: string | undefined;
  pagesize: number;
  /** The filters that a cursor belongs to, besides the tenant. */
  scope: unknown;
};

/** Chosen: as many bytes as a page of the other lists has at most. A body has up to 256 KiB. */
const bodiesMax = 4 * 1024 * 1024;

type FeedAnswer = { events: FeedEvent[]; more: boolean; nextCursor: string };

/** Throws VALIDATION_ERROR: CURSOR_INVALID, CURSOR_EXPIRED. */
export const listFeed = async (
  { db, cursors }: { db: Kysely<unknown>; cursors: Cursors },
  request: FeedRequest,
  now: Date,
): Promise<FeedAnswer> => {
  const { tenant, kinds, event, entity, pagesize } = request;
  const start = await startOf({ db, cursors }, request, now);
  const asked = request.since ?? start.since;
  const oldest = request.after === undefined ? new Date(now.getTime() - retentionMs) : undefined;
  const since = oldest !== undefined && (asked ?? oldest) <= oldest ? oldest : asked;
  const floor = since === undefined ? 0 : await placeBefore(db, { tenant, kinds }, since);
  const { events, found, scanned } = await readFeed(db, {
    tenant,
    kinds,
    after: Math.max(start.place, floor),
    since,
    event,
    entity,
    limit: pagesize + 1,
    bytesMax: bodiesMax,
  });
  const shown = events.slice(0, pagesize);
  const last = shown.at(-1);
  const isCut = found > shown.length;
  const more = isCut || scanned !== undefined;
  // At the end of the feed, everything after this place is newer than now. Before the end, it is newer than the last
  // event of the page.
  const next: Place = {
    place: isCut ? (last?.place ?? start.place) : (scanned ?? last?.place ?? start.place),
    at: more ? (last?.created ?? (request.after === undefined ? (since ?? start.at) : start.at)) : now,
    since: asked,
  };
  return { events: shown, more, nextCursor: cursorOf(cursors, request, next) };
};

type Key = { place: number; at: string; since?: string };

const cursorOf = (cursors: Cursors, { scope }: FeedRequest, { place, at, since }: Place): string => {
  const page = { page: 1, pagesize: 1, offset: 0, after: undefined, total: 0 };
  const key: Key = { place, at: at.toISOString(), ...(since && { since: since.toISOString() }) };
  return cursors.answer(page, scope, { more: true, total: 0, last: key }).next_cursor ?? '';
};

const startOf = async (
  { db, cursors }: { db: Kysely<unknown>; cursors: Cursors },
  { tenant, after, scope }: FeedRequest,
  now: Date,
): Promise<Place> => {
  if (after === undefined) return { place: 0, at: now, since: undefined };
  const refused = (code: DetailCode, message: string): Fault =>
    validationFault([{ pointer: after.name, code, message }]);
  const isCursor = after.value.includes('.');
  const start = isCursor ? readCursor(cursors, after, scope, refused) : await placeOf(db, tenant, after.value);
  const at = start?.at ?? timeOfId('evt', after.value);
  if (at !== undefined && at.getTime() < now.getTime() - retentionMs - (isCursor ? readersGraceMs : 0))
    throw refused('CURSOR_EXPIRED', 'is older than 30 days: events after it may be gone');
  if (start === undefined) throw refused('CURSOR_INVALID', 'is no event and no cursor of this feed');
  return start;
};

const placeOf = async (db: Kysely<unknown>, tenant: string, id: string): Promise<Place | undefined> => {
  const event = await findFeedEvent(db, tenant, id);
  return event === undefined ? undefined : { place: event.place, at: event.created, since: undefined };
};

const readCursor = (
  cursors: Cursors,
  { value }: { value: string },
  scope: unknown,
  refused: (code: DetailCode, message: string) => Fault,
): Place => {
  let key: Key | undefined;
  try {
    key = cursors.read<Key>({ cursor: value }, scope).after;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  if (key === undefined) throw refused('CURSOR_INVALID', 'does not belong to this list with these filters');
  return { place: key.place, at: new Date(key.at), since: key.since === undefined ? undefined : new Date(key.since) };
};

/** The requests of one caller by page, with those of the keys that it replaced (interface 11.5). */
import type { Kysely } from 'kysely';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { type Cursors, createCursors } from '#src/platform/http/paging.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Counts } from './hour-store.ts';
import { type HourKey, listHours } from './hour-store.ts';
import {
  type FoundRequest,
  findRequests,
  listPredecessors,
  type RequestFilter,
  type RequestKey,
} from './request-store.ts';

export type RequestListDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  box: Pick<SecretBox, 'derive'>;
  /** See `request_log_days`; with 0 every list is empty. */
  days: number;
};

/** `cursor`: `next` of the page before with the same filter. */
type Paging = { pagesize: number; cursor: string | undefined };

/** `next`: null on the last page. A page may be short or empty before it. */
type Listed<T> = { items: T[]; next: string | null };

type CountedHour = Counts & {
  hour: Date;
  /** Null: an operation that does not exist. */
  route: string | null;
};

export type RequestLists = {
  days: number;
  /** Newest first. Throws CURSOR_INVALID. */
  requests(caller: string, filter: RequestFilter, paging: Paging): Promise<Listed<FoundRequest>>;
  /** Everything that was called, by hour and route, the newest hour first. Throws CURSOR_INVALID. */
  hours(caller: string, filter: { route?: string | undefined }, paging: Paging): Promise<Listed<CountedHour>>;
};

export const createRequestLists = ({ db, clock, box, days }: RequestListDeps): RequestLists => {
  const cursors = createCursors(box.derive('request-log-cursor'));
  const keptSince = (): Date => new Date(clock.now().getTime() - days * dayMs);
  return {
    days,
    requests: async (caller, filter, paging) => {
      if (days === 0) return { items: [], next: null };
      const callers = await listPredecessors(db, caller);
      const asked = { callers, keptSince: keptSince(), filter };
      return page<FoundRequest, RequestKey>(cursors, { list: 'requests', caller, ...filter }, paging, async (after) => {
        const { requests, more, last } = await findRequests(db, { ...asked, after }, paging.pagesize);
        return { items: requests, more, last };
      });
    },
    hours: async (caller, { route }, paging) => {
      if (days === 0) return { items: [], next: null };
      const callers = await listPredecessors(db, caller);
      return page<CountedHour, HourKey>(cursors, { list: 'hours', caller, route }, paging, async (after) => {
        const rows = await listHours(db, { callers, since: keptSince(), route, after }, paging.pagesize + 1);
        const items = rows.slice(0, paging.pagesize);
        const end = items.at(-1);
        return {
          items: items.map((row) => ({ ...row, route: row.route === '' ? null : row.route })),
          more: rows.length > paging.pagesize,
          last: end === undefined ? undefined : ([end.hour.getTime(), end.route] as const),
        };
      });
    },
  };
};

type Read<T, K> = (after: K | undefined) => Promise<{ items: T[]; more: boolean; last: K | undefined }>;

const page = async <T, K>(
  cursors: Cursors,
  scope: Record<string, unknown>,
  paging: Paging,
  read: Read<T, K>,
): Promise<Listed<T>> => {
  const named = JSON.parse(JSON.stringify(scope)) as unknown;
  const query = cursors.read<K>(paging, named);
  const { items, more, last } = await read(query.after);
  const { next_cursor: next } = cursors.answer(query, named, { more, total: null, last });
  return { items, next };
};

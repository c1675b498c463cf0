/**
 * Lists by page and by cursor (interface 7). A cursor is opaque and signed. It names its list, tenant and filters, the
 * sort key of the last item, the page it leads to and the total of its first page.
 */
import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { validationFault } from '#src/contract/fault.ts';
import { canonicalJson } from './json.ts';
import { integer, optional, text } from './values.ts';

const pageMax = 1_000_000;
const pagesizeUsual = 100;

/** Parameters of every list. */
export const cursorParams = {
  page: optional(integer({ min: 1, max: pageMax })).describe(
    'Number of the page, from 1; not together with `cursor`. Absent: the first page. Pages reach the first 10,000 items; ' +
      'beyond them, and where filters pass few of very many items, only `next_cursor` goes on (RANGE)',
  ),
  pagesize: optional(integer({ min: 1, max: 100 })).meta({
    description: 'Most items that one page has',
    'x-default': pagesizeUsual,
  }),
  cursor: optional(text({ max: 2000 })).describe(
    '`next_cursor` of the answer before, with the same filters. Absent: the list from its beginning, or from `page`',
  ),
};

export const pageAnswer = {
  page: z.int().meta({ id: 'ListPage', description: 'Number of this page; it continues counting under a cursor' }),
  pagesize: z.int().meta({ id: 'ListPageSize', description: 'Most items that this page could have' }),
  total_count: z.int().nullable().meta({
    id: 'ListTotal',
    description:
      'Items of the whole list; null where too many would have to be counted. Under a cursor the figure of its first page',
  }),
  more: z.boolean().meta({
    id: 'ListMore',
    description:
      'False at the end of the list only. While it is true a page may be short or empty, and `next_cursor` goes on',
  }),
  next_cursor: z
    .string()
    .nullable()
    .meta({ id: 'ListCursor', description: '`cursor` of the request for the next page; null when `more` is false' }),
};

/** What a store needs for one page: rows after `after` (keyset) or from `offset`. Read `limit` + 1 rows to learn `more`. */
type PageQuery<K> = {
  page: number;
  pagesize: number;
  offset: number;
  after: K | undefined;
  /** A cursor carries it (null when it was not counted); otherwise it must be counted. */
  total: number | null | undefined;
};

export type Cursors = {
  /** Throws CURSOR_INVALID, MIXED_PAGING. `scope`: list name, tenant and filters as JSON values. */
  read<K>(
    params: { page?: number | undefined; pagesize?: number | undefined; cursor?: string | undefined },
    scope: unknown,
  ): PageQuery<K>;
  /** Members of the answer; the next page begins after the sort key `last`. */
  answer<K>(
    query: PageQuery<K>,
    scope: unknown,
    result: { more: boolean; total: number | null; last: K | undefined },
  ): PageAnswer;
};

type PageAnswer = {
  page: number;
  pagesize: number;
  total_count: number | null;
  more: boolean;
  next_cursor: string | null;
};

const cursorInvalid = () =>
  validationFault([
    { pointer: 'cursor', code: 'CURSOR_INVALID', message: 'does not belong to this list with these filters' },
  ]);

type Payload = { s: string; k: unknown; p: number; t: number | null };

export const createCursors = (key: Buffer): Cursors => {
  const sign = (text: string): string => createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
  const scopeHash = (scope: unknown): string =>
    createHash('sha256').update(canonicalJson(scope)).digest('base64url').slice(0, 16);

  const decode = (cursor: string, scope: unknown): Payload => {
    const [text = '', mac = '', ...rest] = cursor.split('.');
    if (rest.length > 0 || !equalInConstantTime(mac, sign(text))) throw cursorInvalid();
    // Only this program can have signed it, so its shape is known; it may still belong to another list.
    const payload = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Payload;
    if (payload.s !== scopeHash(scope)) throw cursorInvalid();
    return payload;
  };

  return {
    read: <K>(
      params: { page?: number | undefined; pagesize?: number | undefined; cursor?: string | undefined },
      scope: unknown,
    ): PageQuery<K> => {
      const pagesize = params.pagesize ?? pagesizeUsual;
      if (params.cursor === undefined) {
        const page = params.page ?? 1;
        return { page, pagesize, offset: (page - 1) * pagesize, after: undefined, total: undefined };
      }
      if (params.page !== undefined) {
        throw validationFault([{ pointer: 'cursor', code: 'MIXED_PAGING', message: 'cannot be combined with page' }]);
      }
      const payload = decode(params.cursor, scope);
      return { page: payload.p, pagesize, offset: 0, after: payload.k as K, total: payload.t };
    },
    answer: (query, scope, result) => {
      const text = result.more
        ? Buffer.from(
            JSON.stringify({
              s: scopeHash(scope),
              k: result.last,
              p: query.page + 1,
              t: result.total,
            } satisfies Payload),
          ).toString('base64url')
        : undefined;
      return {
        page: query.page,
        pagesize: query.pagesize,
        total_count: result.total,
        more: result.more,
        next_cursor: text === undefined ? null : `${text}.${sign(text)}`,
      };
    },
  };
};

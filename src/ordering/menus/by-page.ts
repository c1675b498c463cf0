/** The lists of a menu go by page alone, so there is never a cursor to give out. */
import type { Cursors, PageAnswer } from '#src/platform/http/paging.ts';
import type { Listed, Page } from './menu-store.ts';

export const byPage = (
  cursors: Cursors,
  params: { page?: number | undefined; pagesize?: number | undefined },
): { page: Page; members: <T>(listed: Listed<T>) => PageAnswer } => {
  const query = cursors.read<never>(params, null);
  return {
    page: { offset: query.offset, limit: query.pagesize },
    members: ({ items, total }) => ({
      ...cursors.answer(query, null, { more: false, total, last: undefined }),
      more: query.offset + items.length < total && items.length > 0,
    }),
  };
};

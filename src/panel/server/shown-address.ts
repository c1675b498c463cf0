/** The address under which a browser gets the page of a response again. */

import { addressOf } from '../live/refresh-on.ts';
import { holdsSecret } from '../page/holds-secret.ts';
import type { Page } from '../page/page.ts';
import { panelPath } from '../page/page-path.ts';
import type { PublicPage } from '../page/public-page.ts';
import { isRead, type PanelContext } from './state.ts';

/**
 * For a read the address of the request, without a query that holds a credential: no page shows one again. For a POST the path
 * of the request, or the nearest one above it that has a page, because many paths of forms have none.
 */
export const createShownAddress = (
  pages: readonly Pick<Page | PublicPage, 'method' | 'path'>[],
): ((ctx: PanelContext) => string) => {
  const patterns = pages.filter(({ method }) => method === 'GET').map(({ path }) => segmentsOf(panelPath + path));
  const longest = Math.max(...patterns.map(({ length }) => length));
  const hasPage = (path: readonly string[]): boolean => patterns.some((pattern) => matches(pattern, path));
  return (ctx) => {
    const { query } = ctx.state;
    if (isRead(ctx)) return [...query.values()].some(holdsSecret) ? ctx.path : addressOf({ path: ctx.path, query });
    let path = segmentsOf(ctx.path).slice(0, longest);
    while (path.length > 0 && !hasPage(path)) path = path.slice(0, -1);
    return path.length === 0 ? panelPath : `/${path.join('/')}`;
  };
};

const segmentsOf = (path: string): string[] => path.split('/').slice(1);

const matches = (pattern: readonly string[], path: readonly string[]): boolean =>
  pattern.length === path.length &&
  pattern.every((segment, index) => segment.startsWith(':') || segment === path[index]);

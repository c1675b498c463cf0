/** The navigation of a role on a page. */

import type { Page } from '../page/page.ts';
import { fillPath, panelPath } from '../page/page-path.ts';
import type { Role } from '../ports/role.ts';
import type { Texts } from '../texts/en/en.ts';
import type { NavItem } from './layout.ts';

type Place = { role: Role; texts: Texts; path: string; params: Readonly<Record<string, string>> };

/**
 * The pages with `nav` in their order: pages without parameters form the main row, pages with this page's parameters
 * the second.
 */
export const navigationFor = (
  pages: readonly Page[],
  { role, texts, path, params }: Place,
): { nav: NavItem[]; subNav: NavItem[] } => {
  const shown = pages.filter((page) => page.nav !== undefined && page.roles.includes(role));
  const itemsOf = (of: readonly Page[]): NavItem[] => {
    const items = of.flatMap((page) => {
      const filled = fillPath(page.path, params);
      return filled === undefined ? [] : [{ path: filled, label: page.nav?.(texts) ?? '' }];
    });
    // The current item is the longest path that is a prefix of this page's path.
    const current = items
      .map((item) => item.path)
      .filter((prefix) => path === prefix || (prefix !== panelPath && path.startsWith(`${prefix}/`)))
      .sort((left, right) => right.length - left.length)[0];
    return items.map((item) => ({ ...item, isCurrent: item.path === current }));
  };
  return {
    nav: itemsOf(shown.filter((page) => !page.path.includes('/:'))),
    subNav: itemsOf(shown.filter((page) => page.path.includes('/:'))),
  };
};

/** The pages in the order of the navigation. */
import type { GuidePage } from './guide-page.ts';

type Order = {
  area: string;
  title: string;
  text: string;
  groups: readonly { title: string; pages: readonly string[] }[];
};

type OrderedGroup = { title: string; pages: readonly GuidePage[] };
export type OrderedArea = { area: string; title: string; text: string; home: string; groups: readonly OrderedGroup[] };

/** Pages of events stand in the group of their list, pages that no group names in a group at the end of their area. */
export const orderPages = (order: readonly Order[], pages: readonly GuidePage[]): OrderedArea[] =>
  order.map(({ area, title, text, groups }) => {
    const own = pages.filter((page) => page.area === area);
    const named = groups.map((group) => ({
      title: group.title,
      pages: group.pages.flatMap((name) => own.filter(({ path }) => isNamed(path, name))),
    }));
    const placed = new Set(named.flatMap((group) => group.pages));
    const others = own.filter((page) => !placed.has(page));
    const all = others.length === 0 ? named : [...named, { title: 'More', pages: others }];
    const filled = all.filter((group) => group.pages.length > 0);
    return { area, title, text, home: filled[0]?.pages[0]?.path ?? '/docs', groups: filled };
  });

const isNamed = (path: string, name: string): boolean =>
  path === `/docs/${name}` || (name === 'events' && path.startsWith('/docs/events/'));

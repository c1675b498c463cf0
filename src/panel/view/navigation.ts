/** The navigation of a role on a page: groups of pages, the pages of the current group or object, and the rest. */

import type { Page } from '../page/page.ts';
import { fillPath, panelPath } from '../page/page-path.ts';
import type { Role } from '../ports/role.ts';
import type { Texts } from '../texts/en/en.ts';
import type { NavItem } from './layout.ts';

type Place = { role: Role; texts: Texts; path: string; params: Readonly<Record<string, string>> };

/** Start of the paths of each group, in the order of the navigation. */
const groups = {
  restaurants: ['/restaurants', '/support/restaurants'],
  clients: ['/clients'],
  portal: ['/portal'],
  security: ['/security'],
  users: ['/users'],
} as const;

type Group = keyof typeof groups;

const groupNames = Object.keys(groups) as readonly Group[];

/** `path`: with or without /panel. */
const groupOf = (path: string): Group | undefined => {
  const below = path.startsWith(panelPath) ? path.slice(panelPath.length) : path;
  return groupNames.find((group) => groups[group].some((start) => below === start || below.startsWith(`${start}/`)));
};

export type Navigation = {
  /** The start page, and a link for each group in which the role has a page. */
  nav: NavItem[];
  /** Pages about the object of this page, or else the pages of its group, when there are several. */
  subNav: NavItem[];
  /** Pages outside the groups. */
  others: NavItem[];
};

const shownTo = (pages: readonly Page[], role: Role): readonly Page[] =>
  pages.filter((page) => page.nav !== undefined && page.roles.includes(role));

const itemsOf = (pages: readonly Page[], { texts, path, params }: Place): NavItem[] => {
  const items = pages.flatMap((page) => {
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

/** The pages with `nav` that need no parameter, in their order. */
const linksOf = (pages: readonly Page[], place: Place): NavItem[] =>
  itemsOf(
    shownTo(pages, place.role).filter(({ path }) => !path.includes('/:')),
    place,
  );

/** Belongs to the clients where a role has them, so that the first row stays short. */
const forIntegrators = `${panelPath}/integrators`;

export const navigationFor = (pages: readonly Page[], place: Place): Navigation => {
  const links = linksOf(pages, place);
  const hasClients = links.some(({ path }) => groupOf(path) === 'clients');
  const groupIn = (path: string): Group | undefined =>
    hasClients && path === forIntegrators ? 'clients' : groupOf(path);
  const current = groupIn(place.path);
  const nav = links.filter(({ path }) => path === panelPath);
  for (const group of groupNames) {
    const [first, ...more] = links.filter(({ path }) => groupIn(path) === group);
    if (first === undefined) continue;
    const label = more.length === 0 ? first.label : place.texts.frame.groups[group];
    nav.push({ path: first.path, label, isCurrent: group === current });
  }
  const aboutObject = itemsOf(
    shownTo(pages, place.role).filter(({ path }) => path.includes('/:')),
    place,
  );
  const ofGroup = links.filter(({ path }) => current !== undefined && groupIn(path) === current);
  return {
    nav,
    subNav: aboutObject.length > 0 ? aboutObject : ofGroup.length > 1 ? ofGroup : [],
    others: links.filter(({ path }) => path !== panelPath && groupIn(path) === undefined),
  };
};

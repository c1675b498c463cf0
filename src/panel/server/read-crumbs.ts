/** What the breadcrumb of a page about a restaurant shows: its name, and other restaurants that the user may see. */
import type { Page } from '../page/page.ts';
import { fillPath, panelPath } from '../page/page-path.ts';
import type { Ports } from '../ports/ports.ts';
import type { Role } from '../ports/role.ts';
import type { SignedInUser } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import type { Crumbs } from '../view/breadcrumb.ts';

const restaurantPath = '/restaurants/:restaurant';
/** The page about a restaurant that the list of support leads to; a breadcrumb there leads to the same page of others. */
const supportPath = '/support/restaurants/:restaurant';
const othersMax = 20;
/** Other roles than these and owners see no restaurant by its pages. */
const rolesOfAll: readonly Role[] = ['support', 'admin'];

type Place = {
  user: SignedInUser;
  texts: Texts;
  path: string;
  params: Readonly<Record<string, string>>;
};

/** Undefined for pages about anything else, for restaurants that the user may not see, and for those that do not exist. */
export const readCrumbs = async (
  { pages, ports }: { pages: readonly Page[]; ports: Ports },
  { user, texts, path, params }: Place,
): Promise<Crumbs | undefined> => {
  const { restaurant } = params;
  const own = restaurant === undefined ? undefined : fillPath(restaurantPath, { restaurant });
  if (restaurant === undefined || own === undefined) return undefined;
  const isSupports = path === fillPath(supportPath, { restaurant });
  if (!isSupports && path !== own && !path.startsWith(`${own}/`)) return undefined;
  const isOwner = user.role === 'owner';
  if (isOwner ? !user.restaurants.includes(restaurant) : !rolesOfAll.includes(user.role)) return undefined;
  const found = await ports.restaurant.find(restaurant);
  if (found === undefined) return undefined;
  const shown = isSupports ? undefined : sectionOf(pages, user, own, path);
  const overview = isSupports ? supportPath : restaurantPath;
  const others = await otherRestaurants(ports, user);
  return {
    listPath: `${panelPath}${isOwner ? '/restaurants' : '/support/restaurants'}`,
    name: found.name,
    path: fillPath(overview, { restaurant }) ?? own,
    page: shown && { label: shown.nav?.(texts) ?? '', path: fillPath(shown.path, { restaurant }) ?? own },
    others: others
      .filter(({ restuid }) => restuid !== restaurant)
      .map(({ restuid, name }) => ({
        name,
        path: fillPath(shown?.path ?? overview, { restaurant: restuid }) ?? own,
      })),
  };
};

/** The deepest page of the navigation that needs the restaurant alone, so that another restaurant has it too. */
const sectionOf = (pages: readonly Page[], { role }: SignedInUser, own: string, path: string): Page | undefined =>
  pages
    .filter(({ nav, roles, path: pattern }) => {
      if (nav === undefined || !roles.includes(role) || !pattern.startsWith(`${restaurantPath}/`)) return false;
      const below = pattern.slice(restaurantPath.length);
      return !below.includes('/:') && (path === own + below || path.startsWith(`${own}${below}/`));
    })
    .sort((left, right) => right.path.length - left.path.length)[0];

/** An owner's first restaurants by name; for other roles the newest ones. */
const otherRestaurants = async (ports: Ports, { role, restaurants }: SignedInUser) => {
  if (role !== 'owner') return (await ports.support.listRestaurants('', undefined)).restaurants.slice(0, othersMax);
  if (restaurants.length < 2) return [];
  const search = { among: restaurants, text: '', after: undefined, limit: othersMax };
  return (await ports.restaurant.list(search)).items;
};

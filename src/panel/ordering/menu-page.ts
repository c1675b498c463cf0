/** The menu as it is sold now: categories that unfold, opening hours, and the latest change. */
import { notFound, page } from '../page/answer.ts';
import { type Html, html, markupOf } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readCursor } from '../page/read-query.ts';
import type { MenuCategory, MenuImport, MenuTerms } from '../ports/menu.ts';
import { requestedRestaurant, restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { availability, countsLine, cut, importAuthor, importKind, onSaleCount, productTable } from './menu-parts.ts';
import { pathOfCategory, pathOfImport, pathOfImports, pathOfMenu } from './paths.ts';

export const menuPath = `${restaurantPath}/menu`;

const categoriesShown = 50;
/** Of one category. */
const productsShown = 15;
/** Characters: a category that would exceed them is a link to its own page. */
const markupMax = 40_000;
const locationsShown = 10;

const showMenu = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const { menu } = view.ports;
  const t = view.texts.menu;
  const after = readCursor(view);
  const [terms, { items, next }, imports, latest] = await Promise.all([
    menu.terms(restuid),
    menu.categories(restuid, { after, limit: categoriesShown }),
    menu.imports(restuid, { after: undefined, limit: 1 }),
    menu.latestChange(restuid),
  ]);
  return page({
    title: t.title(name),
    body: html`${imports.items.length > 0 && (await latestChange(view, restuid, latest))}
${after === undefined && hours(view, terms)}
<h2>${t.categories}</h2>
${
  items.length === 0
    ? html`<p>${after === undefined ? t.none : view.texts.restaurant.noMore}</p>`
    : await categories(view, restuid, terms, items)
}${pager(view, { after, next, pathOf: (cursor) => pathOfMenu(restuid, cursor) })}`,
  });
};

/** Undefined `latest`: there are only plans and failed imports. */
const latestChange = async (view: View, restuid: string, latest: MenuImport | undefined): Promise<Html> => {
  const t = view.texts.menu;
  const author = latest && (await importAuthor(view, latest, (actor) => view.ports.ordering.nameOf(restuid, actor)));
  return html`<div class="card">${
    latest !== undefined &&
    html`<p><strong>${t.latest}</strong> <a href="${pathOfImport(restuid, latest.uid)}">${importKind(view, latest)}</a> ${time(latest.applied)} <span class="hint">${t.by(author ?? '')}</span></p>
<p class="hint">${countsLine(view, latest)}</p>`
  }
<div class="row"><a class="button" href="${pathOfImports(restuid)}">${t.allImports}</a></div></div>`;
};

/** One after the other: the products of a later category are not read once the page is full. */
const categories = async (
  view: View,
  restuid: string,
  terms: MenuTerms,
  items: readonly MenuCategory[],
): Promise<Html[]> => {
  const t = view.texts.menu;
  const shown: Html[] = [];
  let left = markupMax;
  for (const category of items) {
    const path = pathOfCategory(restuid, category.uid);
    const heading = html`<strong>${cut(category.name)}</strong> ${onSaleCount(view, category)} ${
      (category.hidden || category.locations.length > 0) && availability(view, terms, category)
    }`;
    const link = html`<p><a href="${path}">${t.showCategory(cut(category.name))}</a></p>`;
    if (left > 0) {
      const { items: products } = await view.ports.menu.products(restuid, category.uid, {
        after: undefined,
        limit: productsShown,
      });
      const body =
        products.length === 0 ? html`<p>${t.emptyCategory}</p>` : productTable(view, terms, category, products);
      const length = markupOf(body).length;
      left -= length;
      if (left > 0) {
        shown.push(
          html`<details class="card"><summary>${heading}</summary>${category.description !== null && html`<p class="hint">${cut(category.description)}</p>`}${body}${link}</details>`,
        );
        continue;
      }
    }
    shown.push(html`<div class="card"><p>${heading}</p>${link}</div>`);
  }
  return shown;
};

/** Nothing where every location is always open. */
const hours = (view: View, { locations }: MenuTerms): Html | false => {
  const t = view.texts.menu;
  const day = new Intl.DateTimeFormat(view.language, { weekday: 'long', timeZone: 'UTC' });
  // 4 January 1970 was a Sunday.
  const nameOf = (weekday: number): string => day.format(new Date(Date.UTC(1970, 0, 4 + weekday)));
  const limited = locations.filter((location) => location.hours !== null && !location.hidden);
  return (
    limited.length > 0 &&
    html`<h2>${t.hours}</h2>${limited.slice(0, locationsShown).map(
      ({ name, hours }) =>
        html`<details class="card"><summary>${cut(name)}</summary>${table({
          columns: [t.day, t.open],
          // Monday first.
          rows: [1, 2, 3, 4, 5, 6, 0].map((weekday) => {
            const pairs = hours?.[String(weekday)] ?? [];
            return [
              nameOf(weekday),
              pairs.length === 0 ? t.closed : pairs.map(([from, to]) => `${from}–${to}`).join(', '),
            ];
          }),
        })}</details>`,
    )}${limited.length > locationsShown && html`<p class="hint">${t.moreLocations(limited.length - locationsShown)}</p>`}`
  );
};

export const menuPages: readonly Page[] = [
  { method: 'GET', path: menuPath, roles: restaurantRoles, nav: (texts) => texts.menu.nav, handle: showMenu },
];

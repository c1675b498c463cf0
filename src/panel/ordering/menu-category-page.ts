/** One category of a menu with its products and their options, page by page. */
import { notFound, page } from '../page/answer.ts';
import { html, markupOf } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readCursor } from '../page/read-query.ts';
import type { MenuCategory, MenuProduct, MenuTerms } from '../ports/menu.ts';
import { requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { pager } from '../view/pager.ts';
import { menuPath } from './menu-page.ts';
import { availability, cut, onSaleCount, productTable } from './menu-parts.ts';
import { pathOfCategory } from './paths.ts';

const productsShown = 50;
/** Characters. Products with many options make a page of fewer products. */
const markupMax = 55_000;

const showCategory = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid } = found;
  const { menu } = view.ports;
  const uid = view.params.category ?? '';
  const category = await menu.category(restuid, uid);
  if (category === undefined) return notFound();
  const t = view.texts.menu;
  const after = readCursor(view);
  const terms = await menu.terms(restuid);
  const { items, next } = await menu.products(restuid, uid, { after, limit: productsShown });
  const shown = fitting(view, terms, category, items);
  return page({
    title: cut(category.name),
    body: html`${category.description !== null && html`<p>${category.description}</p>`}
<p>${availability(view, terms, category)} ${onSaleCount(view, category)}</p>
${shown.length === 0 ? html`<p>${after === undefined ? t.emptyCategory : view.texts.restaurant.noMore}</p>` : productTable(view, terms, category, shown)}${pager(
  view,
  {
    after,
    next: shown.length < items.length ? shown.at(-1)?.cursor : next,
    pathOf: (cursor) => pathOfCategory(restuid, uid, cursor),
  },
)}`,
  });
};

/** The first products that fit into one page; at least one. */
const fitting = (
  view: View,
  terms: MenuTerms,
  category: MenuCategory,
  products: readonly MenuProduct[],
): readonly MenuProduct[] => {
  let length = 0;
  const tooFar = products.findIndex((product, index) => {
    length += markupOf(productTable(view, terms, category, [product])).length;
    return index > 0 && length > markupMax;
  });
  return tooFar === -1 ? products : products.slice(0, tooFar);
};

export const menuCategoryPages: readonly Page[] = [
  { method: 'GET', path: `${menuPath}/categories/:category`, roles: restaurantRoles, handle: showCategory },
];

/** The imports, plans and reverts of a menu: running ones first, then the latest. */
import { notFound, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readCursor } from '../page/read-query.ts';
import type { MenuImport } from '../ports/menu.ts';
import { requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { menuPath } from './menu-page.ts';
import { appliedLater, countsLine, importAuthor, importBadge, importKind } from './menu-parts.ts';
import { pathOfImport, pathOfImports } from './paths.ts';

export const importsPath = `${menuPath}/imports`;

const pageSize = 50;

const showImports = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const t = view.texts.menu;
  const after = readCursor(view);
  const { items, next } = await view.ports.menu.imports(restuid, { after, limit: pageSize });
  // Few clients make all imports of a page: each name is read once.
  const names = new Map<string, Promise<string | undefined>>();
  const nameOf = (actor: string): Promise<string | undefined> => {
    const known = names.get(actor) ?? view.ports.ordering.nameOf(restuid, actor);
    names.set(actor, known);
    return known;
  };
  const authors = await Promise.all(items.map((each) => importAuthor(view, each, nameOf)));
  return page({
    title: t.importsTitle(name),
    body: html`<p class="hint">${t.importsHint}</p>
${
  items.length === 0
    ? html`<p>${after === undefined ? t.noImports : view.texts.restaurant.noMore}</p>`
    : table({
        columns: [t.when, t.state, t.what, t.author, t.changed],
        rows: items.map((each, index) => [
          html`<a href="${pathOfImport(restuid, each.uid)}">${time(each.created)}</a>${appliedLine(view, each)}`,
          importBadge(view, each),
          importKind(view, each),
          authors[index],
          countsLine(view, each),
        ]),
      })
}${pager(view, { after, next, pathOf: (cursor) => pathOfImports(restuid, cursor) })}`,
  });
};

const appliedLine = ({ texts }: View, shown: MenuImport): Html | false => {
  const later = appliedLater(shown);
  return later && html`<br><span class="hint">${texts.menu.appliedAt} ${later}</span>`;
};

export const menuImportsPages: readonly Page[] = [
  { method: 'GET', path: importsPath, roles: restaurantRoles, handle: showImports },
];

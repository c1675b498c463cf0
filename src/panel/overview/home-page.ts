/** The start page: figures and open points of the user's role, and its pages as links. */
import { page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { type Role, roles } from '../ports/role.ts';
import { linksOf } from '../view/navigation.ts';
import { adminCards } from './admin-cards.ts';
import { ownerCards } from './owner-cards.ts';
import { securityCards } from './security-cards.ts';
import { supportCards } from './support-cards.ts';

/** A role without cards has the links alone. */
const cardsOf: Readonly<Partial<Record<Role, (view: View) => Promise<Html>>>> = {
  owner: ownerCards,
  support: supportCards,
  security: securityCards,
  admin: adminCards,
};

/** `others`: the pages that may appear as links. */
export const createHomePages = (others: readonly Page[]): readonly Page[] => [
  {
    method: 'GET',
    path: '',
    roles,
    nav: (texts) => texts.frame.home,
    handle: async (view) => {
      const { user, texts, path } = view;
      const links = linksOf(others, { role: user.role, texts, path, params: {} });
      const t = texts.frame;
      return page({
        title: t.home,
        body: html`${await cardsOf[user.role]?.(view)}
<nav aria-labelledby="all-pages"><h2 id="all-pages">${links.length === 0 ? t.nothingHere : t.homeIntro}</h2>
<ul class="cards">${links.map((item) => html`<li><a class="card" href="${item.path}">${item.label}</a></li>`)}</ul></nav>`,
      });
    },
  },
];

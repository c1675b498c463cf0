/** The start page: the pages of the user's role as cards. */
import { page } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page } from '../page/page.ts';
import { roles } from '../ports/role.ts';
import { linksOf } from '../view/navigation.ts';

/** `others`: the pages that may appear as cards. */
export const createHomePages = (others: readonly Page[]): readonly Page[] => [
  {
    method: 'GET',
    path: '',
    roles,
    nav: (texts) => texts.frame.home,
    handle: ({ user, texts, path }) => {
      const links = linksOf(others, { role: user.role, texts, path, params: {} });
      const t = texts.frame;
      return page({
        title: t.home,
        body: html`<p>${links.length === 0 ? t.nothingHere : t.homeIntro}</p>
<ul class="cards">${links.map((item) => html`<li><a class="card" href="${item.path}">${item.label}</a></li>`)}</ul>`,
      });
    },
  },
];

/** The start page: figures and open points of the user's role, or its pages as links for a role without them. */
import { refreshOn } from '../live/refresh-on.ts';
import { fragment, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { type Role, roles } from '../ports/role.ts';
import { linksOf } from '../view/navigation.ts';
import { adminCards, liveAdminCards } from './admin-cards.ts';
import { cardId } from './card.ts';
import { ownerCards } from './owner-cards.ts';
import { liveSecurityCards, securityCards } from './security-cards.ts';
import { supportCards } from './support-cards.ts';
import { overviewTopic } from './topics.ts';

/** A role without cards has the links alone. */
const cardsOf: Readonly<Partial<Record<Role, (view: View) => Promise<Html>>>> = {
  owner: ownerCards,
  support: supportCards,
  security: securityCards,
  admin: adminCards,
};

/**
 * Roles whose charts are read from the audit, which records each reading: their open pages fetch only the other cards again.
 */
const liveCardsOf: Readonly<Partial<Record<Role, { ids: readonly string[]; cards: (view: View) => Promise<Html> }>>> = {
  security: { ids: ['decisions', 'integrity'], cards: liveSecurityCards },
  admin: { ids: ['short', 'failing', 'ending', 'integrity', 'program'], cards: liveAdminCards },
};

const homePath = '/panel';

/** The cards of the role, if it has some, in an element that keeps them up to date. */
const cards = async (view: View): Promise<Html | undefined> => {
  const { role } = view.user;
  const shown = await cardsOf[role]?.(view);
  if (shown === undefined) return undefined;
  const live = liveCardsOf[role];
  const refresh =
    live === undefined
      ? refreshOn('overview', homePath, overviewTopic)
      : html`hx-get="${homePath}" hx-trigger="sse:${overviewTopic}" hx-swap="none" hx-select-oob="${live.ids.map((id) => `#${cardId(id)}`).join(',')}"`;
  return html`<div id="overview" ${refresh}>${shown}</div>`;
};

/** `others`: the pages that may appear as links. */
export const createHomePages = (others: readonly Page[]): readonly Page[] => [
  {
    method: 'GET',
    path: '',
    roles,
    nav: (texts) => texts.frame.home,
    topics: [overviewTopic],
    handle: async (view) => {
      const live = view.wantsFragment ? liveCardsOf[view.user.role] : undefined;
      if (live !== undefined) return fragment(await live.cards(view));
      return page({ title: view.texts.frame.home, body: (await cards(view)) ?? pageLinks(view, others) });
    },
  },
];

/** The pages of the navigation, for a role without cards. */
const pageLinks = ({ user, texts, path }: View, others: readonly Page[]): Html => {
  const links = linksOf(others, { role: user.role, texts, path, params: {} });
  return html`<nav aria-label="${texts.frame.home}"><ul class="cards">${links.map((item) => html`<li><a class="card" href="${item.path}">${item.label}</a></li>`)}</ul></nav>`;
};

/** The start page: figures and open points of the user's role. */
import { refreshOn } from '../live/refresh-on.ts';
import { fragment, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { type Role, roles } from '../ports/role.ts';
import { adminCards, liveAdminCards } from './admin-cards.ts';
import { cardId } from './card.ts';
import { contactCards } from './contact-cards.ts';
import { ownerCards } from './owner-cards.ts';
import { liveSecurityCards, securityCards } from './security-cards.ts';
import { supportCards } from './support-cards.ts';
import { overviewTopic } from './topics.ts';

const cardsOf: Readonly<Record<Role, (view: View) => Promise<Html>>> = {
  contact: contactCards,
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

/** The cards of the role. Where they are live, the element around them keeps them up to date. */
const cards = async (view: View): Promise<Html> => {
  const { role } = view.user;
  const shown = await cardsOf[role](view);
  return html`<div id="overview" ${role !== 'contact' && refresh(role)}>${shown}</div>`;
};

const refresh = (role: Role): Html => {
  const live = liveCardsOf[role];
  return live === undefined
    ? refreshOn('overview', homePath, overviewTopic)
    : html`hx-get="${homePath}" hx-trigger="sse:${overviewTopic}" hx-swap="none" hx-select-oob="${live.ids.map((id) => `#${cardId(id)}`).join(',')}"`;
};

export const homePages: readonly Page[] = [
  {
    method: 'GET',
    path: '',
    roles,
    nav: (texts) => texts.frame.home,
    topics: [overviewTopic],
    handle: async (view) => {
      const live = view.wantsFragment ? liveCardsOf[view.user.role] : undefined;
      if (live !== undefined) return fragment(await live.cards(view));
      return page({ title: view.texts.frame.home, body: await cards(view) });
    },
  },
];

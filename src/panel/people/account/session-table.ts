/** Sessions of a user as a table, each with a button that ends it. */
import { type Html, html } from '../../page/html.ts';
import type { View } from '../../page/page.ts';
import type { StaffSession } from '../../ports/staff.ts';
import { badge } from '../../view/badge.ts';
import { table } from '../../view/table.ts';
import { time } from '../../view/time.ts';

/** `action`: path of the page that asks for confirmation; it takes the session's id as the parameter `session`. */
export const sessionTable = (view: View, sessions: readonly StaffSession[], action: string): Html => {
  const t = view.texts.account;
  if (sessions.length === 0) return html`<p>${t.noSessions}</p>`;
  return table({
    caption: t.sessions,
    isCaptionHidden: true,
    hasRowHeader: false,
    columns: [t.browser, t.address, t.method, t.began, t.lastUsed, t.actions],
    rows: sessions.map((session) => {
      const isCurrent = session.id === view.session.id;
      return [
        html`${browserName(session.agent)}${isCurrent && html` ${badge('good', t.thisSession)}`}`,
        session.address,
        t.methods[session.method],
        time(session.createdAt),
        time(session.seenAt, 'relative'),
        !isCurrent &&
          html`<a class="button" id="end-${session.id}" href="${action}?session=${session.id}">${t.endSession}</a>`,
      ];
    }),
  });
};

/** Describes a session on the page that asks before it ends. */
export const sessionFacts = ({ account: t }: View['texts'], session: StaffSession): Html =>
  html`<dl class="facts"><dt>${t.browser}</dt><dd>${browserName(session.agent)}</dd><dt>${t.address}</dt><dd>${session.address}</dd>
<dt>${t.began}</dt><dd>${time(session.createdAt)}</dd><dt>${t.lastUsed}</dt><dd>${time(session.seenAt, 'relative')}</dd></dl>`;

/** A short name of the browser; the whole User-Agent header is too long to read. */
const browserName = (agent: string): string => {
  const name = [
    ['Edg/', 'Edge'],
    ['OPR/', 'Opera'],
    ['Firefox/', 'Firefox'],
    ['Chrome/', 'Chrome'],
    ['Safari/', 'Safari'],
  ].find(([mark = '']) => agent.includes(mark))?.[1];
  const system = ['iPhone', 'iPad', 'Android', 'Windows', 'Mac OS X', 'Linux'].find((mark) => agent.includes(mark));
  const known = [name, system].filter((text) => text !== undefined).join(', ');
  return known === '' ? agent.slice(0, 60) || '?' : known;
};

/** A table of clients. */
import { type Html, html } from '../page/html.ts';
import type { ListedClient } from '../ports/support.ts';
import type { Texts } from '../texts/en.ts';
import { stateBadge } from '../view/state-badge.ts';
import { time } from '../view/time.ts';

export const clientPath = (clientId: string): string => `/panel/clients/${encodeURIComponent(clientId)}`;

/** `scopesMax`: the number of scopes that exist. */
export const clientTable = (texts: Texts, clients: readonly ListedClient[], scopesMax: number): Html => {
  const t = texts.support.clients;
  const titles = [t.name, t.state, t.scopes, t.restaurants, t.lastUsed, t.created];
  return html`<table class="stack"><caption>${t.caption}</caption>
<thead><tr>${titles.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>${clients.map(
    (client) => html`<tr><th scope="row"><a href="${clientPath(client.clientId)}">${client.name}</a></th>
<td data-label="${t.state}">${stateBadge(client.state, t.states)}</td>
<td data-label="${t.scopes}">${client.scopes === null ? t.allScopes : t.someScopes(client.scopes.length, scopesMax)}</td>
<td data-label="${t.restaurants}">${client.restaurants}</td>
<td data-label="${t.lastUsed}">${client.lastUsed === null ? texts.support.never : time(client.lastUsed, 'relative')}</td>
<td data-label="${t.created}">${time(client.created, 'day')}</td></tr>\n`,
  )}</tbody></table>`;
};

/** The secrets of a client, each with a meter of its use. */
import { type Html, html } from '../page/html.ts';
import type { ShownClient, ShownSecret } from '../ports/support.ts';
import type { Texts } from '../texts/en.ts';
import { stateBadge } from '../view/state-badge.ts';
import { time } from '../view/time.ts';
import { clientPath } from './client-table.ts';

export const secretTable = (texts: Texts, client: ShownClient): Html => {
  const t = texts.support.client;
  const { state, created } = texts.support.clients;
  const most = Math.max(1, ...client.secrets.map(({ calls5m }) => calls5m));
  const titles = [t.secret, state, t.use, created, t.ends];
  return html`<table class="stack"><caption>${t.secretsCaption}</caption>
<thead><tr>${titles.map((title) => html`<th scope="col">${title}</th>`)}<th scope="col"><span class="visually-hidden">${t.retire}</span></th></tr></thead>
<tbody>${client.secrets.map(
    (secret) => html`<tr><th scope="row"><code>${secret.id}</code></th>
<td data-label="${state}">${stateBadge(secret.state, texts.support.clients.secretStates)}</td>
<td data-label="${t.use}">${use(texts, secret, most)}</td>
<td data-label="${created}">${time(secret.created, 'day')}</td>
<td data-label="${t.ends}">${secret.expires === null ? t.noEnd : time(secret.expires)}</td>
<td>${isLive(secret) && html`<a class="button" id="retire-${secret.id}" href="${clientPath(client.clientId)}/secrets/${secret.id}/retire">${t.retire}<span class="visually-hidden"> ${secret.id}</span></a>`}</td></tr>\n`,
  )}</tbody></table>`;
};

export const isLive = ({ state }: ShownSecret): boolean => state === 'active' || state === 'quarantined';

const use = (texts: Texts, secret: ShownSecret, most: number): Html => {
  const t = texts.support.client;
  const calls = t.callsLately(secret.calls5m);
  return html`<div><meter min="0" max="${most}" value="${secret.calls5m}" aria-label="${calls}"></meter> ${calls}</div>
<div class="hint">${
    secret.lastUsed === null
      ? t.neverUsed
      : html`${texts.support.clients.lastUsed} ${time(secret.lastUsed, 'relative')}${secret.lastAddress !== null && ` ${t.lastFrom(secret.lastAddress)}`}`
  }${secret.advice !== null && secret.advice !== 'not_used_yet' && html` · ${t.advice[secret.advice]}`}</div>`;
};

export const wasUsedLately = ({ calls5m }: ShownSecret): boolean => calls5m > 0;

/** Clients that hold scopes which no call needed, one page of clients at a time. */

import { addressOf } from '../live/live.ts';
import { newsLink, newsPlace } from '../live/news.ts';
import { type Answer, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { ClientUse, ListedClient } from '../ports/support.ts';
import { nextLink } from '../view/next-link.ts';
import { queryCursor } from '../view/query-text.ts';
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';
import { allCallsTopic, credentialsTopic } from './topics.ts';
import { daysDefault, shrinkPath } from './use-pages.ts';

const listPath = '/panel/clients/unused-scopes';

export const unusedScopesPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/clients/unused-scopes',
    roles: supportRoles,
    nav: (texts) => texts.support.unused.title,
    topics: [allCallsTopic, credentialsTopic],
    handle: (view) => show(view),
  },
  {
    ...{ method: 'GET', path: '/clients/unused-scopes/news', roles: supportRoles },
    handle: ({ query, texts }) => newsLink(texts.support.use.news, addressOf({ path: listPath, query })),
  },
];

type Found = { client: ListedClient; use: ClientUse };

const show = async (view: View): Promise<Answer> => {
  const { query, ports, actor, texts } = view;
  const { clients, next } = await ports.support.listClients({ live: true }, queryCursor(view));
  const uses = await ports.support.clientUse(actor, clients, daysDefault);
  const found = clients.flatMap((client, index): Found[] => {
    const use = uses[index];
    return use === undefined || use.proposed.length === use.scopes.length ? [] : [{ client, use }];
  });
  const t = texts.support.unused;
  return page({
    title: t.title,
    body: html`${newsPlace(addressOf({ path: `${listPath}/news`, query }), allCallsTopic, credentialsTopic)}
<p>${t.text} ${texts.support.use.days}: ${texts.support.use.daysOf(daysDefault)}.</p>
${found.length === 0 ? html`<p>${t.none}</p>` : table(view, found)}
${nextLink(texts.support.next, listPath, next)}`,
  });
};

const table = (view: View, found: readonly Found[]): Html => {
  const t = view.texts.support.unused;
  const titles = [t.client, t.calls, t.keep, t.unused];
  const names = (scopes: readonly string[]): Html | string =>
    scopes.length === 0 ? t.nothing : html`${scopes.map((scope) => html`<code>${scope}</code> `)}`;
  return html`<table class="stack"><caption>${t.caption}</caption>
<thead><tr>${titles.map((title) => html`<th scope="col">${title}</th>`)}<th scope="col"><span class="visually-hidden">${view.texts.support.use.shrinkTitle}</span></th></tr></thead>
<tbody>${found.map(
    ({ client, use }) => html`<tr><th scope="row"><a href="${clientPath(client.clientId)}/use">${client.name}</a></th>
<td data-label="${t.calls}">${use.calls}</td><td data-label="${t.keep}">${names(use.proposed)}</td>
<td data-label="${t.unused}">${names(use.scopes.map(({ name }) => name).filter((name) => !use.proposed.includes(name)))}</td>
<td>${use.calls === 0 ? t.silent : shrinkButton(view, client, use)}</td></tr>\n`,
  )}</tbody></table>`;
};

const shrinkButton = ({ texts }: View, client: ListedClient, use: ClientUse): Html => {
  const count = use.scopes.length - use.proposed.length;
  return html`<a class="button" href="${shrinkPath(client.clientId)}?back=unused" aria-label="${texts.support.unused.shrinkOf(count, client.name)}">${texts.support.use.shrink(count)}</a>`;
};

/** Clients that hold scopes which no call needed, one page of clients at a time. */

import { newsLink, newsSlot } from '../live/news.ts';
import { addressOf } from '../live/refresh-on.ts';
import { type Answer, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor } from '../page/read-query.ts';
import type { ClientUse, ListedClient } from '../ports/support.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
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
    method: 'GET',
    path: '/clients/unused-scopes/news',
    roles: supportRoles,
    handle: ({ query, texts }) => newsLink(texts.support.use.news, addressOf({ path: listPath, query })),
  },
];

type Found = { client: ListedClient; use: ClientUse };

const show = async (view: View): Promise<Answer> => {
  const { query, ports, actor, texts } = view;
  const { clients, next } = await ports.support.listClients({ live: true }, readCursor(view));
  const uses = await ports.support.clientUse(actor, clients, daysDefault);
  const found = clients.flatMap((client, index): Found[] => {
    const use = uses[index];
    return use === undefined || use.proposed.length === use.scopes.length ? [] : [{ client, use }];
  });
  const t = texts.support.unused;
  return page({
    title: t.title,
    body: html`${newsSlot(addressOf({ path: `${listPath}/news`, query }), allCallsTopic, credentialsTopic)}
<p>${t.text} ${texts.support.use.days}: ${texts.support.use.daysOf(daysDefault)}. ${t.shorter}</p>
${found.length === 0 ? html`<p>${t.none}</p>` : useTable(view, found)}
${pager(view, { next, pathOf: (after) => withQuery(listPath, { after }) })}`,
  });
};

const useTable = (view: View, found: readonly Found[]): Html => {
  const t = view.texts.support.unused;
  const names = (scopes: readonly string[]): Html | string =>
    scopes.length === 0 ? t.nothing : html`${scopes.map((scope) => html`<code>${scope}</code> `)}`;
  return table({
    caption: t.caption,
    columns: [
      t.client,
      t.calls,
      view.texts.support.use.since,
      t.keep,
      t.unused,
      { title: view.texts.support.use.shrinkTitle, kind: 'action' },
    ],
    rows: found.map(({ client, use }) => [
      html`<a href="${clientPath(client.clientId)}/use">${client.name}</a>`,
      use.calls,
      time(use.since),
      names(use.proposed),
      names(use.scopes.map(({ name }) => name).filter((name) => !use.proposed.includes(name))),
      use.calls === 0 ? t.silent : use.partial ? t.partial : shrinkButton(view, client, use),
    ]),
  });
};

const shrinkButton = ({ texts }: View, client: ListedClient, use: ClientUse): Html => {
  const count = use.scopes.length - use.proposed.length;
  return html`<a class="button" href="${shrinkPath(client.clientId)}?back=unused" aria-label="${texts.support.unused.shrinkOf(count, client.name)}">${texts.support.use.shrink(count)}</a>`;
};

/** The portal: pages where a contact of an API client looks after it. Each is about one client of the contact. */
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor } from '../page/read-query.ts';
import { credentialBadge, sandboxBadge } from '../view/badge.ts';
import { copyButton } from '../view/copy-button.ts';
import { usageView } from '../view/limits-view.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { credentialPages } from './credential-pages.ts';
import { ownRequestPages } from './own-request-pages.ts';
import { ownWebhookPages } from './own-webhook-pages.ts';
import {
  clientPage,
  contactRoles,
  mayNot,
  ownClientPath,
  pathOfOwnClient,
  portalPath,
  requestedClient,
} from './portal-parts.ts';

export const portalPages: readonly Page[] = [
  {
    method: 'GET',
    path: portalPath,
    roles: contactRoles,
    nav: (texts) => texts.portal.title,
    handle: (view) => choose(view),
  },
  {
    method: 'GET',
    path: ownClientPath,
    roles: contactRoles,
    nav: (texts) => texts.portal.overview,
    handle: (view) => overview(view),
  },
  ...credentialPages,
  ...ownRequestPages,
  {
    method: 'GET',
    path: `${ownClientPath}/usage`,
    roles: contactRoles,
    nav: (texts) => texts.portal.usage.nav,
    handle: (view) => usage(view),
  },
  ...ownWebhookPages,
];

/** With one client its page follows at once. `client`: what the contact chose in the switcher. */
const choose = async ({ user, texts, ports, query }: View): Promise<Answer> => {
  const chosen = query.get('client') ?? (user.clients.length === 1 ? user.clients[0] : undefined);
  if (chosen !== undefined) return user.clients.includes(chosen) ? redirect(pathOfOwnClient(chosen)) : notFound();
  const t = texts.portal;
  const clients = await ports.portal.namesOf(user.clients);
  return page({
    title: t.title,
    body:
      clients.length === 0
        ? html`<p>${t.none}</p>`
        : html`<p>${t.intro}</p><ul class="cards">${clients.map(
            ({ clientId, name }) =>
              html`<li><a class="card" href="${pathOfOwnClient(clientId)}">${name}<br><code class="hint">${clientId}</code></a></li>`,
          )}</ul>`,
  });
};

const overview = async (view: View): Promise<Answer> => {
  const { texts, ports } = view;
  const client = await requestedClient(view);
  const { clientId } = client;
  const t = texts.support.client;
  const { clients, restaurants: names } = texts.support;
  const after = readCursor(view);
  const { items, next } = await ports.portal.restaurants(clientId, after);
  const path = pathOfOwnClient(clientId);
  return clientPage(view, client, {
    title: client.name,
    body: html`<dl class="facts">
<dt>${t.clientId}</dt><dd class="row"><code id="client-id">${clientId}</code>${copyButton({ texts }, 'client-id')}</dd>
<dt>${t.state}</dt><dd>${credentialBadge(client.state, clients.states)}${client.changed !== null && html` ${t.since} ${time(client.changed)}`}</dd>
<dt>${t.created}</dt><dd>${time(client.created)}</dd>
<dt>${t.scopes}</dt><dd>${client.scopes === null ? clients.allScopes : client.scopes.map((scope) => html`<code>${scope}</code> `)}</dd>
<dt>${t.mayUseTokens}</dt><dd>${client.mayUseTokens ? texts.support.yes : texts.support.no}</dd>
<dt>${t.dpop}</dt><dd>${client.dpop === 'required' ? t.required : t.optional}</dd>
<dt>${t.certificateBinding}</dt><dd>${client.certificateBinding === 'required' ? t.required : t.optional}</dd>
${client.profile === 'fapi2' && html`<dt>${t.fapi2}</dt><dd>${t.required}</dd>`}
</dl>
<p class="hint">${texts.portal.askSupport}</p>
<h2>${texts.portal.restaurants}</h2>
${
  items.length === 0
    ? html`<p>${t.noAccess}</p>`
    : table({
        caption: texts.portal.restaurantsCaption,
        columns: [names.name, names.id, names.apiAccess],
        rows: items.map(({ restuid, name, apiEnabled }) => [
          name,
          html`<code>${restuid}</code>${sandboxBadge(restuid)}`,
          apiEnabled ? texts.support.on : texts.support.off,
        ]),
      })
}${pager(view, { after, next, pathOf: (cursor) => withQuery(path, { after: cursor }) })}
<ul class="cards"><li><a class="card" href="/docs">${texts.portal.docs}<br><span class="hint">${texts.portal.docsText}</span></a></li></ul>`,
  });
};

const usage = async (view: View): Promise<Answer> => {
  const client = await requestedClient(view);
  const title = view.texts.portal.usage.title(client.name);
  if (!client.mayRead.has('whoami.usage')) return clientPage(view, client, { title, body: mayNot(view) });
  const caller = await view.ports.limits.show('client', client.clientId);
  return clientPage(view, client, {
    title,
    body: html`${usageView(view, caller)}<p class="hint">${view.texts.portal.askSupport}</p>`,
  });
};

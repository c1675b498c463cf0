/** The section of the client page with the restaurants that the client may reach. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor } from '../page/read-query.ts';
import type { ShownClient } from '../ports/support.ts';
import { sandboxBadge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { clientPath } from './client-table.ts';
import { readChosen, restaurantChoice } from './restaurant-choice.ts';
import { restaurantPath } from './restaurant-pages.ts';

export const grantSection = async (view: View, client: ShownClient, problem: string | undefined): Promise<Html> => {
  const { texts, csrfField, ports, form } = view;
  const t = texts.support.client;
  const names = texts.support.restaurants;
  const path = clientPath(client.clientId);
  const { restaurants, next } = await ports.support.listGrants(client.clientId, readCursor(view));
  const isLive = client.state !== 'revoked';
  return html`<h2>${t.access}</h2>
${
  restaurants.length === 0
    ? html`<p>${t.noAccess}</p>`
    : table({
        caption: t.accessCaption,
        columns: [names.name, names.id, names.apiAccess, { title: t.withdraw, kind: 'action' }],
        rows: restaurants.map(({ restuid, name, apiEnabled }) => [
          html`<a href="${restaurantPath(restuid)}">${name}</a>`,
          html`<code>${restuid}</code>${sandboxBadge(restuid)}`,
          apiEnabled ? texts.support.on : texts.support.off,
          isLive &&
            html`<a class="button" href="${path}/withdraw?restaurant=${encodeURIComponent(restuid)}" aria-label="${t.withdrawOf(name)}">${t.withdraw}</a>`,
        ]),
      })
}
${pager(view, { next, pathOf: (after) => withQuery(path, { after }) })}
${
  isLive &&
  html`<form method="post" action="${path}/grant" class="card">${csrfField}
${await restaurantChoice(view, { title: t.add, chosen: form.has('grants') ? readChosen(view) : [], problem })}
<input type="hidden" name="grants" value="yes"><button>${t.addSubmit}</button></form>`
}`;
};

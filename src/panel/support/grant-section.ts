/** The section of the client page with the restaurants that the client may reach. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { ShownClient } from '../ports/support.ts';
import { nextLink } from '../view/next-link.ts';
import { queryCursor } from '../view/query-text.ts';
import { clientPath } from './client-table.ts';
import { readChosen, restaurantChoice } from './restaurant-choice.ts';
import { restaurantPath } from './restaurant-pages.ts';

export const grantSection = async (view: View, client: ShownClient, problem: string | undefined): Promise<Html> => {
  const { texts, csrfField, ports, form } = view;
  const t = texts.support.client;
  const path = clientPath(client.clientId);
  const { restaurants, next } = await ports.support.listGrants(client.clientId, queryCursor(view));
  const isLive = client.state !== 'revoked';
  return html`<h2>${t.access}</h2>
${
  restaurants.length === 0
    ? html`<p>${t.noAccess}</p>`
    : html`<table class="stack"><caption>${t.accessCaption}</caption>
<thead><tr><th scope="col">${texts.support.restaurants.name}</th><th scope="col">${texts.support.restaurants.id}</th><th scope="col">${texts.support.restaurants.apiAccess}</th><th scope="col"><span class="visually-hidden">${t.withdraw}</span></th></tr></thead>
<tbody>${restaurants.map(
        ({
          restuid,
          name,
          apiEnabled,
        }) => html`<tr><th scope="row"><a href="${restaurantPath(restuid)}">${name}</a></th>
<td data-label="${texts.support.restaurants.id}"><code>${restuid}</code></td>
<td data-label="${texts.support.restaurants.apiAccess}">${apiEnabled ? texts.support.on : texts.support.off}</td>
<td>${isLive && html`<a class="button" href="${path}/withdraw?restaurant=${encodeURIComponent(restuid)}" aria-label="${t.withdrawOf(name)}">${t.withdraw}</a>`}</td></tr>\n`,
      )}</tbody></table>`
}
${nextLink(texts.support.next, path, next)}
${
  isLive &&
  html`<form method="post" action="${path}/grant" class="card">${csrfField}
${await restaurantChoice(view, { title: t.add, chosen: form.has('grants') ? readChosen(view) : [], problem })}
<input type="hidden" name="grants" value="yes"><button>${t.addSubmit}</button></form>`
}`;
};

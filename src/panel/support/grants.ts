/** The restaurants that a client may reach: add some, withdraw one. */
import { type Answer, redirect } from '../frame/answer.ts';
import { type Html, html } from '../frame/html.ts';
import type { Page, View } from '../frame/page.ts';
import type { ShownClient } from '../ports/support.ts';
import { showClient } from './client-page.ts';
import { clientPath } from './client-table.ts';
import { nextLink } from './next-link.ts';
import { findField, readChosen, restaurantChoice } from './restaurant-choice.ts';
import { restaurantPath } from './restaurant-pages.ts';
import { supportRoles } from './roles.ts';

export const grantPages: readonly Page[] = [
  { method: 'POST', path: '/clients/:client/grant', roles: supportRoles, handle: (view) => grant(view) },
  { method: 'POST', path: '/clients/:client/withdraw', roles: supportRoles, handle: (view) => withdraw(view) },
];

export const grantSection = async (view: View, client: ShownClient, problem: string | undefined): Promise<Html> => {
  const { texts, csrfField, ports, query, form } = view;
  const t = texts.support.client;
  const path = clientPath(client.clientId);
  const { restaurants, next } = await ports.support.listGrants(client.clientId, query.get('after') ?? undefined);
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
<td>${isLive && html`<form method="post" action="${path}/withdraw" class="inline">${csrfField}<button name="restaurant" value="${restuid}" aria-label="${t.withdrawOf(name)}">${t.withdraw}</button></form>`}</td></tr>\n`,
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

const grant = async (view: View): Promise<Answer> => {
  const { form, params, ports, actor, texts } = view;
  if (form.has(findField)) return showClient(view);
  const chosen = readChosen(view);
  if (chosen.length === 0) return showClient(view, { grants: texts.support.newClient.restaurantsProblem });
  const clientId = params.client ?? '';
  await ports.support.grant(actor, clientId, chosen);
  return redirect(clientPath(clientId), { tone: 'good', text: texts.support.client.added(chosen.length) });
};

const withdraw = async ({ form, params, ports, actor, texts }: View): Promise<Answer> => {
  const clientId = params.client ?? '';
  const restuid = form.get('restaurant') ?? '';
  await ports.support.withdraw(actor, clientId, restuid);
  const [named] = await ports.support.namesOf([restuid]);
  return redirect(clientPath(clientId), { tone: 'good', text: texts.support.client.withdrawn(named?.name ?? restuid) });
};

/** Actions on the restaurants of a client: add some, withdraw one. */
import { type Answer, notFound, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readText } from '../page/read-query.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { showClient } from './client-pages.ts';
import { clientPath } from './client-table.ts';
import { findField, mixesKinds, readChosen } from './restaurant-choice.ts';
import { supportRoles } from './roles.ts';

export const grantPages: readonly Page[] = [
  { method: 'POST', path: '/clients/:client/grant', roles: supportRoles, handle: (view) => grant(view) },
  { method: 'GET', path: '/clients/:client/withdraw', roles: supportRoles, handle: (view) => askToWithdraw(view) },
  { method: 'POST', path: '/clients/:client/withdraw', roles: supportRoles, handle: (view) => withdraw(view) },
];

const grant = async (view: View): Promise<Answer> => {
  const { form, params, ports, actor, texts } = view;
  if (form.has(findField)) return showClient(view);
  const chosen = readChosen(view);
  if (chosen.length === 0) return showClient(view, { grants: texts.support.newClient.restaurantsProblem });
  const { clientId, name } = await ports.support.showClient(params.client ?? '');
  if (mixesKinds(chosen, clientId)) return showClient(view, { grants: texts.support.newClient.kindsProblem });
  await ports.support.grant(actor, clientId, chosen);
  return redirect(clientPath(clientId), { tone: 'good', text: texts.support.client.added(chosen.length, name) });
};

const askToWithdraw = async (view: View): Promise<Answer> => {
  const { params, ports, texts } = view;
  const { clientId, name } = await ports.support.showClient(params.client ?? '');
  const restuid = readText(view, 'restaurant') ?? '';
  const [restaurant] = await ports.support.namesOf([restuid]);
  if (restaurant === undefined) return notFound();
  const t = texts.support.client;
  return confirmPage(view, {
    title: t.withdrawTitle(restaurant.name, name),
    body: html`<p>${t.withdrawText(name, restaurant.name)}</p>
<dl class="facts"><dt>${t.clientId}</dt><dd><code>${clientId}</code></dd><dt>${texts.support.restaurants.id}</dt><dd><code>${restuid}</code></dd></dl>`,
    action: `${clientPath(clientId)}/withdraw`,
    fields: [['restaurant', restuid]],
    submit: t.withdraw,
    back: clientPath(clientId),
  });
};

const withdraw = async ({ form, params, ports, actor, texts }: View): Promise<Answer> => {
  const { clientId, name } = await ports.support.showClient(params.client ?? '');
  const restuid = form.get('restaurant') ?? '';
  await ports.support.withdraw(actor, clientId, restuid);
  const [named] = await ports.support.namesOf([restuid]);
  const text = texts.support.client.withdrawn(named?.name ?? restuid, name);
  return redirect(clientPath(clientId), { tone: 'good', text });
};

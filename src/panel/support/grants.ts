/** The restaurants that a client may reach: add some, withdraw one. */
import { type Answer, redirect } from '../frame/answer.ts';
import type { Page, View } from '../frame/page.ts';
import { showClient } from './client-page.ts';
import { clientPath } from './client-table.ts';
import { findField, readChosen } from './restaurant-choice.ts';
import { supportRoles } from './roles.ts';

export const grantPages: readonly Page[] = [
  { method: 'POST', path: '/clients/:client/grant', roles: supportRoles, handle: (view) => grant(view) },
  { method: 'POST', path: '/clients/:client/withdraw', roles: supportRoles, handle: (view) => withdraw(view) },
];

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

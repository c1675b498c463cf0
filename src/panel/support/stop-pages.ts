/** Actions that quarantine, reactivate and disable a client. */
import { type Answer, page, redirect } from '../page/answer.ts';
import { assertAsShown } from '../page/form-basis.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { ShownClient } from '../ports/support.ts';
import { confirmChange, isConfirmed } from '../view/confirm-page.ts';
import { message } from '../view/layout.ts';
import { showClient } from './client-pages.ts';
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';
import { reasonLengthMax, stateOf } from './stop-section.ts';

export const stopPages: readonly Page[] = [
  {
    method: 'POST',
    path: '/clients/:client/quarantine',
    roles: supportRoles,
    handle: (view) => setState(view, 'quarantine'),
  },
  {
    method: 'POST',
    path: '/clients/:client/reactivate',
    roles: supportRoles,
    handle: (view) => setState(view, 'reactivate'),
  },
  { method: 'GET', path: '/clients/:client/disable', roles: supportRoles, handle: (view) => askDisable(view) },
  { method: 'POST', path: '/clients/:client/disable', roles: supportRoles, handle: (view) => disable(view) },
];

const setState = async (view: View, action: 'quarantine' | 'reactivate'): Promise<Answer> => {
  const { params, form, ports, actor, texts } = view;
  const clientId = params.client ?? '';
  const path = clientPath(clientId);
  const reason = (form.get('reason') ?? '').trim();
  const t = texts.support.client;
  if (reason === '' || reason.length > reasonLengthMax) return showClient(view, { [action]: t.reasonProblem });
  const client = await ports.support.showClient(clientId);
  const { name } = client;
  if (action === 'reactivate') {
    const check = (stored: ShownClient) => assertAsShown(view, 'state', stateOf(stored), path);
    check(client);
    await ports.support.reactivate(actor, clientId, reason, check);
    return redirect(path, { tone: 'good', text: t.reactivated(name) });
  }
  if (!isConfirmed(view))
    return confirmChange(view, {
      title: t.quarantineAsk(name),
      body: html`<p>${t.quarantineAskText(name)}</p><p>${t.quarantineAskReason} ${reason}</p>`,
      action: `${path}/quarantine`,
      submit: t.quarantine,
      back: `${path}#stop`,
    });
  await ports.support.quarantine(actor, clientId, reason);
  return redirect(path, { tone: 'good', text: t.quarantined(name) });
};

const askDisable = async ({ params, ports, texts, csrfField }: View, problem?: string): Promise<Answer> => {
  const client = await ports.support.showClient(params.client ?? '');
  const back = clientPath(client.clientId);
  const t = texts.support.client;
  if (client.state === 'revoked') return redirect(back);
  return page({
    title: t.disableTitle(client.name),
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<p>${t.disableWarning}</p>
<form method="post" action="${back}/disable" class="card narrow">${csrfField}
<label class="check"><input type="checkbox" name="confirm" value="yes" required>${t.disableConfirm}</label>
<div class="row"><button class="danger">${t.disable}</button><a class="button" href="${back}">${texts.support.cancel}</a></div></form>`,
  });
};

const disable = async (view: View): Promise<Answer> => {
  const { params, form, ports, actor, texts } = view;
  const clientId = params.client ?? '';
  if (form.get('confirm') !== 'yes') return askDisable(view, texts.support.client.disableProblem);
  const { name } = await ports.support.showClient(clientId);
  await ports.support.disableClient(actor, clientId);
  return redirect(clientPath(clientId), { tone: 'good', text: texts.support.client.disabled(name) });
};

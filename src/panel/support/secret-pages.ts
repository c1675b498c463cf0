/** Actions on the secrets of a client: rotate, retire. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { message } from '../view/layout.ts';
import { secretOnce } from '../view/secret-once.ts';
import { time } from '../view/time.ts';
import { overlapHours } from './client-pages.ts';
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';
import { isLive, wasUsedLately } from './secret-table.ts';

export const secretPages: readonly Page[] = [
  { method: 'POST', path: '/clients/:client/rotate', roles: supportRoles, handle: (view) => rotate(view) },
  { method: 'GET', path: '/clients/:client/secrets/:secret/retire', roles: supportRoles, handle: (view) => ask(view) },
  {
    method: 'POST',
    path: '/clients/:client/secrets/:secret/retire',
    roles: supportRoles,
    handle: (view) => retire(view),
  },
];

/** Hours that the old secret still works, from the posted form; a page that asks first when it ends at once. */
export const readOverlap = (view: View, at: { name: string; action: string; back: string }): number | Answer => {
  const { form, texts } = view;
  const overlap = overlapHours.find((hours) => hours === form.get('overlap'));
  if (overlap === undefined) throw new Fault('VALIDATION_ERROR', 'Choose an overlap of the list');
  if (overlap !== '0' || form.get('confirmed') === 'yes') return Number(overlap);
  const t = texts.support.client;
  return confirmPage(view, {
    title: t.rotateAtOnceTitle(at.name),
    body: html`<p>${t.rotateAtOnceText(at.name)}</p>`,
    action: at.action,
    fields: [
      ['overlap', overlap],
      ['confirmed', 'yes'],
    ],
    submit: t.rotateSubmit,
    back: at.back,
  });
};

const rotate = async (view: View): Promise<Answer> => {
  const { params, ports, actor, texts } = view;
  const { clientId, name } = await ports.support.showClient(params.client ?? '');
  const back = clientPath(clientId);
  const overlap = readOverlap(view, { name, action: `${back}/rotate`, back });
  if (typeof overlap !== 'number') return overlap;
  const t = texts.support.client;
  const { secret } = await ports.support.rotateSecret(actor, clientId, overlap);
  return page({
    title: t.rotatedTitle,
    body: secretOnce(view, {
      text: t.rotatedText(name),
      values: [{ id: 'client-secret', label: texts.support.newClient.secret, value: secret }],
      warning: texts.support.newClient.once,
      done: { path: clientPath(clientId), label: texts.support.newClient.toClient },
    }),
  });
};

/** `problem`: why the secret was not retired. */
const ask = async ({ params, ports, texts, csrfField }: View, problem?: string): Promise<Answer> => {
  const client = await ports.support.showClient(params.client ?? '');
  const secret = client.secrets.find(({ id }) => id === params.secret);
  if (secret === undefined) return notFound();
  const t = texts.support.client;
  const back = clientPath(client.clientId);
  if (!isLive(secret)) return redirect(back, { tone: 'good', text: t.alreadyEnded });
  const advice = secret.advice ?? 'used_lately';
  return page({
    title: t.retireTitle(secret.id, client.name),
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<p>${advice === 'used_lately' && wasUsedLately(secret) ? t.retireUsed : t.retireAdvice[advice]}</p>
<p>${t.callsLately(secret.calls5m)}${secret.lastUsed !== null && html` · ${texts.support.clients.lastUsed} ${time(secret.lastUsed, 'relative')}`}${secret.lastAddress !== null && ` ${t.lastFrom(secret.lastAddress)}`}${secret.longestGapSeconds > 0 && html` · ${t.longestPause(secret.longestGapSeconds)}`}</p>
<form method="post" action="${back}/secrets/${secret.id}/retire" class="card narrow">${csrfField}
${advice !== 'safe' && html`<label class="check"><input type="checkbox" name="force" value="yes">${t.retireForce}</label>`}
<div class="row"><button class="danger">${t.retire}</button><a class="button" href="${back}">${texts.support.cancel}</a></div></form>`,
  });
};

const retire = async (view: View): Promise<Answer> => {
  const { params, ports, actor, form, texts } = view;
  const { client = '', secret = '' } = params;
  try {
    await ports.support.retireSecret(actor, client, secret, form.get('force') === 'yes');
  } catch (error) {
    // The secret was used after the page was shown, or the box is not checked.
    if (error instanceof Fault && error.code === 'CONFLICT') return ask(view, texts.support.client.retireProblem);
    throw error;
  }
  const { name } = await ports.support.showClient(client);
  return redirect(clientPath(client), { tone: 'good', text: texts.support.client.retired(secret, name) });
};

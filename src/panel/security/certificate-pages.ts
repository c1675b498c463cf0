/** TLS certificates of a client: their list, a form that takes the next one, and their end. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { CertificateFacts } from '../ports/certificates.ts';
import type { Role } from '../ports/role.ts';
import type { ShownClient } from '../ports/support.ts';
import { credentialBadge } from '../view/badge.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { fieldNote, shownAgain } from '../view/field.ts';
import { table } from '../view/table.ts';
import { exactTime, time } from '../view/time.ts';
import { timesSwitch } from './times-switch.ts';

/** Security ends credentials and adds none: with a certificate of its own it could act as the client. */
const addRoles: readonly Role[] = ['support', 'admin'];
const roles: readonly Role[] = [...addRoles, 'security'];
const pemLengthMax = 65_536;

const pathOf = (clientId: string): string => `/panel/clients/${encodeURIComponent(clientId)}/certificates`;

const clientOf = ({ ports, params }: View): Promise<ShownClient> => ports.support.showClient(params.client ?? '');

/** `problem`: why the certificate was not taken. */
const show = async (view: View, problem?: string): Promise<Answer> => {
  const { texts, ports } = view;
  const t = texts.certificates;
  const client = await clientOf(view);
  return page({
    title: t.title(client.name),
    status: problem === undefined ? 200 : 422,
    body: html`<div class="row spread"><p>${t.intro}</p>${timesSwitch(texts)}</div>
${!ports.certificates.isOn && html`<p class="message warn">${t.off}</p>`}
${client.certificates.length === 0 ? html`<p>${t.none}</p>` : certificateTable(view, client)}
${client.state !== 'revoked' && addRoles.includes(view.user.role) && addForm(view, client, problem)}`,
  });
};

const certificateTable = ({ texts }: View, { clientId, certificates }: ShownClient): Html => {
  const t = texts.certificates;
  const { certificateStates, state, lastUsed } = texts.support.clients;
  return table({
    caption: t.caption,
    isCaptionHidden: true,
    columns: [t.certificate, state, t.ends, lastUsed, { title: t.remove, kind: 'action' }],
    rows: certificates.map((one) => [
      html`${one.subject}<br><code>${one.id}</code>`,
      credentialBadge(one.state, certificateStates),
      one.expires === null ? t.noEnd : exactTime(one.expires),
      one.lastUsed === null ? texts.support.never : time(one.lastUsed, 'relative'),
      one.state === 'revoked'
        ? '–'
        : html`<a class="button" href="${pathOf(clientId)}/${one.id}/remove">${t.remove}<span class="visually-hidden"> ${one.id}</span></a>`,
    ]),
  });
};

const addForm = ({ texts, csrfField, form }: View, { clientId }: ShownClient, problem?: string): Html => {
  const t = texts.certificates;
  const note = fieldNote('pem', problem, t.pemHint);
  return html`<h2>${t.addTitle}</h2>
<form method="post" action="${pathOf(clientId)}" class="card">${csrfField}
<label>${t.pem}<textarea name="pem" rows="8" required maxlength="${pemLengthMax}" autocomplete="off" spellcheck="false"${note.attributes}>${problem === undefined ? '' : shownAgain(form.get('pem'))}</textarea></label>
${note.line}
<button class="primary">${t.check}</button></form>`;
};

/** The first post shows what the certificate says, the second one registers it. */
const add = async (view: View): Promise<Answer> => {
  const { form, ports, actor, texts, csrfField } = view;
  const t = texts.certificates;
  const client = await clientOf(view);
  const pem = form.get('pem') ?? '';
  try {
    if (form.get('confirmed') === 'yes') {
      const { thumbprint } = await ports.certificates.add(actor, client.clientId, pem);
      return redirect(pathOf(client.clientId), { tone: 'good', text: t.added(thumbprint, client.name) });
    }
    const read = ports.certificates.read(pem);
    return page({
      title: t.addAsk(client.name),
      body: html`${factsOf(view, read)}
<form method="post" action="${pathOf(client.clientId)}">${csrfField}
<input type="hidden" name="pem" value="${pem}"><input type="hidden" name="confirmed" value="yes">
<div class="row"><button class="primary">${t.add}</button><a class="button" href="${pathOf(client.clientId)}">${texts.frame.cancel}</a></div></form>`,
    });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'CONFLICT') return show(view, t.conflict);
    if (error.code === 'VALIDATION_ERROR') return show(view, t.unreadable);
    throw error;
  }
};

const factsOf = ({ texts }: View, { subject, thumbprint, expires }: CertificateFacts): Html => {
  const t = texts.certificates;
  return html`<dl class="facts"><dt>${t.subject}</dt><dd>${subject === '' ? '–' : subject}</dd>
<dt>${t.thumbprint}</dt><dd><code>${thumbprint}</code></dd>
<dt>${t.ends}</dt><dd>${exactTime(expires)}</dd></dl>`;
};

const askRemove = async (view: View): Promise<Answer> => {
  const t = view.texts.certificates;
  const client = await clientOf(view);
  const one = client.certificates.find(({ id }) => id === view.params.certificate);
  if (one === undefined || one.state === 'revoked') return notFound();
  return confirmPage(view, {
    title: t.removeTitle(client.name),
    body: html`<p>${t.removeText(client.name)}</p><p>${one.subject}<br><code>${one.id}</code></p>`,
    action: `${pathOf(client.clientId)}/${one.id}/remove`,
    submit: t.remove,
    back: pathOf(client.clientId),
  });
};

const remove = async (view: View): Promise<Answer> => {
  const { params, ports, actor, texts } = view;
  const client = await clientOf(view);
  const { certificate = '' } = params;
  if (!client.certificates.some(({ id }) => id === certificate)) return notFound();
  await ports.certificates.remove(actor, client.clientId, certificate);
  return redirect(pathOf(client.clientId), {
    tone: 'good',
    text: texts.certificates.removed(certificate, client.name),
  });
};

export const certificatePages: readonly Page[] = [
  { method: 'GET', path: '/clients/:client/certificates', roles, handle: (view) => show(view) },
  { method: 'POST', path: '/clients/:client/certificates', roles: addRoles, handle: add },
  { method: 'GET', path: '/clients/:client/certificates/:certificate/remove', roles, handle: askRemove },
  { method: 'POST', path: '/clients/:client/certificates/:certificate/remove', roles, handle: remove },
];

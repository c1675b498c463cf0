/** Support invites and removes the contacts of an API client. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { mailChoice, sendOrShowLink } from '../people/users/one-time-link.ts';
import { secondFactorOf } from '../people/users/second-factor.ts';
import type { ListedUser } from '../ports/staff.ts';
import { clientPath } from '../support/client-table.ts';
import { supportRoles } from '../support/roles.ts';
import { badge } from '../view/badge.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { fieldNote } from '../view/field.ts';
import { table } from '../view/table.ts';

const path = '/clients/:client/contacts';

const pathOf = (clientId: string, more = ''): string => `${clientPath(clientId)}/contacts${more}`;

export const contactPages: readonly Page[] = [
  {
    method: 'GET',
    path,
    roles: supportRoles,
    nav: (texts) => texts.portal.contacts.nav,
    handle: (view) => show(view),
  },
  { method: 'POST', path, roles: supportRoles, handle: (view) => invite(view) },
  { method: 'GET', path: `${path}/:contact/remove`, roles: supportRoles, handle: (view) => askRemove(view) },
  { method: 'POST', path: `${path}/:contact/remove`, roles: supportRoles, handle: (view) => remove(view) },
];

/** `problem`: why the email was not invited. */
const show = async (view: View, problem?: string): Promise<Answer> => {
  const { texts, params, ports, csrfField, form } = view;
  const { clientId, name, state } = await ports.support.showClient(params.client ?? '');
  const contacts = await ports.staff.contacts.list(clientId);
  const t = texts.portal.contacts;
  const note = fieldNote('email', problem, t.inviteText);
  return page({
    title: t.title(name),
    status: problem === undefined ? 200 : 422,
    body: html`<p>${t.intro}</p>
${contacts.length === 0 ? html`<p>${t.empty}</p>` : contactTable(view, clientId, contacts)}
${
  state !== 'revoked' &&
  html`<form method="post" action="${pathOf(clientId)}" class="card">${csrfField}
<h2>${t.invite}</h2>
<label>${t.email}<input type="email" name="email" required maxlength="254" autocomplete="off" value="${problem === undefined ? '' : form.get('email')}"${note.attributes}></label>${note.line}
${mailChoice(view)}
<button class="primary">${t.inviteSubmit}</button></form>`
}`,
  });
};

const tones = { active: 'good', invited: 'warn', disabled: 'plain' } as const;

const contactTable = ({ texts, csrfField, ports }: View, clientId: string, contacts: readonly ListedUser[]) => {
  const t = texts.portal.contacts;
  const isMailed = ports.staff.mail.isOn;
  return table({
    caption: t.caption,
    columns: [t.email, t.state, t.secondFactor, { title: t.remove, kind: 'action' }],
    rows: contacts.map(({ userId, email, state, ...factors }) => [
      email,
      badge(tones[state], texts.users.states[state]),
      secondFactorOf(texts, factors),
      html`<div class="row">${
        state === 'invited' &&
        html`<form method="post" action="${pathOf(clientId)}">${csrfField}<input type="hidden" name="email" value="${email}">${isMailed && html`<input type="hidden" name="mail" value="on">`}<button>${isMailed ? t.mailNewLink : t.newLink}<span class="visually-hidden"> ${email}</span></button></form>`
      }<a class="button" href="${pathOf(clientId, `/${encodeURIComponent(userId)}/remove`)}">${t.remove}<span class="visually-hidden"> ${email}</span></a></div>`,
    ]),
  });
};

const invite = async (view: View): Promise<Answer> => {
  const { form, params, ports, actor, texts } = view;
  const { clientId, name, state } = await ports.support.showClient(params.client ?? '');
  const t = texts.portal.contacts;
  if (state === 'revoked') throw new Fault('CONFLICT', 'The client is disabled');
  try {
    const { userId, email, link } = await ports.staff.contacts.invite(actor, clientId, form.get('email') ?? '');
    if (link === undefined) return redirect(pathOf(clientId), { tone: 'good', text: t.added(email, name) });
    return await sendOrShowLink(view, { userId, email, ...link }, { kind: 'contact', donePath: pathOf(clientId) });
  } catch (error) {
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR') return show(view, t.emailProblem);
    if (error instanceof Fault && error.code === 'CONFLICT') return show(view, t.taken);
    throw error;
  }
};

const requestedContact = async ({ params, ports }: View) => {
  const { clientId, name } = await ports.support.showClient(params.client ?? '');
  const contact = (await ports.staff.contacts.list(clientId)).find(({ userId }) => userId === params.contact);
  return contact && { clientId, name, contact };
};

/** What the contact added, and where it is ended. The contact chose the ids, so none stands in a command to copy. */
const addedList = (
  { texts }: View,
  clientId: string,
  { keys, certificates }: { keys: readonly string[]; certificates: readonly string[] },
): Html | false => {
  if (keys.length + certificates.length === 0) return false;
  const { contacts: t } = texts.portal;
  return html`<p>${t.addedText}</p><ul>${keys.map(
    (id) =>
      html`<li>${t.addedKey} <code>${id}</code> <span class="hint">${t.endedBy} <code>orderpass client revoke-key</code></span></li>`,
  )}${certificates.map(
    (id) => html`<li><a href="${clientPath(clientId)}/certificates">${t.addedCertificate}</a> <code>${id}</code></li>`,
  )}</ul>`;
};

const askRemove = async (view: View): Promise<Answer> => {
  const found = await requestedContact(view);
  if (found === undefined) return notFound();
  const { clientId, name, contact } = found;
  const t = view.texts.portal.contacts;
  const added = await view.ports.support.addedBy(clientId, `panel:${contact.userId}`);
  return confirmPage(view, {
    title: t.removeTitle(contact.email, name),
    body: html`<p>${t.removeText}</p>${addedList(view, clientId, added)}`,
    action: pathOf(clientId, `/${encodeURIComponent(contact.userId)}/remove`),
    submit: t.remove,
    back: pathOf(clientId),
  });
};

const remove = async (view: View): Promise<Answer> => {
  const found = await requestedContact(view);
  if (found === undefined) return notFound();
  const { clientId, name, contact } = found;
  await view.ports.staff.contacts.remove(view.actor, clientId, contact.userId);
  const text = view.texts.portal.contacts.removed(contact.email, name);
  return redirect(pathOf(clientId), { tone: 'good', text });
};

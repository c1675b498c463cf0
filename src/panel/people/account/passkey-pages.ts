/** Passkeys of the own account: the list, adding with a name, renaming, removing. */
import { type Answer, page, redirect } from '../../page/answer.ts';
import { type Html, html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { roles } from '../../ports/role.ts';
import { fieldNote } from '../../view/field.ts';
import { message } from '../../view/layout.ts';
import { passkeyForm, passkeyScripts } from '../../view/passkey-form.ts';
import { table } from '../../view/table.ts';
import { time } from '../../view/time.ts';
import { currentPasswordField, problemOfPassword } from './current-password.ts';

const accountPath = '/panel/account';
const passkeysPath = `${accountPath}/passkeys`;

export const passkeyPages: readonly Page[] = [
  { method: 'GET', path: '/account/passkeys/new', roles, secondFactor: 'adds', handle: (view) => introPage(view) },
  { method: 'POST', path: '/account/passkeys/begin', roles, secondFactor: 'adds', handle: (view) => begin(view) },
  {
    method: 'POST',
    path: '/account/passkeys',
    roles,
    secondFactor: 'adds',
    handle: async (view) => {
      const { ports, user, session, form, address, texts } = view;
      const given = { state: form.get('state') ?? '', answer: form.get('answer') ?? '' };
      const added = await ports.staff.passkeys.add(user.id, given, { id: session.id, address });
      if (added === undefined) return introPage(view, { passkey: texts.passkeys.notAdded });
      return redirect(accountPath, { tone: 'good', text: texts.passkeys.added(added) });
    },
  },
  { method: 'GET', path: '/account/passkeys/rename', roles, handle: (view) => askName(view) },
  { method: 'POST', path: '/account/passkeys/rename', roles, handle: (view) => rename(view) },
  { method: 'GET', path: '/account/passkeys/remove', roles, handle: (view) => askToRemove(view) },
  { method: 'POST', path: '/account/passkeys/remove', roles, handle: (view) => remove(view) },
];

/** The part of the account page. */
export const passkeysPart = async ({ ports, user, texts }: View): Promise<Html> => {
  const t = texts.passkeys;
  if (!ports.staff.passkeys.isOn) return html`<p>${t.off}</p>`;
  const passkeys = await ports.staff.passkeys.list(user.id);
  return html`<p>${t.about}</p>
${
  passkeys.length > 0 &&
  table({
    caption: t.title,
    isCaptionHidden: true,
    columns: [t.name, t.created, t.used, texts.account.actions],
    rows: passkeys.map(({ id, name, createdAt, usedAt }) => [
      name,
      time(createdAt, 'day'),
      usedAt === undefined ? t.never : time(usedAt, 'relative'),
      html`<div class="row"><a class="button" href="${passkeysPath}/rename?passkey=${id}">${t.rename}<span class="visually-hidden"> ${name}</span></a><a class="button" href="${passkeysPath}/remove?passkey=${id}">${t.remove}<span class="visually-hidden"> ${name}</span></a></div>`,
    ]),
  })
}
<p><a class="button" href="${passkeysPath}/new">${t.add}</a></p>`;
};

type Problems = { name?: string; password?: string; passkey?: string };

const introPage = (view: View, problems: Problems = {}): Answer => {
  const { ports, texts, csrfField, form } = view;
  const t = texts.passkeys;
  if (!ports.staff.passkeys.isOn) return page({ title: t.add, body: html`<p>${t.off}</p>` });
  const note = fieldNote('name', problems.name, t.nameHint);
  const problem = problems.passkey ?? problems.password;
  return page({
    title: t.add,
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<p>${t.intro}</p>
<form method="post" action="${passkeysPath}/begin" class="card narrow">${csrfField}
<label>${t.name}<input name="name" required maxlength="${ports.staff.passkeys.nameLengthMax}" autocomplete="off" value="${form.get('name')}"${note.attributes}></label>
${note.line}
${currentPasswordField(view)}
<button class="primary">${t.go}</button></form>`,
  });
};

const begin = async (view: View): Promise<Answer> => {
  const { ports, user, session, texts, csrfField } = view;
  const t = texts.passkeys;
  const name = givenName(view);
  if (name === undefined) return introPage(view, { name: t.nameProblem });
  const problem = await problemOfPassword(view);
  if (problem !== undefined) return introPage(view, { password: problem });
  const begun = await ports.staff.passkeys.begin(user.id, session.id, name);
  if (begun === undefined) return introPage(view, { passkey: t.tooMany });
  return page({
    title: t.add,
    scripts: passkeyScripts,
    body: passkeyForm(texts, {
      mode: 'create',
      action: passkeysPath,
      options: begun.options,
      fields: html`${csrfField}<input type="hidden" name="state" value="${begun.state.value}">`,
      text: t.createText(name),
      submit: t.create,
    }),
  });
};

/** Undefined: it is empty or too long. */
const givenName = ({ ports, form }: View): string | undefined => {
  const name = (form.get('name') ?? '').trim();
  return name === '' || name.length > ports.staff.passkeys.nameLengthMax ? undefined : name;
};

const requestedPasskey = async ({ ports, user, query, form }: View) => {
  const id = form.get('passkey') ?? query.get('passkey');
  return (await ports.staff.passkeys.list(user.id)).find((one) => one.id === id);
};

const askName = async (view: View, problem?: string): Promise<Answer> => {
  const { ports, texts, csrfField, form } = view;
  const t = texts.passkeys;
  const passkey = await requestedPasskey(view);
  if (passkey === undefined) return redirect(accountPath);
  const note = fieldNote('name', problem, t.nameHint);
  return page({
    title: t.renameTitle(passkey.name),
    status: problem === undefined ? 200 : 422,
    body: html`<form method="post" action="${passkeysPath}/rename" class="card narrow">${csrfField}<input type="hidden" name="passkey" value="${passkey.id}">
<label>${t.name}<input name="name" required maxlength="${ports.staff.passkeys.nameLengthMax}" autocomplete="off" value="${form.get('name') ?? passkey.name}"${note.attributes}></label>
${note.line}
<div class="row"><button class="primary">${t.renameNow}</button><a class="button" href="${accountPath}">${texts.frame.cancel}</a></div></form>`,
  });
};

const rename = async (view: View): Promise<Answer> => {
  const { ports, user, form, address, texts } = view;
  const name = givenName(view);
  if (name === undefined) return askName(view, texts.passkeys.nameProblem);
  const renamed = await ports.staff.passkeys.rename(user.id, form.get('passkey') ?? '', name, address);
  return redirect(accountPath, renamed ? { tone: 'good', text: texts.passkeys.renamed(name) } : undefined);
};

const askToRemove = async (view: View, problem?: string): Promise<Answer> => {
  const { texts, csrfField } = view;
  const t = texts.passkeys;
  const passkey = await requestedPasskey(view);
  if (passkey === undefined) return redirect(accountPath);
  return page({
    title: t.removeTitle(passkey.name),
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<p>${t.removeText}</p>
<form method="post" action="${passkeysPath}/remove" class="card narrow">${csrfField}<input type="hidden" name="passkey" value="${passkey.id}">
${currentPasswordField(view)}
<div class="row"><button class="danger">${t.removeNow}</button><a class="button" href="${accountPath}">${texts.frame.cancel}</a></div></form>`,
  });
};

const remove = async (view: View): Promise<Answer> => {
  const { ports, user, session, form, address, texts } = view;
  const problem = await problemOfPassword(view);
  if (problem !== undefined) return askToRemove(view, problem);
  const removed = await ports.staff.passkeys.remove(user.id, form.get('passkey') ?? '', { id: session.id, address });
  return redirect(accountPath, removed ? { tone: 'good', text: texts.passkeys.removed } : undefined);
};

/** The roles whose users need a second factor. */
import { type Answer, page, redirect } from '../../page/answer.ts';
import { assertAsShown, basisField } from '../../page/form-basis.ts';
import { html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { roles as allRoles, type Role } from '../../ports/role.ts';
import { confirmChange, isConfirmed } from '../../view/confirm-page.ts';
import { usersPath } from './paths.ts';

const roles = ['admin'] as const;
const factorPath = `${usersPath}/second-factor`;

export const factorPages: readonly Page[] = [
  { method: 'GET', path: '/users/second-factor', roles, handle: (view) => showForm(view) },
  {
    method: 'POST',
    path: '/users/second-factor',
    roles,
    handle: (view) => save(view),
  },
];

/** Asks first where a role did not require a second factor before: its users may open no other page until they have one. */
const save = async (view: View): Promise<Answer> => {
  const { ports, actor, form, texts } = view;
  const t = texts.factor;
  const given = form.getAll('role');
  const before = await ports.staff.factorPolicy.read();
  const check = (stored: readonly Role[]) => assertAsShown(view, 'factor', stored, factorPath);
  check(before);
  const added = allRoles.filter((role) => given.includes(role) && !before.includes(role));
  if (added.length > 0 && !isConfirmed(view))
    return confirmChange(view, {
      title: t.askTitle,
      body: html`<p>${t.askText}</p><ul>${added.map((role) => html`<li>${texts.frame.roles[role]}</li>`)}</ul>`,
      action: factorPath,
      submit: texts.users.save,
      back: factorPath,
    });
  await ports.staff.factorPolicy.set(actor, given, check);
  return redirect(usersPath, { tone: 'good', text: t.saved });
};

const showForm = async (view: View): Promise<Answer> => {
  const { ports, texts, csrfField } = view;
  const t = texts.factor;
  const required = await ports.staff.factorPolicy.read();
  return page({
    title: t.title,
    body: html`<p>${t.about}</p>
<form method="post" action="${factorPath}" class="card narrow" autocomplete="off">${csrfField}${basisField(view, 'factor', required)}
<fieldset><legend>${t.rolesTitle}</legend>
${allRoles.map(
  (role) =>
    html`<label class="check"><input type="checkbox" name="role" value="${role}"${required.includes(role) && html` checked`}>${texts.frame.roles[role]}</label>`,
)}
</fieldset>
<div class="row"><button class="primary">${texts.users.save}</button><a class="button" href="${usersPath}">${texts.frame.cancel}</a></div>
</form>`,
  });
};

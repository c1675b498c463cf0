/** The roles whose users need a second factor. */
import { type Answer, page, redirect } from '../../page/answer.ts';
import { html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { roles as allRoles } from '../../ports/role.ts';
import { usersPath } from './paths.ts';

const roles = ['admin'] as const;
const factorPath = `${usersPath}/second-factor`;

export const factorPages: readonly Page[] = [
  { method: 'GET', path: '/users/second-factor', roles, handle: (view) => showForm(view) },
  {
    method: 'POST',
    path: '/users/second-factor',
    roles,
    handle: async ({ ports, actor, form, texts }) => {
      await ports.staff.factorPolicy.set(actor, form.getAll('role'));
      return redirect(usersPath, { tone: 'good', text: texts.factor.saved });
    },
  },
];

const showForm = async ({ ports, texts, csrfField }: View): Promise<Answer> => {
  const t = texts.factor;
  const required = await ports.staff.factorPolicy.read();
  return page({
    title: t.title,
    body: html`<p>${t.about}</p>
<form method="post" action="${factorPath}" class="card narrow">${csrfField}
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

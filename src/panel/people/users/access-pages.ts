/** Role and restaurants of an account. A change holds from the next request of that user. */
import { type Answer, notFound, page, redirect } from '../../page/answer.ts';
import { assertAsShown, basisField } from '../../page/form-basis.ts';
import { html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { Refusal } from '../../page/refusal.ts';
import type { Role } from '../../ports/role.ts';
import type { ListedUser } from '../../ports/staff.ts';
import { findField } from '../../support/restaurant-choice.ts';
import { confirmChange, isConfirmed } from '../../view/confirm-page.ts';
import { message } from '../../view/layout.ts';
import {
  type Access,
  type AccessProblems,
  accessFields,
  accessProblems,
  readAccess,
  savedRestaurants,
} from './access-form.ts';
import { userPath } from './paths.ts';

const roles = ['admin'] as const;

export const accessPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/users/:user/access',
    roles,
    handle: async (view) => {
      const user = await otherUser(view);
      return user === undefined ? notFound() : showForm(view, user, user);
    },
  },
  { method: 'POST', path: '/users/:user/access', roles, handle: (view) => save(view) },
];

/** Refuses the own account: an administrator who did this by mistake could not undo it. */
const otherUser = async ({ ports, params, user, texts }: View): Promise<ListedUser | undefined> => {
  const found = await ports.staff.users.find(params.user ?? '');
  if (found?.userId === user.id) throw new Refusal('CONFLICT', texts.users.notYourself);
  return found;
};

const basisOf = ({ role, restaurants }: ListedUser): string[] => [role, ...restaurants];

const save = async (view: View): Promise<Answer> => {
  const { ports, actor, form, texts } = view;
  const user = await otherUser(view);
  if (user === undefined) return notFound();
  const given = readAccess(view, user);
  if (form.has(findField)) return showForm(view, user, given);
  const problems = accessProblems(given, texts);
  if (given.role === undefined || Object.keys(problems).length > 0) return showForm(view, user, given, problems);
  const check = (stored: ListedUser) =>
    assertAsShown(view, 'access', basisOf(stored), `${userPath(user.userId)}/access`);
  check(user);
  const asked = await askToTake(view, user, given.role, savedRestaurants(given));
  if (asked !== undefined) return asked;
  const access = { role: given.role, restaurants: savedRestaurants(given) };
  await ports.staff.users.set(actor, user.email, access, check);
  return redirect(userPath(user.userId), { tone: 'good', text: texts.users.accessSaved(user.email) });
};

/**
 * The page that asks where the role changes or restaurants are taken away; undefined where the change only gives, or where
 * the form confirms all that it takes.
 */
const askToTake = async (
  view: View,
  user: ListedUser,
  role: Role,
  restaurants: readonly string[],
): Promise<Answer | undefined> => {
  const t = view.texts.users;
  const { roles: names } = view.texts.frame;
  const lost =
    user.role === 'owner' && role === 'owner' ? user.restaurants.filter((uid) => !restaurants.includes(uid)) : [];
  const ends = [...lost, ...(role === user.role ? [] : [`${user.role} ${role}`])];
  if (isConfirmed(view, ends)) return undefined;
  const found = await view.ports.support.namesOf(lost);
  const nameOf = (uid: string): string => found.find(({ restuid }) => restuid === uid)?.name ?? uid;
  const path = userPath(user.userId);
  return confirmChange(view, {
    title: t.accessAsk(user.email),
    ends,
    body: html`<p>${t.accessIntro}</p>${
      role !== user.role && html`<p>${t.accessRole(names[user.role], names[role])}</p>`
    }${lost.length > 0 && html`<p>${t.accessLost}</p><ul>${lost.map((uid) => html`<li>${nameOf(uid)}</li>`)}</ul>`}`,
    action: `${path}/access`,
    submit: t.save,
    back: `${path}/access`,
  });
};

const showForm = async (view: View, user: ListedUser, given: Access, problems?: AccessProblems): Promise<Answer> => {
  const { texts, csrfField } = view;
  const t = texts.users;
  const path = userPath(user.userId);
  return page({
    title: t.accessTitle(user.email),
    status: problems === undefined ? 200 : 422,
    body: html`${problems !== undefined && message({ tone: 'bad', text: texts.support.correct })}
<p>${t.accessIntro}</p>
<form method="post" action="${path}/access" autocomplete="off">${csrfField}${basisField(view, 'access', basisOf(user))}
${await accessFields(view, given, problems ?? {}, user)}
<div class="row"><button class="primary">${t.save}</button><a class="button" href="${path}">${texts.frame.cancel}</a></div>
</form>`,
  });
};

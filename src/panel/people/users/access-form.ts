/** The form part for role and restaurants of an account. */
import { type Html, html } from '../../page/html.ts';
import type { View } from '../../page/page.ts';
import { type Role, roles } from '../../ports/role.ts';
import type { ListedUser } from '../../ports/staff.ts';
import { readChosen, restaurantChoice } from '../../support/restaurant-choice.ts';
import { fieldNote } from '../../view/field.ts';

export type Access = { role: Role | undefined; restaurants: readonly string[] };

export type AccessProblems = { role?: string; restaurants?: string };

/**
 * A contact is invited on the page of the client that it is for, so only an account that is one already may stay one. Undefined:
 * a new account.
 */
const offeredTo = (user: ListedUser | undefined): readonly Role[] =>
  roles.filter((role) => role !== 'contact' || (user?.role === role && user.clients.length > 0));

/** Restaurants of a role that sees every one are left out, because the form may still show those of the role before. */
export const readAccess = (view: View, user?: ListedUser): Access => {
  const role = offeredTo(user).find((one) => one === view.form.get('role'));
  return { role, restaurants: readChosen(view, user?.restaurants) };
};

export const accessProblems = ({ role, restaurants }: Access, { users: t }: View['texts']): AccessProblems => ({
  ...(role === undefined ? { role: t.roleProblem } : undefined),
  ...(role === 'owner' && restaurants.length === 0 ? { restaurants: t.restaurantsProblem } : undefined),
});

/** What is saved: only an owner is bound to restaurants. */
export const savedRestaurants = ({ role, restaurants }: Access): readonly string[] =>
  role === 'owner' ? restaurants : [];

export const accessFields = async (
  view: View,
  given: Access,
  problems: AccessProblems,
  user?: ListedUser,
): Promise<Html> => {
  const { texts } = view;
  const offered = offeredTo(user);
  const t = texts.users;
  const note = fieldNote('role', problems.role, t.roleHint);
  const title = t.restaurantsOfOwner;
  return html`<label>${texts.account.role}<select name="role" required${note.attributes}>
${(given.role === undefined || !offered.includes(given.role)) && html`<option value="">${t.chooseRole}</option>`}
${offered.map((role) => html`<option value="${role}"${role === given.role && html` selected`}>${texts.frame.roles[role]}</option>`)}
</select></label>
${note.line}
${await restaurantChoice(view, { title, chosen: given.restaurants, problem: problems.restaurants })}`;
};

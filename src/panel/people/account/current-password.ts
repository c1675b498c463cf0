/**
 * Asks for the password again before a way to sign in is added or removed: an unattended browser must not be enough to lock
 * its user out. Accounts without a password skip this.
 */
import { type Html, html } from '../../page/html.ts';
import type { View } from '../../page/page.ts';

export const currentPasswordField = ({ texts, user }: View): Html | false =>
  user.hasPassword &&
  html`<input type="hidden" name="email" autocomplete="username" value="${user.email}">
<label>${texts.account.currentPassword}<input type="password" name="current" autocomplete="current-password" required maxlength="512"></label>`;

/** Undefined: the password is right. */
export const problemOfPassword = async (view: View): Promise<string | undefined> => {
  const { ports, user, form, texts } = view;
  if (!user.hasPassword) return undefined;
  const checked = await ports.staff.own.checkPassword(user.id, form.get('current') ?? '', view.visitor);
  if (checked.kind === 'right') return undefined;
  return checked.kind === 'wait' ? texts.signIn.wait(Math.ceil(checked.seconds / 60)) : texts.account.currentRefused;
};

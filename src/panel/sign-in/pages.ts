/** Signing in with a password, setting it with a one-time link, signing out. */

import { passwordLengthMax, problemOfPassword } from '../accounts/password-rule.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import { linkPath } from '../accounts/users.ts';
import { type Answer, page, redirect } from '../frame/answer.ts';
import { html } from '../frame/html.ts';
import { message } from '../frame/layout.ts';
import { panelPath } from '../frame/match-page.ts';
import type { PublicPage, Visit } from '../frame/public-page.ts';

export const signInPath = '/panel/sign-in';

export const createSignInPages = (signIn: SignIn): readonly PublicPage[] => [
  {
    method: 'GET',
    path: '/sign-in',
    handle: (visit) => (visit.live === undefined ? signInPage(visit) : redirect(nextOf(visit.query))),
  },
  {
    method: 'POST',
    path: '/sign-in',
    handle: async (visit) => {
      const { form } = visit;
      const given = { email: form.get('email') ?? '', password: form.get('password') ?? '' };
      const result = await signIn.withPassword(given, visit);
      if (result.kind === 'signedIn') return redirect(nextOf(form), undefined, result.cookies);
      return signInPage(visit, { email: given.email, problem: visit.texts.signIn.refused });
    },
  },
  {
    method: 'GET',
    path: '/link',
    handle: async (visit) =>
      linkPage(visit, await signIn.userOfLink(visit.query.get('token') ?? ''), visit.query.get('token') ?? ''),
  },
  {
    method: 'POST',
    path: '/link',
    handle: async (visit) => {
      const token = visit.form.get('token') ?? '';
      const user = await signIn.userOfLink(token);
      const password = visit.form.get('password') ?? '';
      const problem =
        user === undefined
          ? undefined
          : password === visit.form.get('again')
            ? problemOfPassword(password, user.email)
            : 'passwordsDiffer';
      if (user === undefined || problem !== undefined)
        return linkPage(visit, user, token, problem && visit.texts.signIn[problem]);
      const result = await signIn.withLink(token, password, visit);
      if (result.kind === 'refused') return linkPage(visit, undefined, token);
      return redirect(panelPath, undefined, result.cookies);
    },
  },
];

const signInPage = ({ texts, query, form }: Visit, failed?: { email: string; problem: string }): Answer => {
  const t = texts.signIn;
  const next = form.get('next') ?? query.get('next') ?? '';
  return page({
    title: t.title,
    status: failed === undefined ? 200 : 422,
    body: html`${failed && message({ tone: 'bad', text: failed.problem })}
<form method="post" action="${signInPath}" class="card narrow">
<input type="hidden" name="next" value="${next}">
<label>${t.email}<input type="email" name="email" autocomplete="username" required maxlength="254" value="${failed?.email}"></label>
<label>${t.password}<input type="password" name="password" autocomplete="current-password" required maxlength="${passwordLengthMax * 2}"></label>
<button class="primary">${t.submit}</button>
</form>`,
  });
};

const linkPage = ({ texts }: Visit, user: { email: string } | undefined, token: string, problem?: string): Answer => {
  const t = texts.signIn;
  if (user === undefined) return page({ title: t.linkGone.title, status: 410, body: html`<p>${t.linkGone.text}</p>` });
  return page({
    title: t.linkTitle,
    status: problem === undefined ? 200 : 422,
    body: html`${problem && message({ tone: 'bad', text: problem })}
<form method="post" action="${linkPath}" class="card narrow">
<p>${t.linkFor(user.email)}</p>
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="email" autocomplete="username" value="${user.email}">
<label>${t.newPassword}<input type="password" name="password" autocomplete="new-password" required aria-describedby="rule" minlength="12" maxlength="${passwordLengthMax}"></label>
<p id="rule" class="hint">${t.passwordRule}</p>
<label>${t.newPasswordAgain}<input type="password" name="again" autocomplete="new-password" required maxlength="${passwordLengthMax}"></label>
<button class="primary">${t.setPassword}</button>
</form>`,
  });
};

/** Only a path of the panel: whatever else stands there was put there by somebody else. */
export const nextOf = (fields: URLSearchParams): string => {
  const next = fields.get('next') ?? '';
  return /^\/panel(\/[\w/.~%:-]*)?(\?[\w=&.~%:+-]*)?$/.test(next) &&
    !next.includes('//') &&
    !next.startsWith('/panel/sign-')
    ? next
    : panelPath;
};

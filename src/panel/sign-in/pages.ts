/** Sign-in with a password and a code, and setting the password by a one-time link. */
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import { panelPath, withQuery } from '../page/page-path.ts';
import type { PublicPage, Visit } from '../page/public-page.ts';
import type { SignInResult, StaffPorts } from '../ports/staff.ts';
import { browserCookie, cookie, endCookie, keptCookie, pendingCookie, sessionCookie } from '../server/cookies.ts';
import { message } from '../view/layout.ts';
import { nextOf, nextPath, withNext } from './next-path.ts';
import { codePath, forgotPath, linkPath, passkeyPath, providerPath, signInPath } from './paths.ts';

export const signInPages: readonly PublicPage[] = [
  {
    method: 'GET',
    path: '/sign-in',
    handle: (visit) => (visit.live === undefined ? signInPage(visit) : redirect(nextOf(visit.query))),
  },
  {
    method: 'POST',
    path: '/sign-in',
    handle: async (visit) => {
      const { form, staff } = visit;
      const given = { email: form.get('email') ?? '', password: form.get('password') ?? '' };
      const result = await staff.signIn.withPassword(given, visit.visitor);
      return (
        afterSignIn(result, nextOf(form)) ??
        signInPage(visit, { email: given.email, problem: problemOf(visit, result) })
      );
    },
  },
  { method: 'GET', path: '/sign-in/code', handle: (visit) => codePage(visit) },
  {
    method: 'POST',
    path: '/sign-in/code',
    handle: async (visit) => {
      const { form, staff, pending, visitor, texts } = visit;
      const result = await staff.signIn.withCode(pending, form.get('code') ?? '', visitor);
      if (result.kind === 'gone') return signInPage(visit, { email: '', problem: texts.signIn.tooLate });
      return (
        afterSignIn(result, nextOf(form)) ??
        codePage(
          visit,
          result.kind === 'wait' ? texts.signIn.waitForCode(Math.ceil(result.seconds / 60)) : texts.signIn.codeRefused,
        )
      );
    },
  },
  {
    method: 'GET',
    path: '/link',
    handle: async (visit) => {
      const token = visit.query.get('token') ?? '';
      return linkPage(visit, await visit.staff.signIn.userOfLink(token), token);
    },
  },
  { method: 'POST', path: '/link', handle: (visit) => setPassword(visit) },
];

const setPassword = async (visit: Visit): Promise<Answer> => {
  const { form, staff, texts } = visit;
  const token = form.get('token') ?? '';
  const password = form.get('password') ?? '';
  const user = await staff.signIn.userOfLink(token);
  if (user === undefined) return linkPage(visit, undefined, token);
  const problem =
    password === form.get('again') ? staff.passwordRule.problemOf(password, user.email) : 'passwordsDiffer';
  if (problem !== undefined) return linkPage(visit, user, token, texts.signIn[problem]);
  const result = await staff.signIn.withLink(token, password, visit.visitor);
  return afterSignIn(result, panelPath) ?? linkPage(visit, undefined, token);
};

/** The redirect after a result; undefined when the sign-in did not succeed. */
export const afterSignIn = (result: SignInResult, next: string): Answer | undefined => {
  if (result.kind === 'signedIn')
    return redirect(next, undefined, [
      cookie(sessionCookie, result.session),
      keptCookie(browserCookie, result.browser),
      endCookie(pendingCookie),
    ]);
  if (result.kind === 'code')
    return redirect(withNext(codePath, next), undefined, [keptCookie(pendingCookie, result.pending)]);
  return undefined;
};

const problemOf = ({ texts }: Visit, result: SignInResult): string =>
  result.kind === 'wait' ? texts.signIn.wait(Math.ceil(result.seconds / 60)) : texts.signIn.refused;

/** `next`: the page to show after the sign-in; default: that of the form or of the query. */
export const signInPage = (visit: Visit, failed?: { email: string; problem: string; next?: string }): Answer => {
  const { texts, query, form, staff } = visit;
  const t = texts.signIn;
  const next = nextPath(failed?.next ?? form.get('next') ?? query.get('next'));
  const { label } = staff.provider;
  return page({
    title: t.title,
    address: withNext(signInPath, next),
    status: failed === undefined ? 200 : 422,
    body: html`${failed && message({ tone: 'bad', text: failed.problem })}
<form method="post" action="${signInPath}" class="card narrow">
${nextField(next)}
<label>${t.email}<input type="email" name="email" autocomplete="username" required maxlength="254" value="${failed?.email}"></label>
<label>${t.password}<input type="password" name="password" autocomplete="current-password" required maxlength="${staff.passwordRule.lengthMax * 2}"></label>
<button class="primary">${t.submit}</button>
<p><a href="${forgotPath}">${t.forgot.title}</a></p>
</form>
${
  staff.passkeys.isOn &&
  html`<p class="narrow"><a class="button" href="${withNext(passkeyPath, next)}">${texts.passkeys.signIn}</a></p>`
}
${
  label !== undefined &&
  html`<p class="narrow"><a class="button" href="${withNext(providerPath, next)}">${t.withProvider(label)}</a></p>`
}`,
  });
};

const nextField = (next: string): Html => html`<input type="hidden" name="next" value="${next}">`;

const codePage = ({ texts, query, form }: Visit, problem?: string): Answer => {
  const t = texts.signIn;
  const next = nextPath(form.get('next') ?? query.get('next'));
  return page({
    title: t.codeTitle,
    address: withNext(codePath, next),
    status: problem === undefined ? 200 : 422,
    body: html`${problem && message({ tone: 'bad', text: problem })}
<form method="post" action="${codePath}" class="card narrow">
${nextField(next)}
<label>${t.code}<input name="code" autocomplete="one-time-code" inputmode="text" required maxlength="40" spellcheck="false" autocapitalize="off" aria-describedby="code-hint"></label>
<p id="code-hint" class="hint">${t.codeHint}</p>
<button class="primary">${t.submit}</button>
</form>`,
  });
};

const linkPage = (
  { texts, staff }: Visit,
  user: { email: string } | undefined,
  token: string,
  problem?: string,
): Answer => {
  const t = texts.signIn;
  if (user === undefined) return page({ title: t.linkGone.title, status: 410, body: html`<p>${t.linkGone.text}</p>` });
  return page({
    title: t.linkTitle,
    address: withQuery(linkPath, { token }),
    status: problem === undefined ? 200 : 422,
    body: html`${problem && message({ tone: 'bad', text: problem })}
<form method="post" action="${linkPath}" class="card narrow">
<p>${t.linkFor(user.email)}</p>
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="email" autocomplete="username" value="${user.email}">
${newPasswordFields(texts, staff.passwordRule)}
<button class="primary">${t.setPassword}</button>
</form>`,
  });
};

export const newPasswordFields = ({ signIn: t }: Visit['texts'], rule: StaffPorts['passwordRule']): Html =>
  html`<label>${t.newPassword}<input type="password" name="password" autocomplete="new-password" required aria-describedby="rule" minlength="${rule.lengthMin}" maxlength="${rule.lengthMax}"></label>
<p id="rule" class="hint">${t.passwordRule}</p>
<label>${t.newPasswordAgain}<input type="password" name="again" autocomplete="new-password" required maxlength="${rule.lengthMax}"></label>`;

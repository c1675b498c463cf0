/** The user's own account: sessions, password, second factor. */

import { refreshOn } from '../../live/refresh-on.ts';
import { type Answer, page, redirect } from '../../page/answer.ts';
import { type Html, html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { roles } from '../../ports/role.ts';
import { newPasswordFields } from '../../sign-in/pages.ts';
import { badge } from '../../view/badge.ts';
import { breakable } from '../../view/breakable.ts';
import { confirmPage } from '../../view/confirm-page.ts';
import { message } from '../../view/layout.ts';
import { factorPages } from './factor-pages.ts';
import { noticePages, noticesPart } from './notice-pages.ts';
import { passkeyPages, passkeysPart } from './passkey-pages.ts';
import { sessionFacts, sessionTable } from './session-table.ts';
import { ownTopic } from './topics.ts';
import { totpPages } from './totp-pages.ts';

const accountPath = '/panel/account';

const ownPages: readonly Page[] = [
  { method: 'GET', path: '/account', roles, topics: [ownTopic], handle: (view) => accountPage(view) },
  { method: 'POST', path: '/account/password', roles, handle: (view) => changePassword(view) },
  { method: 'GET', path: '/account/sessions/end', roles, handle: (view) => askToEnd(view) },
  { method: 'GET', path: '/account/sessions/end-others', roles, handle: (view) => askToEndOthers(view) },
  {
    method: 'POST',
    path: '/account/sessions/end',
    roles,
    handle: async ({ ports, user, form, actor, address, texts }) => {
      const ended = await ports.staff.own.endSession(user.id, form.get('session') ?? '', { actor, address });
      return redirect(accountPath, ended ? { tone: 'good', text: texts.account.sessionEnded } : undefined);
    },
  },
  {
    method: 'POST',
    path: '/account/sessions/end-others',
    roles,
    handle: async ({ ports, user, session, actor, address, texts }) => {
      const ended = await ports.staff.own.endSessions(user.id, { actor, address }, session.id);
      return redirect(accountPath, { tone: 'good', text: texts.account.sessionsEnded(ended) });
    },
  },
];

export const accountPages: readonly Page[] = [
  ...ownPages,
  ...totpPages,
  ...passkeyPages,
  ...factorPages,
  ...noticePages,
];

const askToEnd = async (view: View): Promise<Answer> => {
  const { ports, user, query, texts } = view;
  const t = texts.account;
  const session = (await ports.staff.own.sessions(user.id)).find(({ id }) => id === query.get('session'));
  if (session === undefined) return redirect(accountPath);
  return confirmPage(view, {
    title: t.endTitle,
    body: html`${sessionFacts(texts, session)}<p>${t.endText}</p>`,
    action: `${accountPath}/sessions/end`,
    fields: [['session', session.id]],
    submit: t.endSessionNow,
    back: accountPath,
  });
};

const askToEndOthers = async (view: View): Promise<Answer> => {
  const { ports, user, session, texts } = view;
  const t = texts.account;
  const others = (await ports.staff.own.sessions(user.id)).filter(({ id }) => id !== session.id);
  if (others.length === 0) return redirect(accountPath);
  return confirmPage(view, {
    title: t.endOthersTitle(user.email),
    body: html`${others.map((other) => sessionFacts(texts, other))}<p>${t.endOthersText}</p>`,
    action: `${accountPath}/sessions/end-others`,
    submit: t.endOthers,
    back: accountPath,
  });
};

const changePassword = async (view: View): Promise<Answer> => {
  const { ports, user, session, form, texts } = view;
  const next = form.get('password') ?? '';
  const problem = next === form.get('again') ? ports.staff.passwordRule.problemOf(next, user.email) : 'passwordsDiffer';
  if (problem !== undefined) return accountPage(view, texts.signIn[problem]);
  const change = { userId: user.id, sessionId: session.id, current: form.get('current') ?? '', next };
  const result = await ports.staff.own.changePassword(change, view.visitor);
  if (result.kind === 'wait') return accountPage(view, texts.signIn.wait(Math.ceil(result.seconds / 60)));
  if (result.kind === 'refused') return accountPage(view, texts.account.currentRefused);
  return redirect(accountPath, { tone: 'good', text: texts.account.passwordChanged });
};

/** `problem`: error message of the password form. */
const accountPage = async (view: View, problem?: string): Promise<Answer> => {
  const { ports, user, texts } = view;
  const t = texts.account;
  const sessions = await ports.staff.own.sessions(user.id);
  const codesLeft = !user.hasTotp ? 0 : await ports.staff.secondFactor.codesLeft(user.id);
  return page({
    title: t.title,
    status: problem === undefined ? 200 : 422,
    body: html`<dl class="facts"><dt>${texts.signIn.email}</dt><dd>${breakable(user.email)}</dd><dt>${t.role}</dt><dd>${texts.frame.roles[user.role]}</dd></dl>
<div id="own" ${refreshOn('own', accountPath, ownTopic)}><h2>${t.secondFactor}</h2>
${secondFactorPart(view, codesLeft)}
<h2>${texts.passkeys.title}</h2>
${await passkeysPart(view)}
<h2>${t.sessions}</h2>
${sessionTable(view, sessions, `${accountPath}/sessions/end`)}
${
  sessions.length > 1 &&
  html`<p><a class="button" id="end-others" href="${accountPath}/sessions/end-others">${t.endOthers}</a></p>`
}</div>
${await noticesPart(view)}
${user.hasPassword && passwordPart(view, problem)}`,
  });
};

const secondFactorPart = ({ user, texts }: View, codesLeft: number): Html => {
  const t = texts.account;
  if (!user.hasTotp)
    return html`<p>${t.totpOff}</p><p><a class="button" href="${accountPath}/totp">${t.totpAdd}</a></p>`;
  return html`<p>${badge('good', t.totpOn)} ${t.codesLeft(codesLeft)}</p>
<p><a class="button" href="${accountPath}/totp/remove">${t.totpRemove}</a></p>`;
};

const passwordPart = ({ ports, texts, csrfField, user }: View, problem: string | undefined): Html => {
  const t = texts.account;
  return html`<h2 id="password">${t.changePassword}</h2>
${problem !== undefined && message({ tone: 'bad', text: problem })}
<form method="post" action="${accountPath}/password" class="card narrow">${csrfField}
<input type="hidden" name="email" autocomplete="username" value="${user.email}">
<label>${t.currentPassword}<input type="password" name="current" autocomplete="current-password" required maxlength="512"></label>
${newPasswordFields(texts, ports.staff.passwordRule)}
<p class="hint">${t.passwordEndsOthers}</p>
<button class="primary">${t.changePassword}</button>
</form>`;
};

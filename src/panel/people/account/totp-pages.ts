/** Adding and removing one-time codes. */
import { type Answer, page, redirect } from '../../page/answer.ts';
import { html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { roles } from '../../ports/role.ts';
import type { ProposedTotp } from '../../ports/staff.ts';
import { copyButton } from '../../view/copy-button.ts';
import { message } from '../../view/layout.ts';
import { currentPasswordField, problemOfPassword } from './current-password.ts';
import { qrCode } from './qr-code.ts';

const accountPath = '/panel/account';
const totpPath = `${accountPath}/totp`;
const removePath = `${totpPath}/remove`;

export const totpPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/account/totp',
    roles,
    secondFactor: 'adds',
    handle: (view) => (!view.user.hasTotp ? introPage(view) : redirect(accountPath)),
  },
  {
    method: 'POST',
    path: '/account/totp/begin',
    roles,
    secondFactor: 'adds',
    handle: async (view) => {
      const problem = await problemOfPassword(view);
      if (problem !== undefined) return introPage(view, problem);
      // A new secret each time, whose form carries a proof for this session and some minutes.
      const proposed = await view.ports.staff.secondFactor.propose(view.user.id, view.session.id);
      return proposed === undefined ? redirect(accountPath) : addPage(view, proposed);
    },
  },
  { method: 'POST', path: '/account/totp', roles, secondFactor: 'adds', handle: (view) => confirm(view) },
  {
    method: 'GET',
    path: '/account/totp/remove',
    roles,
    handle: (view) => (!view.user.hasTotp ? redirect(accountPath) : removePage(view)),
  },
  {
    method: 'POST',
    path: '/account/totp/remove',
    roles,
    handle: async (view) => {
      const { ports, user, form, texts } = view;
      const result = await ports.staff.own.removeSecondFactor(user, form.get('code') ?? '', view.visitor);
      if (result.kind === 'removed') return redirect(accountPath, { tone: 'good', text: texts.account.totpRemoved });
      const wait = result.kind === 'wait' && texts.signIn.waitForCode(Math.ceil(result.seconds / 60));
      return removePage(view, wait || texts.signIn.codeRefused);
    },
  },
];

const confirm = async (view: View): Promise<Answer> => {
  const { ports, user, session, form, address, texts } = view;
  const given = { code: form.get('code') ?? '', proof: form.get('proof') ?? '' };
  const codes = await ports.staff.secondFactor.confirm(user.id, given, { id: session.id, address });
  if (codes !== undefined) return codesPage(view, codes);
  const proposed = await ports.staff.secondFactor.proposed(user.id, session.id, given.proof);
  return proposed === undefined ? redirect(accountPath) : addPage(view, proposed, texts.signIn.codeRefused);
};

const introPage = (view: View, problem?: string): Answer => {
  const { texts, csrfField } = view;
  const t = texts.account;
  return page({
    title: t.totpAdd,
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<p>${t.totpIntro}</p>
<form method="post" action="${totpPath}/begin" class="card narrow">${csrfField}
${currentPasswordField(view)}
<button class="primary">${t.totpBegin}</button></form>`,
  });
};

const addPage = ({ texts, csrfField }: View, proposed: ProposedTotp, problem?: string): Answer => {
  const t = texts.account;
  return page({
    title: t.totpAdd,
    status: problem === undefined ? 200 : 422,
    body: html`<ol><li>${t.totpScan}<br>${qrCode(proposed.address, t.totpPicture)}
<p>${t.totpKey} <code id="totp-key">${proposed.key.match(/.{1,4}/g)?.join(' ')}</code> ${copyButton({ texts }, 'totp-key')}</p></li>
<li>${t.totpEnter}
${problem !== undefined && message({ tone: 'bad', text: problem })}
<form method="post" action="${totpPath}" class="card narrow">${csrfField}<input type="hidden" name="proof" value="${proposed.proof}">
<label>${texts.signIn.code}<input name="code" autocomplete="one-time-code" inputmode="numeric" required maxlength="12"></label>
<button class="primary">${t.totpConfirm}</button></form></li></ol>`,
  });
};

const codesPage = ({ texts }: View, codes: readonly string[]): Answer => {
  const t = texts.account;
  return page({
    title: t.recoveryTitle,
    body: html`${message({ tone: 'good', text: t.totpAdded })}
<p>${t.recoveryText}</p>
<div class="secret"><pre id="recovery">${codes.join('\n')}</pre>${copyButton({ texts }, 'recovery')}</div>
<p><a class="button primary" href="${accountPath}">${t.recoveryKept}</a></p>`,
  });
};

const removePage = ({ texts, csrfField }: View, problem?: string): Answer => {
  const t = texts.account;
  return page({
    title: t.totpRemove,
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<p>${t.totpRemoveText}</p>
<form method="post" action="${removePath}" class="card narrow">${csrfField}
<label>${texts.signIn.code}<input name="code" autocomplete="one-time-code" required maxlength="40" spellcheck="false"></label>
<button class="danger">${t.totpRemove}</button></form>`,
  });
};
